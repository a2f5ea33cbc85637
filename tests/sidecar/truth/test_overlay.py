"""I3, I4: an open document is the client's text, hashed as the bytes that it would be on the disk."""

from pathlib import Path

import pytest
from sidecar.truth.support import Clock, xxh

from rulecore_sidecar.truth import FileTruth, Kind, overlay


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("grün\n".encode(), "grün\n"),
        (b"\xef\xbb\xbfgr\xc3\xbcn\n", "grün\n"),
        (b"\xef\xbb\xbfgr\xc3\xbcn\n", "\ufeffgrün\n"),
        (b"a\r\nb\r\n", "a\r\nb\r\n"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"\xef\xbb\xbfa\r\nb\r\n", "a\nb\n"),
        ("grün\r\n".encode("latin-1"), "grün\r\n"),
        ("grün\r\n".encode("latin-1"), "grün\n"),
        ("5 €\n".encode("cp1252"), "5 €\n"),
        (b"\xff\xfe" + "grün\n".encode("utf-16-le"), "grün\n"),
        (b"\xfe\xff" + "grün\n".encode("utf-16-be"), "grün\n"),
    ],
)
def test_an_unchanged_buffer_has_the_hash_of_its_file(root: Path, truth: FileTruth, data: bytes, text: str) -> None:
    (root / "file").write_bytes(data)
    assert truth.did_open("file", text, 1)
    view = truth.view("file")
    assert (view.hash, view.open, view.saved, view.version) == (xxh(data), True, True, 1)
    assert truth.read(view) == data
    truth.did_change("file", text + "x", 2)
    assert not truth.view("file").saved
    truth.did_change("file", text, 3)
    assert truth.view("file").saved


def test_text_that_the_encoding_lacks_becomes_utf8(root: Path, truth: FileTruth) -> None:
    (root / "file").write_bytes("grün".encode("latin-1"))
    truth.did_open("file", "grün", 1)
    truth.did_change("file", "grün → \ud800", 2)
    assert truth.view("file").hash == xxh("grün → \ud800".encode("utf-8", "surrogatepass"))


def test_a_buffer_restored_with_unsaved_text(root: Path, truth: FileTruth) -> None:
    (root / "file").write_bytes(b"\xef\xbb\xbfdisk")
    truth.did_open("file", "not on the disk", 1)
    view = truth.view("file")
    assert (view.saved, truth.read(view)) == (False, b"\xef\xbb\xbfnot on the disk")


def test_a_new_file_is_unsaved_until_it_is_saved(root: Path, truth: FileTruth) -> None:
    truth.did_open("new", "text", 1)
    assert (truth.view("new").kind, truth.view("new").saved) == (Kind.FILE, False)
    assert truth.disk("new").kind is Kind.ABSENT
    (root / "new").write_text("text")
    assert not truth.did_save("new")
    assert truth.view("new").saved
    assert truth.view("new").hash == truth.disk("new").hash


def test_close_gives_the_disk_back(root: Path, truth: FileTruth) -> None:
    (root / "file").write_text("disk")
    truth.did_open("file", "buffer", 1)
    assert truth.did_close("file")
    assert not truth.did_close("file")
    assert (truth.view("file").hash, truth.view("file").open) == (xxh(b"disk"), False)


def test_stale_changes_and_changes_of_unknown_documents_are_ignored(truth: FileTruth) -> None:
    truth.did_open("file", "five", 5)
    before = truth.generation
    assert not truth.did_change("file", "older", 4)
    assert not truth.did_change("file", "again", 5)
    assert not truth.did_change("other", "text", 1)
    assert (truth.generation, truth.overlays.stale_changes) == (before, 3)
    assert truth.view("file").hash == xxh(b"five")
    truth.did_open("file", "reopened", 1)
    assert truth.did_change("file", "two", 2)


