"""Content-Length framing: any split, any garbage, any size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulecore_sidecar.lsp.framing import HEADER_LIMIT, PEEK, BadHeader, Body, Frame, Framer, TooLarge

from .client import frame

BODY = b'{"a":1}'


def frames(data: bytes, limit: int = 100, sizes: tuple[int, ...] = ()) -> list[Frame]:
    """Feed ``data`` in chunks of these sizes, and the rest at once."""
    framer, found = Framer(limit), []
    for size in sizes:
        found += framer.feed(data[:size])
        data = data[size:]
    return found + framer.feed(data)


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 7\r\n\r\n",
        b"content-length:7\r\n\r\n",
        b"CONTENT-LENGTH :  7 \t\r\n\r\n",
        b"Content-Length: 7\n\n",
        b"Content-Length: 7\r\n \r\n",
        b"\r\n\r\nContent-Length: 7\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 7\r\n\r\n",
        b"Content-Length: 7\r\nX-Other: 1\r\n\r\n",
        b"Content-Length: 99\r\nContent-Length: 7\r\n\r\n",  # the last one counts
    ],
)
def test_tolerant_headers(header: bytes) -> None:
    assert frames(header + BODY) == [Body(BODY)]


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\r\n\r\n",
        b"Content-Length: seven\r\n\r\n",
        b"Content-Length: -7\r\n\r\n" + BODY,
        b"Content-Length: 9999999999999999999999\r\n\r\n",
        b"Content-Length 7\r\n\r\n" + BODY,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        BODY,
        b"\x00\xff\xfe\n\n",
        b"x" * (3 * HEADER_LIMIT),
        b"a: b\n" * HEADER_LIMIT,
    ],
)
def test_garbage_is_reported_once_and_the_next_message_is_read(garbage: bytes) -> None:
    bad, *rest = frames(garbage + frame(BODY) + frame(b"{}"))
    assert isinstance(bad, BadHeader)
    assert rest == [Body(BODY), Body(b"{}")]


def test_a_broken_header_is_reported_before_more_comes() -> None:
    framer = Framer()
    assert isinstance(framer.feed(b"Content-Length: x\r\n\r\n")[0], BadHeader)
    assert framer.feed(BODY) == []
    assert framer.feed(b"\r\n\r\nstill lost\r\n\r\n") == []
    assert framer.feed(frame(BODY)) == [Body(BODY)]
    assert isinstance(framer.feed(b"again\r\n\r\n")[0], BadHeader)


def test_garbage_without_an_end_takes_no_memory() -> None:
    framer = Framer()
    for _ in range(100):
        framer.feed(b"x" * HEADER_LIMIT)
    assert len(framer._buffer) <= HEADER_LIMIT


def test_a_length_too_low_leaves_a_rest_that_is_skipped() -> None:
    data = b"Content-Length: 3\r\n\r\n" + BODY + frame(b"{}")
    first, bad, last = frames(data)
    assert (first, last) == (Body(BODY[:3]), Body(b"{}"))
    assert isinstance(bad, BadHeader)


@pytest.mark.parametrize("size", [101, 2 * PEEK])
def test_a_body_over_the_limit_is_skipped(size: int) -> None:
    big = bytes(range(256)) * size
    found = frames(frame(big[:size]) + frame(BODY), limit=100)
    assert found == [TooLarge(big[: min(size, PEEK)], size), Body(BODY)]


def test_a_body_over_the_limit_is_not_kept() -> None:
    framer = Framer(limit=100)
    framer.feed(b"Content-Length: 1000000\r\n\r\n")
    for _ in range(99):
        assert framer.feed(b"x" * 10_000) == []
        assert len(framer._buffer) == 0
    assert framer.feed(b"x" * 10_000) == [TooLarge(b"x" * PEEK, 1_000_000)]


def test_an_empty_body_is_a_body() -> None:
    assert frames(frame(b"") + frame(BODY)) == [Body(b""), Body(BODY)]


PIECES = st.sampled_from(
    [
        frame(BODY),
        frame(b"x" * 200),
        frame(b""),
        b"junk\r\n\r\n",
        b"\r\n",
        b"Content-Length: x\n\n",
        b"\n",
        b"\r",
        b"{}",
        b"x" * HEADER_LIMIT,
    ]
)


@given(
    st.lists(PIECES, max_size=8).map(b"".join),
    st.lists(st.integers(1, 60) | st.integers(1, 20_000), max_size=40).map(tuple),
)
def test_any_split_gives_the_same_frames(data: bytes, sizes: tuple[int, ...]) -> None:
    assert frames(data, sizes=sizes) == frames(data)


@given(st.binary(max_size=200))
def test_no_bytes_stop_the_reading(noise: bytes) -> None:
    # A tail of blanks and line ends keeps the noise from running into the header that follows.
    found = frames(noise + b"\n\n" + frame(BODY), limit=50)
    assert found[-1] == Body(BODY) or b"ontent-" in noise.lower()
