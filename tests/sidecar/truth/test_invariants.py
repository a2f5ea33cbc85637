"""The invariants of spec sidecar.md §2, under any order of writes, editor messages, events, look-ups and sweeps.

The machine's own model is the disk as it is and the clients' texts. Its clock is honest: time passes the racy window
only after the file system's clock has ticked.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sidecar.truth.support import Clock, xxh

from rulecore_sidecar.truth import FileTruth, Kind, Snapshot, View, external_consistency
from rulecore_sidecar.truth.overlay import Document
from rulecore_sidecar.truth.values import signature_fields

NAMES = ("a", "b", "dir/c", "dir/sub/d", "link")
FILES = st.sampled_from(NAMES)
CONTENTS = st.sampled_from([b"one\n", b"two\n", b"six\n", b"longer text\r\n", b"", b"\xff\xfe\x00"])
TEXTS = st.sampled_from(["one\n", "two\n", "ü\r\n", "", "\u2028\ud800"])
EDITORS = st.sampled_from(["window 1", "window 2"])


def contents(snapshot: Snapshot) -> dict[str, tuple[Kind, str | None, int]]:
    return {key: (view.kind, view.hash, view.size) for key, view in snapshot.items()}


class Truth(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(os.path.realpath(tempfile.mkdtemp())) / "workspace"
        (self.root / "dir" / "sub").mkdir(parents=True)
        self.clock = Clock()
        self.truth = FileTruth(self.root, self.clock)
        self.texts: dict[str, dict[Document, tuple[str, int]]] = {}
        """Key → document → (text, version), the document that spoke last at the end."""
        self.generation = 0
        self.seen: tuple[int, dict[str, View]] = (0, {})
        self.recorded: dict[str, View] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root.parent)

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """A change of the disk at this very moment; one that the file system refuses is none."""
        self.clock.ahead = 0.0
        with suppress(OSError):
            yield self.root / name

    # -- writers

    @rule(name=FILES, content=CONTENTS)
    def write_in_place(self, name: str, content: bytes) -> None:
        with self.writing(name) as path:
            path.write_bytes(content)

    @rule(name=FILES, content=CONTENTS)
    def save_by_rename(self, name: str, content: bytes) -> None:
        with self.writing(name) as path:
            (self.root / "new").write_bytes(content)
            (self.root / "new").replace(path)

    @rule(name=FILES, second=st.sampled_from([0, 10**9, 2**33]))
    def forge_mtime(self, name: str, second: int) -> None:
        with self.writing(name) as path:
            os.utime(path, (second, second))

    @rule(name=FILES)
    def round_mtime(self, name: str) -> None:
        with self.writing(name) as path:
            second = int(path.stat().st_mtime)
            os.utime(path, (second, second))

    @rule(name=FILES)
    def remove(self, name: str) -> None:
        with self.writing(name) as path:
            path.unlink()

    @rule(name=st.sampled_from(["a", "dir", "dir/sub"]), becomes=st.sampled_from(["b", "..", "folder"]))
    def swap(self, name: str, becomes: str) -> None:
        with self.writing(name) as path:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            if becomes == "folder":
                path.mkdir()
            else:
                path.symlink_to(becomes)

    @rule(to=st.sampled_from(["a", "b", "dir/c", "dir", "nowhere", "link", ".."]))
    def link_to(self, to: str) -> None:
        with self.writing("link") as path:
            path.unlink(missing_ok=True)
            path.symlink_to(to)

    @rule()
    def time_passes(self) -> None:
        self.clock.settle()

    # -- editors

    @rule(name=FILES, editor=EDITORS, text=TEXTS)
    def did_open(self, name: str, editor: str, text: str) -> None:
        self.closed(Document(editor, name))
        key = self.truth.disk(name).key
        if self.truth.did_open(name, text, 1, editor):
            self.texts.setdefault(key, {})[Document(editor, name)] = (text, 1)

    @rule(name=FILES, editor=EDITORS, text=TEXTS, step=st.sampled_from([-1, 0, 1, 3]))
    def did_change(self, name: str, editor: str, text: str, step: int) -> None:
        known = self.known(Document(editor, name))
        accepted = known is not None and step > 0
        version = (known[1] if known else 1) + step
        assert self.truth.did_change(name, text, version, editor) == accepted
        if accepted:
            self.spoke(Document(editor, name), text, version)

    @rule(name=FILES, editor=EDITORS, text=st.none() | TEXTS)
    def did_save(self, name: str, editor: str, text: str | None) -> None:
        self.truth.did_save(name, text, editor)
        known = self.known(Document(editor, name))
        if known is not None:
            self.spoke(Document(editor, name), known[0] if text is None else text, known[1])

    @rule(name=FILES, editor=EDITORS)
    def did_close(self, name: str, editor: str) -> None:
        assert self.truth.did_close(name, editor) == self.closed(Document(editor, name))

    @rule(editor=EDITORS)
    def editor_goes(self, editor: str) -> None:
        self.truth.drop_editor(editor)
        for name in NAMES:
            self.closed(Document(editor, name))

    def known(self, document: Document) -> tuple[str, int] | None:
        return next((documents[document] for documents in self.texts.values() if document in documents), None)

    def spoke(self, document: Document, text: str, version: int) -> None:
        for documents in self.texts.values():
            if documents.pop(document, None):
                documents[document] = (text, version)

    def closed(self, document: Document) -> bool:
        found = [documents.pop(document, None) for documents in self.texts.values()]
        return any(found)

    # -- events

    @rule(name=st.sampled_from([*NAMES, "dir", "dir/sub", "new", "..", ".git/HEAD", "."]))
    def event(self, name: str) -> None:
        """I5: an event creates nothing."""
        before = (self.truth.generation, dict(self.truth.snapshot()))
        self.truth.touched(name)
        assert (self.truth.generation, dict(self.truth.snapshot())) == before

    @rule()
    def events_lost(self) -> None:
        self.truth.overflow()
        assert self.truth.needs_sweep

    # -- looking

    @rule(name=FILES, follow=st.booleans())
    def look(self, name: str, follow: bool) -> None:
        """I1, I2: without a writer at work, what is said of the disk is what lies there; a hash is of those bytes."""
        view = self.truth.disk(name, follow=follow)
        path = self.root / name
        real = Path(os.path.realpath(path if follow else path.parent)) / ("" if follow else path.name)
        if view.kind is Kind.OUTSIDE:
            assert not real.is_relative_to(self.root) and view.hash is None
        elif view.kind is Kind.FILE:
            assert view.hash == xxh(real.read_bytes())
            assert self.root / view.key == real
        elif view.kind is Kind.SYMLINK:
            assert not follow and view.hash == xxh(os.fsencode(os.readlink(path)))
        elif view.kind is Kind.DIR:
            assert real.is_dir()
        elif view.kind is Kind.ABSENT:
            assert not real.exists()
        else:
            assert view.kind is Kind.UNREADABLE and follow  # a chain of links that leads nowhere
        self.hit_is_untouched(view)

    def hit_is_untouched(self, view: View) -> None:
        entry = self.truth._disk.entries.get(view.key)
        if entry is not None and not entry.racy and view.kind in (Kind.FILE, Kind.SYMLINK):
            assert entry.signature == signature_fields(os.lstat(self.root / view.key))

    @rule(name=FILES)
    def record(self, name: str) -> None:
        self.recorded[name] = self.truth.effective(name)

    @rule()
    def compare(self) -> None:
        """What was recorded and is the same now is not called drift, and what is not the same is."""
        cache = {path: {"hash": view.hash} for path, view in self.recorded.items()}
        answer = external_consistency(self.truth, cache)
        drifted = {drift.path for drift in answer.drifted}
        for path, then in self.recorded.items():
            now = self.truth.effective(path)
            if now.hash != then.hash:
                assert path in {*drifted, *answer.unverified}
            elif now.hash is not None and not now.open:
                assert path not in drifted

    @rule()
    def refresh(self) -> None:
        self.truth.refresh()
        assert not self.truth.needs_sweep

    @rule()
    def sweep(self) -> None:
        """I8: after a sweep without writers the cache is what a fresh scan finds."""
        self.truth.sweep()
        fresh = FileTruth(self.root, self.clock)
        fresh.sweep()
        cached = {key: View.of_disk(key, entry) for key, entry in self.truth._disk.entries.items()}
        assert contents(fresh.snapshot()) == {key: (v.kind, v.hash, v.size) for key, v in cached.items()}

    # -- always

    @invariant()
    def open_documents_are_the_clients_texts(self) -> None:
        """I3."""
        for key, documents in self.texts.items():
            view = self.truth.view(key)
            if view.key != key:
                continue  # a folder above it has become a link: the path names another file now
            assert view.open == bool(documents)
            if documents:
                (text, version) = list(documents.values())[-1]
                buffer = self.truth.overlays.get(key)
                assert buffer is not None and buffer.text == text
                assert (view.hash, view.version) == (xxh(buffer.form.encode(text)), version)

    @invariant()
    def generations_grow_and_name_one_truth(self) -> None:
        """I6."""
        snapshot = self.truth.snapshot()
        assert snapshot.generation >= self.generation
        self.generation = snapshot.generation
        now = {key: view._replace(mtime_ns=0) for key, view in snapshot.items()}
        if self.seen[0] == snapshot.generation:
            assert self.seen[1] == now
        self.seen = (snapshot.generation, now)
        assert all(view.generation <= snapshot.generation for view in now.values())


Truth.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
test_truth = Truth.TestCase
