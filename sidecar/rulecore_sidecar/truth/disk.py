"""DiskLayer: what lies on the disk, with hashes that are only of bytes from one stable read.

A look-up is one ``lstat``. An equal signature whose entry is not racy is a hit. Everything else is read between two
``fstat``, up to three times; what will not hold still is `unstable`.

Guarantees: a hash is of bytes that one read gave while the file's signature did not move, and a file changed within
the racy window gave the same bytes twice (one write call moves mtime once, while its bytes still move). A hit means
that ``lstat`` equals the signature now. Racy counts from the moment of the read and from mtime and ctime alike, so
neither coarse nor forged mtimes hide a change.
Limits: a file that is half written is hashed as it stands, and read again at each look-up until it rests. Stores
through ``mmap``, and a single write call that lasts longer than the window, show only when the kernel moves mtime. A
file system whose clock lags ours by more than the window can hide a change of equal size within one tick of its
timestamps. On Windows, where mode differs between ``lstat`` and ``fstat`` for programs, those are read every time.
Source: spec sidecar.md §2.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

import xxhash

from rulecore_sidecar.truth.paths import Place
from rulecore_sidecar.truth.values import Entry, Generation, Kind, Signature, signature_fields

RACY_WINDOW_NS = 2_000_000_000
READ_ATTEMPTS = 3
EAGER_BYTES = 8 * 1024 * 1024
"""Larger files are hashed only when the caller needs the hash."""
HASHED_BYTES = 1024 * 1024 * 1024
"""Larger files are never hashed."""
MAX_ENTRIES = 100_000
_CHUNK_BYTES = 1024 * 1024
_OPEN_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"):
    _OPEN_FLAGS |= getattr(os, _name, 0)

_CACHED = frozenset({Kind.FILE, Kind.SYMLINK, Kind.SPECIAL, Kind.UNREADABLE})
"""Kinds that are kept. The others are told afresh each time, and drop what was kept."""
_Read = tuple[Entry, bytes | None]


class DiskLayer:
    """Cache of one workspace's files, by key. For one thread."""

    def __init__(self, generation: Generation, clock: Callable[[], int] = time.time_ns) -> None:
        """``clock`` gives the wall time in nanoseconds."""
        self._generation = generation
        self._clock = clock
        self._entries: dict[str, Entry] = {}
        self._dirty: set[str] = set()

    @property
    def entries(self) -> Mapping[str, Entry]:
        """What is cached, read-only."""
        return MappingProxyType(self._entries)

    def mark(self, key: str) -> None:
        """Read ``key`` again at its next look-up, whatever ``lstat`` says. Reads nothing now."""
        if key in self._entries:
            self._dirty.add(key)

    def forget(self, key: str) -> None:
        """Drop what is cached for ``key``."""
        self._dirty.discard(key)
        if self._entries.pop(key, None) is not None:
            self._generation.next()

    def look_up(self, place: Place, need_hash: bool = False) -> Entry:
        """What stands at ``place`` now. ``need_hash`` also hashes files above EAGER_BYTES. Never raises."""
        entry = self._entries.get(place.key)
        if entry is not None and self._still_true(entry, place, need_hash):
            return entry
        return self._read(place, need_hash)[0]

    def read(self, place: Place) -> _Read:
        """Like :meth:`look_up`, with the bytes of a regular file of up to EAGER_BYTES, from the read that is hashed."""
        return self._read(place, need_hash=True)

    def _still_true(self, entry: Entry, place: Place, need_hash: bool) -> bool:
        if entry.racy or place.key in self._dirty or (need_hash and _lacks_hash(entry)):
            return False
        try:
            return entry.signature == signature_fields(os.lstat(place.path))
        except (OSError, ValueError):
            return False

    def _read(self, place: Place, need_hash: bool) -> _Read:
        if not place.inside:
            return Entry(Kind.OUTSIDE, generation=self._generation.value), None
        known = self._entries.get(place.key)
        for _ in range(READ_ATTEMPTS):
            found = self._observe(place.path, known, need_hash)
            if found is not None:
                return self._accept(place.key, found[0]), found[1]
        return self._accept(place.key, Entry(Kind.UNSTABLE)), None

    def _observe(self, path: str, known: Entry | None, need_hash: bool) -> _Read | None:
        """One look at the disk; None when the path changed under it."""
        try:
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                return self._observe_file(path, status, known, need_hash)
            if stat.S_ISLNK(status.st_mode):
                return self._observe_link(path, status)
        except (FileNotFoundError, NotADirectoryError):
            return Entry(Kind.ABSENT), None
        except ValueError:
            return Entry(Kind.OUTSIDE), None
        except OSError as error:
            # ELOOP: a symlink took the file's place after the lstat.
            return None if error.errno == errno.ELOOP else (Entry(Kind.UNREADABLE, racy=True), None)
        if stat.S_ISDIR(status.st_mode):
            return Entry(Kind.DIR), None
        return Entry(Kind.SPECIAL, Signature._make(signature_fields(status))), None

    def _observe_file(self, path: str, status: os.stat_result, known: Entry | None, need_hash: bool) -> _Read | None:
        size = status.st_size
        signature = Signature._make(signature_fields(status))
        hashed_before = known is not None and known.hash is not None and known.signature == signature
        if size > (HASHED_BYTES if need_hash or hashed_before else EAGER_BYTES):
            return Entry(Kind.FILE, signature, None, size, self._is_racy(status)), None
        descriptor = os.open(path, _OPEN_FLAGS)
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                return None
            racy = self._is_racy(before)
            content = _digest(descriptor, before.st_size)
            # Within one tick of the clock a signature can stand still while bytes move; two equal reads do not lie.
            if content is None or (racy and _digest(descriptor, before.st_size) != content):
                return None
            signature = Signature._make(signature_fields(before))
            if signature != signature_fields(os.fstat(descriptor)):
                return None
        finally:
            os.close(descriptor)
        return Entry(Kind.FILE, signature, content[0], before.st_size, racy), content[1]

    def _observe_link(self, path: str, status: os.stat_result) -> _Read | None:
        target = os.fsencode(os.readlink(path))  # noqa: PTH115
        signature = Signature._make(signature_fields(status))
        if signature != signature_fields(os.lstat(path)):
            return None
        digest = xxhash.xxh3_128_hexdigest(target)
        return Entry(Kind.SYMLINK, signature, digest, len(target), self._is_racy(status)), None

    def _is_racy(self, status: os.stat_result) -> bool:
        return self._clock() - max(status.st_mtime_ns, status.st_ctime_ns) < RACY_WINDOW_NS

    def _accept(self, key: str, found: Entry) -> Entry:
        """Put what was found in the cache; a difference that a reader could see is a new generation."""
        self._dirty.discard(key)
        known = self._entries.get(key)
        if found.kind not in _CACHED:
            self.forget(key)
            return found._replace(generation=self._generation.value)
        same = known is not None and known.same_content(found)
        entry = found._replace(generation=known.generation if known and same else self._generation.next())
        self._entries[key] = entry
        if len(self._entries) > MAX_ENTRIES:
            self.forget(next(iter(self._entries)))
        return entry


def _lacks_hash(entry: Entry) -> bool:
    return entry.kind is Kind.FILE and entry.hash is None and entry.size <= HASHED_BYTES


def _digest(descriptor: int, size: int) -> tuple[str, bytes | None] | None:
    """xxh3_128 of the file and, up to EAGER_BYTES, its bytes; None when it is not ``size`` bytes long."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    if size <= EAGER_BYTES:
        data = os.read(descriptor, size + 1)
        while len(data) <= size and (more := os.read(descriptor, size + 1 - len(data))):
            data += more
        return (xxhash.xxh3_128_hexdigest(data), data) if len(data) == size else None
    hasher = xxhash.xxh3_128()
    total = 0
    while total <= size and (chunk := os.read(descriptor, _CHUNK_BYTES)):
        hasher.update(chunk)
        total += len(chunk)
    return (hasher.hexdigest(), None) if total == size else None
