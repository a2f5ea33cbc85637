"""ExternalConsistency: records against files, by content and never by clock."""

from pathlib import Path

import pytest
from sidecar.truth.support import Clock

from rulecore_sidecar.truth import Drift, FileTruth, Kind, Newer, disk, external_consistency

Cache = dict[str, dict[str, object]]


@pytest.fixture
def cache(root: Path, truth: FileTruth) -> Cache:
    """``file`` with the content "base", as recorded in a distant future."""
    (root / "file").write_text("base")
    return {"file": {"timestamp": 9e12, "lastModifiedTime": 0, "hash": truth.view("file").hash}}


def newer(truth: FileTruth, cache: Cache) -> Newer | None:
    answer = external_consistency(truth, cache)
    assert answer.consistent == (not answer.drifted)
    assert answer.unverified == ()
    return answer.drifted[0].newer if answer.drifted else None


def test_an_untouched_file(root: Path, truth: FileTruth, cache: Cache) -> None:
    (root / "file").touch()
    assert newer(truth, cache) is None


def test_the_disk_is_newer_whatever_the_clocks_say(root: Path, truth: FileTruth, cache: Cache) -> None:
    (root / "file").write_text("other")
    content = truth.view("file").hash
    truth.note_write("file", content, "cline session 1")
    answer = external_consistency(truth, cache)
    assert answer.drifted == (Drift("file", Kind.FILE, content, Newer.DISK, "cline session 1"),)
    assert answer.generation == truth.generation


@pytest.mark.parametrize("kind", [Kind.ABSENT, Kind.DIR])
def test_a_file_that_is_no_more(root: Path, truth: FileTruth, cache: Cache, kind: Kind) -> None:
    (root / "file").unlink()
    if kind is Kind.DIR:
        (root / "file").mkdir()
    assert external_consistency(truth, cache).drifted == (Drift("file", kind, None, Newer.DISK, None),)


def test_a_file_recorded_as_absent(root: Path, truth: FileTruth) -> None:
    assert newer(truth, {"new": {"hash": None}}) is None
    (root / "new").write_text("")
    assert newer(truth, {"new": {"hash": None}}) is Newer.DISK


def test_unsaved_text_is_newer(root: Path, truth: FileTruth, cache: Cache) -> None:
    truth.did_open("file", "base", 1)
    assert newer(truth, cache) is None
    truth.did_change("file", "typed", 2)
    assert newer(truth, cache) is Newer.EDITOR
    (root / "file").write_text("typed elsewhere")
    assert newer(truth, cache) is Newer.BOTH


def test_a_record_of_unsaved_text(root: Path, truth: FileTruth, cache: Cache) -> None:
    """What an agent in the editor has read is the buffer; then only a change under the buffer is news."""
    truth.did_open("file", "base", 1)
    truth.did_change("file", "typed", 2)
    seen: Cache = {"file": {"hash": truth.view("file").hash}}
    assert newer(truth, seen) is None
    (root / "file").write_text("other")
    assert newer(truth, seen) is Newer.DISK


def test_a_buffer_that_the_editor_will_load_again_is_no_drift(root: Path, truth: FileTruth, cache: Cache) -> None:
    truth.did_open("file", "base", 1)
    (root / "file").write_text("by the agent")
    assert newer(truth, cache) is Newer.DISK
    assert newer(truth, {"file": {"hash": truth.disk("file").hash}}) is None


def test_what_cannot_be_looked_at_is_said(root: Path, truth: FileTruth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "EAGER_BYTES", 1)
    monkeypatch.setattr(disk, "HASHED_BYTES", 1)
    (root / "large").write_text("large")
    answer = external_consistency(truth, {"/etc/passwd": {"hash": "0" * 32}, "large": {"hash": "0" * 32}})
    assert answer.consistent
    assert answer.unverified == ("/etc/passwd", "large")


def test_records_of_another_shape_are_drift(root: Path, truth: FileTruth, clock: Clock) -> None:
    (root / "file").write_text("text")
    assert newer(truth, {"file": {}}) is Newer.DISK
    assert newer(truth, {"file": {"hash": 7}}) is Newer.DISK
    assert newer(truth, {}) is None
