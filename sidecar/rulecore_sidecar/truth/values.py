"""What file truth says about a file. Immutable, picklable values without behaviour that touches a disk.

Source: spec sidecar.md §2.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple


class Kind(StrEnum):
    """What stands at a path. Only FILE (up to the size limits) and SYMLINK carry a hash."""

    FILE = "file"
    SYMLINK = "symlink"
    DIR = "dir"
    ABSENT = "absent"
    UNSTABLE = "unstable"
    """It kept changing while it was read. To be treated as changed."""
    SPECIAL = "special"
    """FIFO, socket or device: never opened."""
    UNREADABLE = "unreadable"
    OUTSIDE = "outside"
    """The path leaves the root, or cannot be shown to stay in it: never looked at, never cached."""


class Signature(NamedTuple):
    """The part of ``lstat`` that says "the same file, untouched"."""

    mtime_ns: int
    ctime_ns: int
    size: int
    ino: int
    dev: int
    mode: int


signature_fields = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino", "st_dev", "st_mode")
"""The fields of an ``os.stat_result`` as a plain tuple that compares equal to its :class:`Signature`."""


class Entry(NamedTuple):
    """What one look at the disk gave."""

    kind: Kind
    signature: Signature | None = None
    hash: str | None = None
    """xxh3_128 of the raw bytes (of the target string for a symlink), 32 hex digits."""
    size: int = 0
    racy: bool = False
    """Read less than the racy window after its last change: not to be trusted without reading again."""
    generation: int = 0

    def same_content(self, other: "Entry") -> bool:
        """True when nothing that a reader could see differs. Without hashes, signatures decide."""
        if (self.kind, self.size, self.hash) != (other.kind, other.size, other.hash):
            return False
        return self.hash is not None or self.kind is not Kind.FILE or self.signature == other.signature


class View(NamedTuple):
    """A file as it is now: the open editor buffer, else the disk."""

    key: str
    """Root-relative ``/`` form; the path as given when ``kind`` is OUTSIDE."""
    kind: Kind
    hash: str | None
    """None: absent, unstable, unreadable, outside, a directory, or too large to hash unasked."""
    size: int
    """Bytes."""
    mtime_ns: int
    """Last change: the disk's mtime, or when the editor's last message came. 0 when unknown."""
    generation: int
    """The generation at which this content was accepted."""
    open: bool = False
    """It is an editor's buffer."""
    saved: bool = True
    """False: an open buffer with text that is not on the disk."""
    version: int | None = None
    """The client's document version of an open buffer."""

    @classmethod
    def of_disk(cls, key: str, entry: Entry) -> "View":
        """The view of a file that no editor has open."""
        mtime_ns = entry.signature.mtime_ns if entry.signature else 0
        return cls(key, entry.kind, entry.hash, entry.size, mtime_ns, entry.generation)


class Generation:
    """Counts accepted changes. It only grows, and equal values mean equal truth."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def next(self) -> int:
        """Count one more change and return its number."""
        self.value += 1
        return self.value


class Snapshot(Mapping[str, View]):
    """All cached files and open buffers at one generation, by key. Safe to hand to other threads and processes."""

    __slots__ = ("_disk", "_open", "generation")

    def __init__(self, generation: int, disk: dict[str, Entry], buffers: dict[str, View]) -> None:
        self.generation = generation
        self._disk = disk
        self._open = buffers

    def __getitem__(self, key: str) -> View:
        buffer = self._open.get(key)
        return buffer if buffer is not None else View.of_disk(key, self._disk[key])

    def __iter__(self) -> Iterator[str]:
        yield from self._disk
        yield from self._open.keys() - self._disk.keys()

    def __len__(self) -> int:
        return len(self._disk.keys() | self._open.keys())
