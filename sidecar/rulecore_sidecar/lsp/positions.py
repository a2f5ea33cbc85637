"""Places in a text: the client's units, indices into a ``str`` and bytes of UTF-8.

A place inside a character (half of a surrogate pair, a byte in the middle) is the place before it; a place behind
the end is the end. Source: spec sidecar.md section 3; LSP 3.17, position encodings.
"""

import codecs
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Final

from lsprotocol.types import Position, PositionEncodingKind, Range

_CODECS: Final[Mapping[str, tuple[str, int]]] = MappingProxyType(
    {PositionEncodingKind.Utf8: ("utf-8", 1), PositionEncodingKind.Utf16: ("utf-16-le", 2)}
)
"""Codec and bytes a unit; in UTF-32 a unit is a character of a ``str``."""


def to_bytes(text: str) -> bytes:
    """UTF-8 for any text that JSON can carry, half surrogate pairs included."""
    return text.encode("utf-8", "surrogatepass")


def index_at(line: str, units: int, encoding: str) -> int:
    """How many characters of ``line`` stand before the place ``units`` units from its start."""
    if encoding not in _CODECS or line.isascii():
        return min(units, len(line))
    codec, width = _CODECS[encoding]
    head = line.encode(codec, "surrogatepass")[: units * width]
    return len(codecs.getincrementaldecoder(codec)("surrogatepass").decode(head))


def units_before(line: str, index: int, encoding: str) -> int:
    """How many units the first ``index`` characters of ``line`` take."""
    head = line[:index]
    if encoding not in _CODECS or head.isascii():
        return len(head)
    codec, width = _CODECS[encoding]
    return len(head.encode(codec, "surrogatepass")) // width


class ByteIndex:
    """Byte offsets of :func:`to_bytes` of a whole text as the client's positions.

    ``lines`` are the text's lines with their ends; ``encoding`` is the client's.
    """

    def __init__(self, lines: Sequence[str], encoding: str) -> None:
        self._lines = lines
        self._encoding = encoding
        self._starts = list(accumulate((len(to_bytes(line)) for line in lines), initial=0))

    def position(self, offset: int) -> Position:
        """The position of one offset."""
        row = min(bisect_right(self._starts, offset), len(self._lines)) - 1
        line = self._lines[row]
        index = index_at(line, offset - self._starts[row], PositionEncodingKind.Utf8)
        return Position(row, units_before(line, index, self._encoding))

    def range(self, start: int, end: int) -> Range:
        """The range between two offsets."""
        return Range(self.position(start), self.position(end))
