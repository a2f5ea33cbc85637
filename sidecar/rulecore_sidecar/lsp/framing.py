"""Content-Length framing without I/O: bytes in, bodies out.

Guarantees: any split of the same bytes gives the same frames; bytes that are no header are reported once and
reading goes on at the next header; a body above the limit is thrown away as it arrives.
Limit: a body whose length was given too high swallows the start of the message after it.

Source: spec sidecar.md section 3; LSP 3.17, base protocol.
"""

import re
from typing import Final, NamedTuple, TypeAlias

BODY_LIMIT: Final = 64 << 20
"""Bytes of the largest body that is read."""
HEADER_LIMIT: Final = 16 << 10
"""Bytes of the longest header that is waited for."""
PEEK: Final = 1024
"""Bytes that are kept of a body above the limit, so that its id can be found."""

_BLANKS = re.compile(rb"[ \t\r\n]*")
_END_OF_HEADER = re.compile(rb"\n[ \t]*\r?\n")
_FIELDS = re.compile(rb"(?:[a-z][a-z0-9-]{0,40}[ \t]*:[^\r\n]*\r?\n)*", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,15})[ \t]*\r?\n", re.IGNORECASE)


class Body(NamedTuple):
    """The body of one message."""

    data: bytes


class BadHeader(NamedTuple):
    """Bytes were skipped because they are no header."""

    reason: str


class TooLarge(NamedTuple):
    """A body above the limit was skipped: its first :data:`PEEK` bytes and its size in bytes."""

    head: bytes
    size: int


Frame: TypeAlias = Body | BadHeader | TooLarge


class Framer:
    """Cuts a stream of bytes into frames; ``limit`` is the most bytes of a body."""

    def __init__(self, limit: int = BODY_LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._frames: list[Frame] = []
        self._length: int | None = None
        self._missing = 0
        self._head = b""
        self._lost = False

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes; every frame that they complete."""
        self._buffer += data
        while self._step():
            pass
        frames, self._frames = self._frames, []
        return frames

    def _step(self) -> bool:
        if self._length is None:
            return self._header()
        return self._body(self._length) if self._length <= self._limit else self._discard(self._length)

    def _header(self) -> bool:
        del self._buffer[: _match_end(_BLANKS, self._buffer)]
        end = _END_OF_HEADER.search(self._buffer, 0, HEADER_LIMIT)
        if end is None:
            if len(self._buffer) <= HEADER_LIMIT:
                return False
            self._lose(f"no header ends within {HEADER_LIMIT} bytes")
            del self._buffer[: HEADER_LIMIT // 2]
            return True
        block = bytes(self._buffer[: end.start() + 1])
        del self._buffer[: end.end()]
        lengths = _LENGTH.findall(block)
        if not lengths:
            self._lose("a header without a usable Content-Length")
            return True
        if _match_end(_FIELDS, block) < len(block):
            self._lose("bytes before Content-Length that are no header")
        self._lost = False
        self._length = self._missing = int(lengths[-1])
        return True

    def _lose(self, reason: str) -> None:
        """Report the first of a run of bad headers."""
        if not self._lost:
            self._frames.append(BadHeader(reason))
        self._lost = True

    def _body(self, length: int) -> bool:
        if len(self._buffer) < length:
            return False
        self._frames.append(Body(bytes(self._buffer[:length])))
        del self._buffer[:length]
        self._length = None
        return True

    def _discard(self, length: int) -> bool:
        if len(self._head) < PEEK:
            self._head += bytes(self._buffer[: min(PEEK - len(self._head), self._missing)])
        skipped = min(self._missing, len(self._buffer))
        del self._buffer[:skipped]
        self._missing -= skipped
        if self._missing:
            return False
        self._frames.append(TooLarge(self._head, length))
        self._length, self._head = None, b""
        return True


def _match_end(pattern: re.Pattern[bytes], data: bytes | bytearray) -> int:
    found = pattern.match(data)
    return found.end() if found else 0
