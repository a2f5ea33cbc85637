"""FileTruth: what every file of one workspace is now, as the guards and the language server see it.

``view(path)`` is the open editor buffer, else the disk, where one ``lstat`` decides whether the cache still holds.
Everything runs on the thread that owns the object, in the order of the wire; other threads get a :class:`Snapshot` or
call :func:`~.listing.list_files`. Work of an old generation is to be dropped by whoever started it.

Guarantees: events never create a hash, they only mark; equal generations mean equal truth; a sweep without writers
leaves what a fresh scan would find. Limits: what a view says may be outdated the moment it is returned; without events
and between sweeps nothing is noticed that nobody looks up. Each collection has its bound beside its name.
Source: spec sidecar.md §2.
"""

import os
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

from rulecore_sidecar.truth.disk import DiskLayer
from rulecore_sidecar.truth.lines import MAX_BYTES, DigestMemo, digest_lines
from rulecore_sidecar.truth.listing import Listing, head_signature, list_files
from rulecore_sidecar.truth.overlay import Document, OverlayLayer
from rulecore_sidecar.truth.paths import Paths
from rulecore_sidecar.truth.values import Entry, Generation, Kind, Snapshot, View

MAX_TOUCHED = 1_000
"""More paths than these named by events, and a full sweep takes their place."""
MAX_LISTED_UNDER = 200
"""More unknown paths than these named by events, likewise."""
MAX_WRITERS = 10_000
MAX_LINKS = 40
BATCH_FILES = 50
EDITOR = "editor"


class Scope(NamedTuple):
    """What a refresh has to look at."""

    full: bool
    known: tuple[str, ...]
    """Keys in the cache."""
    under: tuple[str, ...]
    """Paths to be listed, with what lies below them: new files, or folders. All, in a full one."""


class Sweep(NamedTuple):
    """What a refresh found."""

    changed: tuple[str, ...]
    """Keys whose content is new, different or gone."""
    generation: int
    files: int
    """Files in the cache afterwards."""
    cut: bool = False
    """The workspace has more files than are listed."""
    root_missing: bool = False
    """The workspace folder is gone."""


