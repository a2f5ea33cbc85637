"""Events, sweeps, snapshots, writers, and a workspace that goes away."""

import os
import pickle
import shutil
from pathlib import Path

import pytest
from sidecar.truth.support import Clock, Git, xxh

from rulecore_sidecar.truth import FileTruth, Kind, filetruth, list_files


def test_a_key_and_every_path_give_the_same_view(root: Path, truth: FileTruth) -> None:
    (root / "src").mkdir()
    (root / "src" / "file").write_text("text")
    (root / "lib").symlink_to("src")
    view = truth.view("src/file")
    assert (view.key, view.hash) == ("src/file", xxh(b"text"))
    assert truth.view(f"{root}/lib/../src/./file") == truth.view("lib/file") == view


@pytest.mark.parametrize(
    ("target", "key", "kind"),
    [
        ("file", "file", Kind.FILE),
        ("second", "file", Kind.FILE),
        ("nowhere", "nowhere", Kind.ABSENT),
        (".", ".", Kind.DIR),
        ("link", None, Kind.UNREADABLE),
        ("..", None, Kind.OUTSIDE),
        ("/etc/passwd", None, Kind.OUTSIDE),
    ],
)
def test_links_are_followed_unless_asked(
    root: Path, truth: FileTruth, target: str, key: str | None, kind: Kind
) -> None:
    (root / "file").write_text("text")
    (root / "second").symlink_to("file")
    (root / "link").symlink_to(target)
    view = truth.view("link")
    assert view.kind is kind
    assert key is None or view.key == key
    assert (view.hash is not None) == (kind is Kind.FILE)
    itself = truth.view("link", follow=False)
    assert (itself.key, itself.kind, itself.hash) == ("link", Kind.SYMLINK, xxh(target.encode()))


def test_what_a_link_leads_to_changes_with_the_target(root: Path, truth: FileTruth, clock: Clock) -> None:
    (root / "file").write_text("one")
    (root / "link").symlink_to("file")
    clock.settle()
    before = truth.view("link")
    (root / "file").write_text("two")
    assert truth.view("link").hash != before.hash


def test_events_read_nothing_and_a_refresh_takes_them_in(
    root: Path, truth: FileTruth, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("kept", "changed", "gone", "folder/inside"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(name)
    assert sorted(truth.refresh().changed) == ["changed", "folder/inside", "gone", "kept"]
    clock.settle()
    truth.refresh()
    (root / "changed").write_text("new")
    (root / "gone").unlink()
    (root / "folder" / "inside").write_text("new")
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "new").write_text("new")
    before, entries = truth.generation, dict(truth.snapshot())
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda *_: pytest.fail("an event opened a file"))
        for path in ("kept", "changed", "gone", "folder", "deep", "never/there", "/etc/passwd"):
            truth.touched(path)
    assert (truth.generation, dict(truth.snapshot())) == (before, entries)
    refreshed = truth.refresh()
    assert sorted(refreshed.changed) == ["changed", "deep/er/new", "folder/inside", "gone"]
    assert refreshed.generation == truth.generation == before + 4
    assert refreshed.files == 4
    assert truth.refresh().changed == ()


def test_an_event_of_an_ignored_file_caches_nothing(root: Path, git: Git, truth: FileTruth) -> None:
    (root / ".gitignore").write_text("*.log\n")
    truth.refresh()
    (root / "noise.log").write_text("text")
    truth.touched("noise.log")
    assert truth.refresh().changed == ()


def test_a_folder_that_was_removed(root: Path, truth: FileTruth) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("text")
    truth.refresh()
    shutil.rmtree(root / "a")
    truth.touched("a")
    assert truth.refresh().changed == ("a/b/file",)
    assert len(truth.snapshot()) == 0


def test_too_many_events_become_a_sweep(root: Path, truth: FileTruth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filetruth, "MAX_LISTED_UNDER", 3)
    monkeypatch.setattr(filetruth, "MAX_TOUCHED", 3)
    for number in range(5):
        (root / str(number)).write_text("text")
    truth.refresh()
    for names in ("01234", "abcde"):
        for name in names:
            assert not truth.needs_sweep or name in "4e"
            truth.touched(name)
        assert truth.needs_sweep
        assert truth.take_scope().full
        assert not truth.needs_sweep


@pytest.mark.parametrize("path", [".", "{root}"])
def test_an_event_of_the_root_is_a_sweep(root: Path, truth: FileTruth, path: str) -> None:
    truth.refresh()
    truth.touched(path.replace("{root}", str(root)))
    assert truth.needs_sweep


