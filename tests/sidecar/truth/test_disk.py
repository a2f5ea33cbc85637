"""I1, I2, I4: hashes are of bytes from one stable read, and a hit means that the file is untouched."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sidecar.truth.support import Clock, xxh

from rulecore_sidecar.truth import FileTruth, Kind, disk
from rulecore_sidecar.truth.disk import DiskLayer
from rulecore_sidecar.truth.paths import Paths, Place
from rulecore_sidecar.truth.values import Generation

Locate = Callable[[str], Place]


@pytest.fixture
def layer(clock: Clock) -> DiskLayer:
    return DiskLayer(Generation(), clock)


@pytest.fixture
def at(root: Path) -> Locate:
    return Paths(root).locate


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every path that is opened from now on."""
    paths: list[str] = []
    real = os.open

    def spy(path: str, flags: int, *rest: int) -> int:
        paths.append(path)
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", spy)
    return paths


def during_reads(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], object]) -> None:
    """Call ``act`` with 1, 2, … after each read."""
    real, count = os.read, 0

    def hooked(descriptor: int, length: int) -> bytes:
        nonlocal count
        data = real(descriptor, length)
        count += 1
        act(count)
        return data

    monkeypatch.setattr(os, "read", hooked)


CONTENTS = [b"", b"text\n", b"a\r\nb\r\n", b"\xef\xbb\xbfmark", "é".encode("latin-1"), b"\0\xff" * 9, b"x" * 70_000]


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: repr(content[:9]))
def test_hashes_are_of_the_raw_bytes(root: Path, layer: DiskLayer, at: Locate, content: bytes) -> None:
    (root / "file").write_bytes(content)
    entry = layer.look_up(at("file"))
    assert (entry.kind, entry.hash, entry.size) == (Kind.FILE, xxh(content), len(content))
    assert layer.read(at("file")) == (entry, content)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda path: None, Kind.ABSENT),
        (Path.mkdir, Kind.DIR),
        (os.mkfifo, Kind.SPECIAL),
        (make_socket, Kind.SPECIAL),
        (lambda path: path.symlink_to("nowhere"), Kind.SYMLINK),
        (lambda path: path.symlink_to(path.name), Kind.SYMLINK),
    ],
    ids=["absent", "folder", "fifo", "socket", "dangling link", "link to itself"],
)
def test_what_is_no_file_is_never_opened(
    root: Path, layer: DiskLayer, at: Locate, opened: list[str], make: Callable[[Path], None], kind: Kind
) -> None:
    make(root / "it")
    assert layer.look_up(at("it")).kind is kind
    assert layer.look_up(at("it"), need_hash=True).kind is kind
    assert layer.read(at("it"))[1] is None
    assert opened == []


def test_a_link_is_hashed_by_its_target_string(root: Path, layer: DiskLayer, at: Locate) -> None:
    (root / "link").symlink_to("file")
    assert layer.look_up(at("link")).hash == xxh(b"file")
    (root / "link").unlink()
    (root / "link").symlink_to("elif")
    assert layer.look_up(at("link")).hash == xxh(b"elif")


def test_a_fifo_that_takes_the_place_of_a_file_does_not_block(
    root: Path, layer: DiskLayer, at: Locate, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "file").write_text("text")
    real = os.open

    def swapped_first(path: str, flags: int) -> int:
        monkeypatch.setattr(os, "open", real)
        (root / "file").unlink()
        os.mkfifo(root / "file")
        return real(path, flags)

    monkeypatch.setattr(os, "open", swapped_first)
    assert layer.look_up(at("file")).kind is Kind.SPECIAL


def test_a_link_that_takes_the_place_of_a_file_is_not_followed(
    root: Path, layer: DiskLayer, at: Locate, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "file").write_text("text")
    (root / "other").write_text("secret")
    real = os.open

    def swapped_first(path: str, flags: int) -> int:
        monkeypatch.setattr(os, "open", real)
        (root / "file").unlink()
        (root / "file").symlink_to("other")
        return real(path, flags)

    monkeypatch.setattr(os, "open", swapped_first)
    assert layer.look_up(at("file")).hash == xxh(b"other")


def test_a_hit_opens_nothing_and_a_racy_file_is_read_again(
    root: Path, layer: DiskLayer, at: Locate, clock: Clock, opened: list[str]
) -> None:
    (root / "file").write_text("text")
    first = layer.look_up(at("file"))
    layer.look_up(at("file"))
    assert len(opened) == 2
    clock.settle()
    # Read while it was racy, it cannot be trusted however much later it is asked for.
    entry = layer.look_up(at("file"))
    assert len(opened) == 3
    assert layer.look_up(at("file")) == entry
    assert len(opened) == 3
    assert entry.generation == first.generation


