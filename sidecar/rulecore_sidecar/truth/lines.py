"""Line digests: which lines of a file changed, without keeping its text.

A line is what LF, CRLF or CR ends (not ``\\f``, U+2028 and the like); its digest is the xxh32 of its bytes without the
ending, 4 bytes. Limits: a change of line endings alone, or of the last line's ending, changes no digest; two different
lines share a digest once in 4 × 10⁹. Source: spec sidecar.md §2, agents.md §2.3.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from xxhash import xxh32_digest

MAX_LINES = 20_000
MAX_BYTES = 4 * 1024 * 1024
SNIFFED_BYTES = 8_000
"""A NUL among the first of these makes a file binary, as git has it."""
MEMO_FILES = 1_024
MEMO_BYTES = 8 * 1024 * 1024
DIGEST_BYTES = 4

Ranges = tuple[tuple[int, int], ...]


def digest_lines(data: bytes) -> bytes | None:
    """The digests of all lines, joined; None when ``data`` is binary or above MAX_BYTES or MAX_LINES."""
    if len(data) > MAX_BYTES or b"\0" in data[:SNIFFED_BYTES]:
        return None
    lines = data.splitlines()
    return b"".join(map(xxh32_digest, lines)) if len(lines) <= MAX_LINES else None


class DigestMemo:
    """Line digests by content hash, the least recently used of which go first."""

    def __init__(self) -> None:
        self._digests: OrderedDict[str, bytes | None] = OrderedDict()
        self._bytes = 0

    def __contains__(self, content: str) -> bool:
        return content in self._digests

    def get(self, content: str) -> bytes | None:
        """The digests put for ``content``; KeyError when there are none."""
        self._digests.move_to_end(content)
        return self._digests[content]

    def put(self, content: str, digests: bytes | None) -> None:
        """Remember ``digests``; None too, which says that the content has none."""
        self._bytes += len(digests or b"") - len(self._digests.pop(content, None) or b"")
        self._digests[content] = digests
        while len(self._digests) > MEMO_FILES or self._bytes > MEMO_BYTES:
            self._bytes -= len(self._digests.popitem(last=False)[1] or b"")


def changed_ranges(old: bytes, new: bytes) -> Ranges:
    """Where ``new`` differs from ``old`` (both line digests): sorted, disjoint, 1-based inclusive ranges of ``new``.

    Lines outside the ranges stand in ``old`` too, in the same order. Deleted lines show as the line that now stands in
    their place, the last one at the end of the file (line 1 of an empty file). Lines that both sides have anchor the
    comparison; between anchors one range covers everything from the first to the last difference.
    O(n log n): some 20 ms for MAX_LINES.
    """
    before, after = _split(old), _split(new)
    found: list[tuple[int, int]] = []
    for gap in _gaps(before, after, _trimmed(before, after, _Gap(0, len(before), 0, len(after)))):
        gone_start, gone_end, start, end = _trimmed(before, after, gap)
        if start < end:
            found.append((start + 1, end))
        elif gone_start < gone_end:
            seam = max(1, min(start + 1, len(after)))
            found.append((seam, seam))
    return _merged(found)


class _Gap(NamedTuple):
    """Lines of both sides that face each other, 0-based, ends exclusive."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def _split(digests: bytes) -> list[bytes]:
    return [digests[i : i + DIGEST_BYTES] for i in range(0, len(digests), DIGEST_BYTES)]


def _trimmed(before: list[bytes], after: list[bytes], gap: _Gap) -> _Gap:
    """``gap`` without the lines that are equal at its two ends."""
    old_start, old_end, new_start, new_end = gap
    while old_start < old_end and new_start < new_end and before[old_start] == after[new_start]:
        old_start, new_start = old_start + 1, new_start + 1
    while old_start < old_end and new_start < new_end and before[old_end - 1] == after[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return _Gap(old_start, old_end, new_start, new_end)


def _gaps(before: list[bytes], after: list[bytes], within: _Gap) -> Iterator[_Gap]:
    """``within``, cut at its anchors: the longest rising chain of old lines that stand, at their last place, in new."""
    place = {line: i for i, line in enumerate(after[within.new_start : within.new_end], within.new_start)}
    old = enumerate(before[within.old_start : within.old_end], within.old_start)
    pairs = [(i, place[line]) for i, line in old if line in place]
    old_at, new_at = within.old_start, within.new_start
    for old_anchor, new_anchor in [*_rising(pairs), (within.old_end, within.new_end)]:
        yield _Gap(old_at, old_anchor, new_at, new_anchor)
        old_at, new_at = old_anchor, new_anchor


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of ``pairs`` (first members rise) whose second members rise too."""
    tails: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(tails, place)
        tails[length : length + 1] = [place]
        last[length : length + 1] = [index]
        previous.append(last[length - 1] if length else -1)
    chain: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _merged(ranges: list[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