def test_an_event_of_head_is_a_sweep(root: Path, git: Git, truth: FileTruth) -> None:
    truth.refresh()
    git("switch", "-qc", "other")
    truth.touched(".git/index")
    assert truth.needs_sweep


def test_a_look_that_is_not_finished_owes_a_sweep(
    root: Path, truth: FileTruth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filetruth, "BATCH_FILES", 2)
    for number in range(5):
        (root / str(number)).write_text("text")
    scope = truth.take_scope()
    batches = truth.look_again(truth.new_paths(list_files(truth.root, scope.under)))
    assert next(batches) == ("0", "1")
    batches.close()
    assert truth.needs_sweep
    assert truth.refresh().changed == ("2", "3", "4")
    assert not truth.needs_sweep


def test_snapshots_stand_still_and_travel(root: Path, truth: FileTruth) -> None:
    (root / "file").write_text("one")
    (root / "other").write_text("one")
    truth.refresh()
    truth.did_open("file", "buffer", 1)
    truth.did_open("new", "text", 1)
    snapshot = truth.snapshot()
    seen = {key: truth.view(key) for key in ("file", "other", "new")}
    assert dict(snapshot) == seen
    assert (snapshot.generation, len(snapshot)) == (truth.generation, 3)
    (root / "other").write_text("two")
    truth.did_close("file")
    truth.sweep()
    assert dict(snapshot) == seen
    copy = pickle.loads(pickle.dumps(snapshot))
    assert (dict(copy), copy.generation) == (seen, snapshot.generation)


def test_a_workspace_that_is_gone(root: Path, truth: FileTruth) -> None:
    (root / "file").write_text("text")
    truth.refresh()
    before = truth.generation
    shutil.rmtree(root)
    assert truth.view("file").kind is truth.view(".").kind is Kind.ABSENT
    truth.touched("file")
    swept = truth.sweep()
    assert (swept.root_missing, swept.files) == (True, 0)
    assert truth.generation == before + 1
    assert not truth.poll_head()
    assert not truth.did_save("file")
    root.mkdir()
    (root / "file").write_text("back")
    assert truth.sweep().changed == ("file",)


def test_a_workspace_that_never_was(tmp_path: Path) -> None:
    truth = FileTruth(tmp_path / "nowhere")
    assert truth.sweep().root_missing
    assert truth.view("file").kind is Kind.ABSENT


def test_the_writer_is_known_while_the_content_is_his(root: Path, truth: FileTruth) -> None:
    (root / "file").write_text("one")
    (root / "link").symlink_to("file")
    assert truth.writer_of("file") is None
    truth.note_write("link", truth.view("file").hash, "agent")
    assert truth.writer_of("file") == truth.writer_of("link") == "agent"
    (root / "file").write_text("two")
    assert truth.writer_of("file") is None
    (root / "file").write_text("one")
    assert truth.writer_of("file") == "agent"
    (root / "file").unlink()
    assert truth.writer_of("file") is None
    truth.note_write("file", None, "another agent")
    assert truth.writer_of("file") == "another agent"
    truth.note_write("/etc/passwd", None, "nobody")
    assert truth.writer_of("/etc/passwd") is None


def test_a_save_is_the_editors_writing(root: Path, truth: FileTruth) -> None:
    (root / "file").write_text("one")
    truth.did_open("file", "one", 1, editor="window 1")
    truth.did_change("file", "two", 2, editor="window 1")
    (root / "file").write_text("two")
    truth.did_save("file", "two", editor="window 1")
    assert truth.writer_of("file") == "editor"
    truth.did_close("file", editor="window 1")
    assert truth.writer_of("file") == "editor"


def test_writers_are_bounded(truth: FileTruth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filetruth, "MAX_WRITERS", 2)
    for name in "aba":
        truth.note_write(name, None, name)
    truth.note_write("c", None, "c")
    assert [truth.writer_of(name) for name in "abc"] == ["a", None, "c"]


def test_large_files_are_hashed_when_needed(root: Path, truth: FileTruth) -> None:
    (root / "file").write_bytes(b"0" * 10_000_000)
    assert truth.view("file").hash is None
    view = truth.view("file", need_hash=True)
    assert view.hash == xxh(b"0" * 10_000_000)
    assert truth.read(view) is None
    assert truth.line_digests(view) is None
