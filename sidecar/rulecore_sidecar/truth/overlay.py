"""OverlayLayer: the open editor buffers, by key.

Invariant: the buffer of an open document is the client's text at its last message that was processed. A file that is
open in several windows, or under several names, has a buffer for each; the one that spoke last is shown.
A change with a version that is not newer is stale and ignored. A save whose text differs from the buffer is a desync:
counted, healed by taking the saved text, and said once for each opened document.

Limits: MAX_DOCUMENTS open documents; for further ones the disk counts; above TEXT_BYTES in all, a buffer
keeps hash and size but not its text. Source: spec sidecar.md §2.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import xxhash

from rulecore_sidecar.truth.textform import TextForm, form_of
from rulecore_sidecar.truth.values import Generation, Kind, View

MAX_DOCUMENTS = 2_000
TEXT_BYTES = 64 * 1024 * 1024


class Document(NamedTuple):
    """What an editor calls a document: the window (or forwarding process) and the path as it gives it."""

    editor: str
    path: str


class Buffer(NamedTuple):
    """The text of one document."""

    version: int
    text: str | None
    hash: str
    """xxh3_128 of the bytes that the text would be on the disk."""
    size: int
    form: TextForm
    on_disk: str | None
    """Hash of what this editor last knew to be on the disk; None when there was no file."""
    changed_ns: int
    generation: int
    desynced: bool = False

    @property
    def saved(self) -> bool:
        """The text is what this editor last knew to be on the disk."""
        return self.hash == self.on_disk

    @property
    def text_bytes(self) -> int:
        """What the kept text counts for in the limit."""
        return self.size if self.text is not None else 0

    @property
    def data(self) -> bytes | None:
        """The bytes behind ``hash``; None when the text was not kept."""
        return None if self.text is None else self.form.encode(self.text)

    def view(self, key: str) -> View:
        """The buffer as the file's present view."""
        return View(
            key, Kind.FILE, self.hash, self.size, self.changed_ns, self.generation, True, self.saved, self.version
        )


class OverlayLayer:
    """Open buffers of one workspace. For one thread."""

    def __init__(self, generation: Generation, clock: Callable[[], int] = time.time_ns) -> None:
        """``clock`` gives the wall time in nanoseconds."""
        self._generation = generation
        self._clock = clock
        self._keys: dict[Document, str] = {}
        self._buffers: dict[str, dict[Document, Buffer]] = {}
        """By key; of several documents of one file, the one that spoke last is the last."""
        self._text_bytes = 0
        self.desyncs = 0
        """Saves whose text was not the buffer's."""
        self.stale_changes = 0
        """Changes that were ignored: not newer, or of a document that is not open."""
        self.refused = 0
        """Documents that were not taken because too many are open."""

    def __len__(self) -> int:
        return len(self._keys)

    def key_of(self, document: Document) -> str | None:
        """The key under which ``document`` was opened, None when it is not open."""
        return self._keys.get(document)

    def get(self, key: str) -> Buffer | None:
        """The buffer shown for ``key``, None when no editor has it open."""
        documents = self._buffers.get(key)
        return next(reversed(documents.values())) if documents else None

    def views(self) -> dict[str, View]:
        """The view of every open file, by key."""
        return {key: next(reversed(documents.values())).view(key) for key, documents in self._buffers.items()}

    def open(
        self, document: Document, key: str, version: int, text: str, disk: bytes | None, disk_hash: str | None
    ) -> bool:
        """A document was opened, or opened again. ``disk`` are the file's bytes where they are at hand.

        False when too many documents are open.
        """
        self.close(document)
        if len(self._keys) >= MAX_DOCUMENTS:
            self.refused += 1
            return False
        form = form_of(text, disk) if disk is not None else TextForm()
        self._keys[document] = key
        self._put(document, self._buffer(version, text, form, disk_hash))
        return True

    def change(self, document: Document, version: int, text: str) -> bool:
        """The whole text after a change. False for a stale version or a document that is not open."""
        known = self._known(document)
        if known is None or version <= known.version:
            self.stale_changes += 1
            return False
        changed = self._buffer(version, text, known.form, known.on_disk)
        self._put(document, changed._replace(desynced=known.desynced))
        return True

    def save(self, document: Document, text: str | None = None) -> bool:
        """The buffer was written to the disk; ``text`` is what the editor says that it wrote.

        True when this shows the first desync of the document: to be told to the person, once.
        """
        known = self._known(document)
        if known is None:
            return False
        if text is None:
            saved = known._replace(generation=self._generation.next())
        else:
            saved = self._buffer(known.version, text, known.form, None)
        desync = saved.hash != known.hash
        self.desyncs += desync
        self._put(document, saved._replace(on_disk=saved.hash, desynced=known.desynced or desync))
        return desync and not known.desynced

    def close(self, document: Document) -> bool:
        """The document was closed: another buffer of the file, or the disk, counts. False when it was not open."""
        key = self._keys.pop(document, None)
        if key is None:
            return False
        documents = self._buffers[key]
        self._text_bytes -= documents.pop(document).text_bytes
        if not documents:
            del self._buffers[key]
        self._generation.next()
        return True

    def drop_editor(self, editor: str) -> tuple[str, ...]:
        """Close everything that ``editor`` had open (its connection is gone). Returns the keys."""
        gone = [(document, key) for document, key in self._keys.items() if document.editor == editor]
        for document, _ in gone:
            self.close(document)
        return tuple(key for _, key in gone)

    def _known(self, document: Document) -> Buffer | None:
        key = self._keys.get(document)
        return None if key is None else self._buffers[key][document]

    def _buffer(self, version: int, text: str, form: TextForm, on_disk: str | None) -> Buffer:
        data = form.encode(text)
        digest = xxhash.xxh3_128_hexdigest(data)
        return Buffer(version, text, digest, len(data), form, on_disk, self._clock(), self._generation.next())

    def _put(self, document: Document, buffer: Buffer) -> None:
        documents = self._buffers.setdefault(self._keys[document], {})
        replaced = documents.pop(document, None)
        self._text_bytes -= replaced.text_bytes if replaced else 0
        if self._text_bytes + buffer.text_bytes > TEXT_BYTES:
            buffer = buffer._replace(text=None)
        documents[document] = buffer
        self._text_bytes += buffer.text_bytes
