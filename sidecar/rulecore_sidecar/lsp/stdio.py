"""The process's standard streams as the editor's connection.

Guarantees: after :func:`take_stdio` nothing but the language server writes to the editor, ``print`` and child
processes go to stderr, and a child never reads the editor's input. Neither an editor that does not read nor one
that does not write holds up the loop. No thread has to end before the process can.
Limit: what the editor leaves unread is kept up to :data:`MAX_UNREAD` bytes; above that it counts as gone.

POSIX polls pipes and sockets on the loop. Elsewhere, and for files, two threads do the reading and the writing.
Source: spec sidecar.md section 3.
"""

import asyncio
import contextlib
import os
import queue
import stat
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Final, NamedTuple, Protocol, cast

from .pump import Read

MAX_UNREAD: Final = 64 << 20
"""Bytes that wait for the editor before it counts as gone."""
CHUNK: Final = 256 << 10
"""Bytes of one read."""
_QUEUED_READS: Final = 16


class Output(Protocol):
    """Where messages to the editor go."""

    def write(self, data: bytes) -> None:
        """Send, without waiting. Does nothing when the editor is gone."""

    async def close(self) -> None:
        """Return when everything is sent; the caller sets the limit of time."""


class Streams(NamedTuple):
    """Both directions of a connection."""

    read: Read
    output: Output


def take_stdio() -> tuple[int, int]:
    """The descriptors of the real stdin and stdout, which nothing else in the process can reach any more."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, target


async def open_streams(source: int, target: int, lost: Callable[[], None], threads: bool | None = None) -> Streams:
    """Connect two descriptors. ``lost`` is called on the loop when nothing can be written any more.

    ``threads`` says whether to use threads; None: only where the loop cannot poll the descriptors.
    """
    if threads is None:
        threads = os.name != "posix" or not _can_poll(source, target)
    if threads:
        return Streams(_read_in_thread(source), _ThreadOutput(target, lost))
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(CHUNK)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", 0))
    output = _PipeOutput(lost)
    await loop.connect_write_pipe(lambda: output, os.fdopen(target, "wb", 0))
    return Streams(lambda: reader.read(CHUNK), output)


def _can_poll(source: int, target: int) -> bool:
    """False for files, and for one socket in both directions: the loop takes its input for a hang-up."""
    kinds = (stat.S_ISFIFO, stat.S_ISSOCK, stat.S_ISCHR)
    modes = os.fstat(source).st_mode, os.fstat(target).st_mode
    one_socket = stat.S_ISSOCK(modes[1]) and os.path.sameopenfile(source, target)
    return not one_socket and all(any(kind(mode) for kind in kinds) for mode in modes)


class _PipeOutput(asyncio.BaseProtocol):
    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost
        self._transport: asyncio.WriteTransport | None = None
        self._closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._closed.set()
        self._lost()

    def write(self, data: bytes) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.write(data)
        if transport.get_write_buffer_size() > MAX_UNREAD:
            transport.abort()

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            await self._closed.wait()


def _read_in_thread(source: int) -> Read:
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue(_QUEUED_READS)

    def run() -> None:
        data = b"-"
        while data:
            try:
                data = os.read(source, CHUNK)
            except OSError:
                data = b""
            try:  # waiting for the place in the queue is what keeps a fast editor from filling the memory
                asyncio.run_coroutine_threadsafe(chunks.put(data), loop).result()
            except CancelledError:  # the loop has ended
                return

    threading.Thread(target=run, name="lsp-read", daemon=True).start()
    return chunks.get


class _ThreadOutput:
    def __init__(self, target: int, lost: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._lost = lost
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unread = 0
        self._closed = asyncio.Event()
        threading.Thread(target=self._run, args=(target,), name="lsp-write", daemon=True).start()

    def write(self, data: bytes) -> None:
        if self._closed.is_set():
            return
        self._unread += len(data)
        if self._unread > MAX_UNREAD:
            self._end()
        else:
            self._queue.put(data)

    async def close(self) -> None:
        self._queue.put(None)
        await self._closed.wait()

    def _run(self, target: int) -> None:
        with contextlib.suppress(OSError):
            while (data := self._queue.get()) is not None:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(target, rest) :]
                self._loop.call_soon_threadsafe(self._sent, len(data))
        self._loop.call_soon_threadsafe(self._end)

    def _sent(self, size: int) -> None:
        self._unread -= size

    def _end(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._lost()