def test_same_size_and_forged_mtime_do_not_hide_a_write(root: Path, layer: DiskLayer, at: Locate, clock: Clock) -> None:
    file = root / "file"
    file.write_text("one")
    os.utime(file, ns=(10**18, 10**18))
    clock.settle()
    assert layer.look_up(at("file")).hash == xxh(b"one")
    file.write_text("two")
    os.utime(file, ns=(10**18, 10**18))
    assert layer.look_up(at("file")).hash == xxh(b"two")


@pytest.mark.parametrize(("mtime", "settled"), [(2**32, True), (10**9, False)], ids=["future", "just forged"])
def test_a_time_that_cannot_be_trusted_is_read_every_time(
    root: Path, layer: DiskLayer, at: Locate, clock: Clock, opened: list[str], mtime: int, settled: bool
) -> None:
    (root / "file").write_text("text")
    os.utime(root / "file", (mtime, mtime))
    if settled:
        clock.settle()
    layer.look_up(at("file"))
    layer.look_up(at("file"))
    assert len(opened) == 2


def test_a_mark_forces_one_reading(root: Path, layer: DiskLayer, at: Locate, clock: Clock, opened: list[str]) -> None:
    (root / "file").write_text("text")
    clock.settle()
    entry = layer.look_up(at("file"))
    layer.mark("file")
    assert len(opened) == 1
    assert layer.look_up(at("file")) == layer.look_up(at("file")) == entry
    assert len(opened) == 2


@pytest.mark.parametrize("racy", [True, False])
@pytest.mark.parametrize("grows", [True, False])
def test_a_file_that_will_not_hold_still_has_no_hash(
    root: Path, layer: DiskLayer, at: Locate, clock: Clock, monkeypatch: pytest.MonkeyPatch, racy: bool, grows: bool
) -> None:
    file = root / "file"
    file.write_bytes(b"text")
    known = layer.look_up(at("file"))
    clock.settle()
    if racy:
        clock.ahead = 0
    with monkeypatch.context() as patch:
        during_reads(patch, lambda count: file.write_bytes(b"text%d" % count * (count if grows else 1)))
        entry = layer.look_up(at("file"))
    assert (entry.kind, entry.hash) == (Kind.UNSTABLE, None)
    assert entry.generation > known.generation
    assert "file" not in layer.entries
    assert layer.look_up(at("file")).hash == xxh(file.read_bytes())