class FileTruth:
    """The files of one workspace."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        clock: Callable[[], int] = time.time_ns,
        case_insensitive: bool | None = None,
    ) -> None:
        """``clock`` gives the wall time in nanoseconds. ``case_insensitive`` None probes the file system.

        Nothing is read before it is asked for; the first refresh is a sweep. The root need not exist.
        """
        self.paths = Paths(root, case_insensitive)
        self._generation = Generation()
        self._disk = DiskLayer(self._generation, clock)
        self.overlays = OverlayLayer(self._generation, clock)
        self._digests = DigestMemo()
        self._writers: dict[str, tuple[str | None, str]] = {}
        self._touched: set[str] = set()
        self._unlisted: dict[str, str] = {}
        self._head = head_signature(self.root)
        self.needs_sweep = True
        """The next refresh looks at everything."""

    @property
    def root(self) -> str:
        """The real path of the workspace."""
        return self.paths.root

    @property
    def generation(self) -> int:
        """How many changes were accepted so far. Every decision quotes it."""
        return self._generation.value

    # -- looking

    def view(self, path: str, *, follow: bool = True, need_hash: bool = False) -> View:
        """The file at a key or path as it is now: the open buffer, else the disk. Never raises.

        ``follow`` gives what a symlink leads to, under the target's key (OUTSIDE when that leaves the root, ABSENT when
        it dangles, UNREADABLE when it leads nowhere); without it the symlink itself. ``need_hash`` hashes files above
        8 MiB too, which takes its time.
        """
        return self._look(path, follow, need_hash, overlays=True)

    def disk(self, path: str, *, follow: bool = True, need_hash: bool = False) -> View:
        """Like :meth:`view`, of the disk alone, whatever editors have open."""
        return self._look(path, follow, need_hash, overlays=False)

    def effective(self, path: str, *, need_hash: bool = False) -> View:
        """What a program that edits the file now must reckon with: text that is not saved, else the disk.

        Differs from :meth:`view` for a buffer without unsaved text whose file has just been written by somebody else:
        the editor will load that by itself.
        """
        view = self.view(path, need_hash=need_hash)
        return self.disk(view.key, need_hash=need_hash) if view.open and view.saved else view

    def read(self, view: View) -> bytes | None:
        """The bytes that ``view`` is the view of; None when they are no longer there, or above 8 MiB."""
        buffer = self.overlays.get(view.key)
        if buffer is not None and buffer.hash == view.hash:
            return buffer.data
        if view.kind is not Kind.FILE or view.hash is None:
            return None
        entry, data = self._disk.read(self.paths.locate(view.key))
        return data if entry.hash == view.hash else None

    def line_digests(self, view: View) -> bytes | None:
        """4 bytes for each line of ``view``'s content, for :func:`~.lines.changed_ranges`.

        None for what is binary, above 20,000 lines or 4 MiB, no file, or no longer there to be read.
        """
        if view.hash is None or view.kind is not Kind.FILE:
            return None
        if view.hash not in self._digests:
            data = self.read(view) if view.size <= MAX_BYTES else None
            if data is None:
                return None
            self._digests.put(view.hash, digest_lines(data))
        return self._digests.get(view.hash)

    def snapshot(self) -> Snapshot:
        """Everything that is known at this generation, for other threads and processes."""
        return Snapshot(self.generation, dict(self._disk.entries), self.overlays.views())

    # -- editors

    def did_open(self, path: str, text: str, version: int, editor: str = EDITOR) -> bool:
        """An editor shows ``text`` for ``path``. False (the disk counts) outside the root or beyond the limit."""
        document = Document(editor, path)
        place = self.paths.locate(self.disk(path).key)
        if not place.inside:
            self.overlays.close(document)
            return False
        entry, data = self._disk.read(place)
        return self.overlays.open(document, place.key, version, text, data, entry.hash)

    def did_change(self, path: str, text: str, version: int, editor: str = EDITOR) -> bool:
        """The whole text after a change. False, and ignored, for a stale version or what is not open."""
        return self.overlays.change(Document(editor, path), version, text)

    def did_save(self, path: str, text: str | None = None, editor: str = EDITOR) -> bool:
        """The editor wrote its buffer. True when the person is to be told of a desync (once a document)."""
        document = Document(editor, path)
        say = self.overlays.save(document, text)
        key = self.overlays.key_of(document)
        if key is not None:
            self.touched(key)
            self.note_write(key, self.view(key).hash, EDITOR)
        return say

    def did_close(self, path: str, editor: str = EDITOR) -> bool:
        """The disk counts again. False when the document was not open."""
        return self.overlays.close(Document(editor, path))

    def drop_editor(self, editor: str) -> tuple[str, ...]:
        """An editor's connection is gone: close all that it had open. Returns the keys."""
        return self.overlays.drop_editor(editor)

    # -- events and sweeps

    def touched(self, path: str) -> None:
        """Something may have happened to a file or anywhere below a folder. Marks it; reads no file."""
        place = self.paths.locate(path)
        if not place.inside:
            return
        if place.key.partition("/")[0] == ".git":
            self.poll_head()
        elif place.key in self._disk.entries:
            self._disk.mark(place.key)
            self._touched.add(place.key)
        else:
            self._unlisted[place.key] = self.paths.spelling(place)
        if place.key == "." or len(self._touched) > MAX_TOUCHED or len(self._unlisted) > MAX_LISTED_UNDER:
            self.overflow()

    def overflow(self) -> None:
        """Events were lost, or nobody knows what changed: the next refresh looks at everything."""
        self._touched.clear()
        self._unlisted.clear()
        self.needs_sweep = True

    def poll_head(self) -> bool:
        """True once after each move of the git HEAD (switch, commit, reset, merge); a sweep is due then."""
        head = head_signature(self.root)
        if head == self._head:
            return False
        self._head = head
        self.overflow()
        return True

    def take_scope(self) -> Scope:
        """What was marked since the last call. The caller owes a :meth:`look_again` at all of it.

        An event loop answers in between by doing by itself what :meth:`refresh` does: ``list_files`` in a thread,
        ``look_again(scope.known)``, then ``look_again(new_paths(listing))``, with a pause after each batch.
        """
        if self.needs_sweep:
            scope = Scope(True, tuple(self._disk.entries), ())
        else:
            below = {key for key in self._disk.entries if self._is_below_unlisted(key)}
            scope = Scope(False, tuple(self._touched | below), tuple(self._unlisted.values()))
        self._touched.clear()
        self._unlisted.clear()
        self.needs_sweep = False
        return scope

    def look_again(self, paths: Iterable[str]) -> Generator[tuple[str, ...], None, None]:
        """Look at ``paths``, BATCH_FILES at a time, and yield the keys whose content changed, batch by batch.

        If it is not run to its end, a sweep is due.
        """
        rest = iter(paths)
        complete = False
        try:
            while batch := tuple(islice(rest, BATCH_FILES)):
                yield self._look_at(batch)
            complete = True
        finally:
            self.needs_sweep |= not complete

    def new_paths(self, listing: Listing) -> list[str]:
        """The listed files that are not in the cache."""
        for path in listing.paths:
            self.paths.learn_spelling(path)
        cached = self._disk.entries
        return [path for path in listing.paths if path not in cached]

    def refresh(self) -> Sweep:
        """Take in what events have marked. Blocks for the listing (git) and for reading what changed."""
        scope = self.take_scope()
        listing = Listing((), "none")
        with ThreadPoolExecutor(1) as thread:
            listed = thread.submit(list_files, self.root, scope.under) if scope.full or scope.under else None
            changed = [key for batch in self.look_again(scope.known) for key in batch]
            if listed is not None:
                listing = listed.result()
        changed += [key for batch in self.look_again(self.new_paths(listing)) for key in batch]
        return Sweep(tuple(changed), self.generation, len(self._disk.entries), listing.cut, listing.root_missing)

    def sweep(self) -> Sweep:
        """Look at every known and every listed file; without writers the cache then equals a fresh scan."""
        self.overflow()
        return self.refresh()

    # -- writers

    def note_write(self, path: str, content: str | None, who: str) -> None:
        """Remember that ``who`` wrote ``path`` with this hash (None: deleted it). The latest note of a path counts."""
        key = self.view(path).key
        self._writers.pop(key, None)
        self._writers[key] = (content, who)
        if len(self._writers) > MAX_WRITERS:
            del self._writers[next(iter(self._writers))]

    def writer_of(self, path: str) -> str | None:
        """Who wrote the present content of ``path``; None when that is not known."""
        view = self.effective(path)
        content, who = self._writers.get(view.key, (None, None))
        if content is None and view.kind is not Kind.ABSENT:
            return None
        return who if content == view.hash else None

    # -- inside

    def _look(self, path: str, follow: bool, need_hash: bool, overlays: bool) -> View:
        place = self.paths.locate(path)
        for _ in range(MAX_LINKS):
            buffer = self.overlays.get(place.key) if overlays else None
            if buffer is not None:
                return buffer.view(place.key)
            entry = self._disk.look_up(place, need_hash)
            if entry.kind is not Kind.SYMLINK or not follow:
                return View.of_disk(place.key, entry)
            place = self.paths.target(place)
        return View.of_disk(place.key, Entry(Kind.UNREADABLE, generation=self.generation))

    def _look_at(self, batch: Iterable[str]) -> tuple[str, ...]:
        changed: list[str] = []
        checked: set[str] = set()
        counter = self._generation
        for path in batch:
            place = self.paths.locate(path, checked)
            moved = place.key != path or not place.inside
            if moved and path in self._disk.entries:  # a folder above it became a symlink
                self._disk.forget(path)
                changed.append(path)
            before = counter.value
            self._disk.look_up(place)
            if counter.value != before:
                changed.append(place.key)
        return tuple(changed)

    def _is_below_unlisted(self, key: str) -> bool:
        while key:
            if key in self._unlisted:
                return True
            key = key.rpartition("/")[0]
        return False