def test_a_desync_is_counted_healed_and_said_once(truth: FileTruth) -> None:
    truth.did_open("file", "buffer", 1)
    assert truth.did_save("file", "what was saved")
    assert truth.view("file").hash == xxh(b"what was saved")
    truth.did_change("file", "buffer", 2)
    assert not truth.did_save("file", "again different")
    assert truth.overlays.desyncs == 2
    assert not truth.did_save("file", "again different")
    assert not truth.did_save("never opened", "text")
    assert truth.overlays.desyncs == 2
    truth.did_close("file")
    truth.did_open("file", "buffer", 1)
    assert truth.did_save("file", "what was saved")


def test_the_window_that_spoke_last_is_shown(root: Path, truth: FileTruth) -> None:
    (root / "file").write_text("disk")
    truth.did_open("file", "one", 7, editor="a")
    truth.did_open("file", "two", 1, editor="b")
    assert truth.view("file").hash == xxh(b"two")
    assert truth.did_change("file", "three", 8, editor="a")
    assert truth.view("file").hash == xxh(b"three")
    assert truth.drop_editor("a") == ("file",)
    assert truth.view("file").hash == xxh(b"two")
    assert truth.drop_editor("b") == ("file",)
    assert truth.view("file").hash == xxh(b"disk")
    assert len(truth.overlays) == 0


def test_a_document_opened_through_a_link_is_the_links_target(root: Path, truth: FileTruth) -> None:
    (root / "file").write_text("disk")
    (root / "link").symlink_to("file")
    truth.did_open("link", "buffer", 1)
    assert truth.view("file") == truth.view("link")
    assert truth.view("file").hash == xxh(b"buffer")
    assert truth.view("link", follow=False).kind is Kind.SYMLINK
    (root / "link").unlink()
    assert truth.did_change("link", "more", 2)
    assert truth.view("file").hash == xxh(b"more")
    assert truth.did_close("link")
    assert truth.view("file").hash == xxh(b"disk")


def test_documents_outside_the_root_are_not_ours(root: Path, truth: FileTruth) -> None:
    (root / "out").symlink_to(root.parent / "elsewhere")
    assert not truth.did_open(str(root.parent / "file"), "text", 1)
    assert not truth.did_open("out", "text", 1)
    assert len(truth.overlays) == 0


def test_a_document_that_is_opened_again_outside_is_closed(root: Path, truth: FileTruth) -> None:
    assert truth.did_open("link", "text", 1)
    (root / "link").symlink_to(root.parent / "elsewhere")
    assert not truth.did_open("link", "text", 1)
    assert len(truth.overlays) == 0


def test_too_many_documents_are_refused_and_too_much_text_keeps_its_hash(
    truth: FileTruth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlay, "MAX_DOCUMENTS", 2)
    monkeypatch.setattr(overlay, "TEXT_BYTES", 10)
    assert truth.did_open("a", "12345678", 1)
    assert truth.did_open("b", "12345678", 1)
    assert not truth.did_open("c", "1", 1)
    assert truth.overlays.refused == 1
    view = truth.view("b")
    assert (view.hash, truth.read(view), truth.line_digests(view)) == (xxh(b"12345678"), None, None)
    truth.did_change("b", "12", 2)
    assert truth.read(truth.view("b")) == b"12"
    truth.did_close("a")
    truth.did_change("b", "1234567890", 3)
    assert truth.read(truth.view("b")) == b"1234567890"


def test_what_a_program_must_reckon_with(root: Path, truth: FileTruth, clock: Clock) -> None:
    """Unsaved text wins over the disk; a buffer without unsaved text will be loaded again by its editor."""
    (root / "file").write_text("base")
    truth.did_open("file", "base", 1)
    (root / "file").write_text("by an agent")
    assert truth.view("file").hash == xxh(b"base")
    assert truth.effective("file").hash == xxh(b"by an agent")
    truth.did_change("file", "typed", 2)
    assert truth.effective("file").hash == xxh(b"typed")
