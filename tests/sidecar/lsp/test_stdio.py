"""The streams by themselves: no side holds up the other."""

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine

import pytest

from rulecore_sidecar.lsp import stdio
from rulecore_sidecar.lsp.stdio import Streams, open_streams

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")

Test = Callable[[Streams, int, int, asyncio.Event], Coroutine[object, object, None]]


@pytest.fixture(params=[False, True], ids=["polled", "threads"])
def threads(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def run(test: Test, threads: bool | None) -> None:
    async def inside() -> None:
        (source, near), (far, target) = os.pipe(), os.pipe()
        lost = asyncio.Event()
        os.set_blocking(far, False)
        streams = await open_streams(source, target, lost.set, threads)
        await asyncio.wait_for(test(streams, near, far, lost), 20)
        for descriptor in (near, far):
            try:
                os.close(descriptor)
            except OSError:
                continue
        await asyncio.sleep(0.01)

    asyncio.run(inside())


async def soon(read: Callable[[], bytes]) -> bytes:
    """What a reader that does not block gets, as soon as there is something."""
    while True:
        try:
            return read()
        except BlockingIOError:
            await asyncio.sleep(0.001)


def test_reading_until_the_end(threads: bool) -> None:
    async def test(streams: Streams, near: int, far: int, lost: asyncio.Event) -> None:
        os.write(near, b"one")
        assert await streams.read() == b"one"
        os.write(near, b"two")
        os.close(near)
        assert await streams.read() == b"two"
        assert await streams.read() == b""

    run(test, threads)


def test_an_editor_that_does_not_read_does_not_hold_us_up(threads: bool) -> None:
    size = 1 << 20

    async def test(streams: Streams, near: int, far: int, lost: asyncio.Event) -> None:
        for n in range(4):
            streams.output.write(bytes([n]) * size)
        got = b""
        while len(got) < 4 * size:
            got += await soon(lambda: os.read(far, size))
        assert got == b"".join(bytes([n]) * size for n in range(4))
        await streams.output.close()

    run(test, threads)


def test_an_editor_that_never_reads_counts_as_gone(threads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_UNREAD", 1 << 20)

    async def test(streams: Streams, near: int, far: int, lost: asyncio.Event) -> None:
        while not lost.is_set():
            streams.output.write(b"x" * (1 << 18))
            await asyncio.sleep(0)
        streams.output.write(b"nobody gets this")

    run(test, threads)


def test_an_editor_that_hangs_up_is_noticed(threads: bool) -> None:
    async def test(streams: Streams, near: int, far: int, lost: asyncio.Event) -> None:
        os.close(far)
        streams.output.write(b"x")
        await lost.wait()
        streams.output.write(b"x")
        await streams.output.close()

    run(test, threads)


def test_an_editor_that_writes_too_fast_is_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """In threads the queue is bounded, so that memory is."""
    monkeypatch.setattr(stdio, "CHUNK", 4096)

    async def test(streams: Streams, near: int, far: int, lost: asyncio.Event) -> None:
        os.set_blocking(near, False)
        written = refused = 0
        while refused < 20:
            try:
                written += os.write(near, b"x" * 4096)
                refused = 0
            except BlockingIOError:
                refused += 1
                await asyncio.sleep(0.005)
            assert written < 4 << 20, "everything that is written is taken"
        got = b""
        while len(got) < written:
            got += await streams.read()

    run(test, threads=True)


def test_one_socket_for_both_directions() -> None:
    async def test() -> None:
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        lost = asyncio.Event()
        streams = await open_streams(os.dup(ours.fileno()), os.dup(ours.fileno()), lost.set)
        for text in (b"one", b"two"):
            theirs.send(text)
            assert await streams.read() == text
            streams.output.write(text.upper())
            assert await soon(lambda: theirs.recv(100)) == text.upper()
        assert not lost.is_set()
        ours.close()
        theirs.close()
        assert await streams.read() == b""

    asyncio.run(asyncio.wait_for(test(), 20))