def test_one_disturbed_reading_is_repeated(
    root: Path, layer: DiskLayer, at: Locate, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "file"
    file.write_bytes(b"old")
    during_reads(monkeypatch, lambda count: file.write_bytes(b"new") if count == 1 else None)
    assert layer.look_up(at("file")).hash == xxh(b"new")


def test_bytes_that_move_within_one_tick_of_the_clock_are_noticed(
    root: Path, layer: DiskLayer, at: Locate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With coarse timestamps the signature stands still; a racy file must give the same bytes twice."""
    file = root / "file"
    file.write_bytes(b"0")
    monkeypatch.setattr(disk, "signature_fields", lambda status: (0, 0, status.st_size, 0, 0, status.st_mode))
    during_reads(monkeypatch, lambda count: file.write_bytes(b"%d" % (count % 10)))
    assert layer.look_up(at("file")).kind is Kind.UNSTABLE


def test_large_files_are_hashed_on_demand(
    root: Path, layer: DiskLayer, at: Locate, clock: Clock, opened: list[str]
) -> None:
    file = root / "file"
    file.write_bytes(b"0" * 10_000_000)
    clock.settle()
    unasked = layer.look_up(at("file"))
    assert (unasked.kind, unasked.hash, unasked.size, opened) == (Kind.FILE, None, 10_000_000, [])
    hashed = layer.look_up(at("file"), need_hash=True)
    assert hashed.hash == xxh(b"0" * 10_000_000)
    assert hashed.generation > unasked.generation
    assert layer.look_up(at("file")) == layer.look_up(at("file"), need_hash=True) == hashed
    assert len(opened) == 1
    assert layer.read(at("file"))[1] is None
    file.write_bytes(b"1" * 10_000_000)
    changed = layer.look_up(at("file"))
    assert changed.hash is None
    assert changed.generation > hashed.generation


def test_a_change_of_a_file_without_hash_is_a_new_generation(
    root: Path, layer: DiskLayer, at: Locate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "EAGER_BYTES", 3)
    (root / "file").write_bytes(b"1234")
    first = layer.look_up(at("file"))
    (root / "file").write_bytes(b"4321")
    assert layer.look_up(at("file")).generation > first.generation


def test_files_above_the_last_limit_are_never_read(
    root: Path, layer: DiskLayer, at: Locate, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "EAGER_BYTES", 3)
    monkeypatch.setattr(disk, "HASHED_BYTES", 5)
    (root / "file").write_bytes(b"123456")
    assert layer.look_up(at("file"), need_hash=True).hash is None
    assert opened == []


def test_an_unreadable_file_is_tried_again(
    root: Path, layer: DiskLayer, at: Locate, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    (root / "file").write_text("text")
    clock.settle()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        entry = layer.look_up(at("file"))
    assert (entry.kind, entry.hash) == (Kind.UNREADABLE, None)
    assert layer.look_up(at("file")).hash == xxh(b"text")


def test_atomic_rename_saves(root: Path, layer: DiskLayer, at: Locate, clock: Clock) -> None:
    for number in range(6):
        content = b"%d" % number
        (root / "new").write_bytes(content)
        (root / "new").replace(root / "file")
        if number % 2:
            clock.settle()
        assert layer.look_up(at("file")).hash == xxh(content)


def test_swaps_of_kind(root: Path, layer: DiskLayer, at: Locate, clock: Clock) -> None:
    path = root / "it"
    path.write_text("text")
    clock.settle()
    seen = [layer.look_up(at("it"))]
    path.unlink()
    seen.append(layer.look_up(at("it")))
    path.mkdir()
    seen.append(layer.look_up(at("it")))
    path.rmdir()
    path.symlink_to("text")
    seen.append(layer.look_up(at("it")))
    path.unlink()
    path.write_text("text")
    seen.append(layer.look_up(at("it")))
    assert [entry.kind for entry in seen] == [Kind.FILE, Kind.ABSENT, Kind.DIR, Kind.SYMLINK, Kind.FILE]
    assert seen[0].hash == seen[3].hash == seen[4].hash  # "text" as content and as target: only the kind differs
    assert seen[4].generation > seen[3].generation > seen[1].generation > seen[0].generation


def test_names_that_are_not_utf8(root: Path, truth: FileTruth) -> None:
    name = os.fsdecode(b"caf\xe9")
    (root / name).write_text("text")
    assert truth.sweep().changed == (name,)
    assert truth.view(name).hash == xxh(b"text")


def test_the_cache_is_bounded(
    root: Path, layer: DiskLayer, at: Locate, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MAX_ENTRIES", 3)
    for number in range(5):
        (root / str(number)).write_text("text")
        layer.look_up(at(str(number)))
    assert list(layer.entries) == ["2", "3", "4"]
    assert layer.look_up(at("0")).hash == xxh(b"text")


WRITER = """
import os, sys
size, path = int(sys.argv[1]), sys.argv[2]
descriptor = os.open(path, os.O_RDWR)
print("ready", flush=True)
while os.getppid() == int(sys.argv[3]):
    for letter in b"AB":
        os.pwrite(descriptor, bytes([letter]) * size, 0)
"""


def is_one_write_over_another(data: bytes) -> bool:
    """``data`` is how the file stood at some instant: one letter up to where the writer was, then the other."""
    return not data.lstrip(data[:1]).lstrip(data[-1:])


@pytest.mark.skipif(os.name == "nt", reason="uses pwrite")
def test_no_hash_of_a_content_that_never_was(root: Path, layer: DiskLayer, at: Locate) -> None:
    """A process rewrites the file in place without a pause. A write that is under way is a content like any other."""
    size = 300_000
    (root / "file").write_bytes(b"A" * size)
    arguments = [sys.executable, "-c", WRITER, str(size), str(root / "file"), str(os.getpid())]
    wrong = 0
    writer = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        stop = time.monotonic() + 1.0
        while time.monotonic() < stop:
            entry, data = layer.read(at("file"))
            if data is None:
                wrong += entry.kind is not Kind.UNSTABLE or entry.hash is not None
            else:
                wrong += not (is_one_write_over_another(data) and entry.hash == xxh(data) and entry.racy)
    finally:
        writer.kill()
        writer.communicate()
    assert wrong == 0
    assert layer.look_up(at("file")).hash == xxh((root / "file").read_bytes())
