"""What is a message and what is not: every request gets an answer with its id."""

import asyncio
import json
from collections.abc import Iterable

import pytest

from rulecore_kernel.values import Json
from rulecore_sidecar.lsp.pump import MessageId, pump
from rulecore_sidecar.rpc import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

from .client import frame

DEEP = "[" * 100_000


class Recorder:
    """A peer that remembers."""

    def __init__(self) -> None:
        self.received: list[dict[str, Json]] = []
        self.rejected: list[tuple[MessageId | None, int]] = []

    def receive(self, message: dict[str, Json]) -> None:
        self.received.append(message)

    def reject(self, identity: MessageId | None, code: int, reason: str) -> None:
        assert reason
        self.rejected.append((identity, code))


def pumped(chunks: Iterable[bytes], limit: int = 1 << 20) -> Recorder:
    peer, waiting = Recorder(), [*chunks, b""]

    async def read() -> bytes:
        return waiting.pop(0)

    asyncio.run(pump(read, peer, limit))
    return peer


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{", (None, PARSE_ERROR)),
        ("", (None, PARSE_ERROR)),
        (b"\xff\xfe\xfd", (None, PARSE_ERROR)),
        ('{"jsonrpc":"2.0","id":7,"method":"m","params":{', (7, PARSE_ERROR)),
        ('{"method":"m","id":"a-7", "params":nope}', ("a-7", PARSE_ERROR)),
        ('{"jsonrpc":"2.0","id":7,"result":{', (None, PARSE_ERROR)),
        ('{"jsonrpc":"2.0","params":{"id":7,"x":', (None, PARSE_ERROR)),
        ('{"id":7,"method":"m","params":' + "9" * 5000 + "}", (7, PARSE_ERROR)),
        ('{"jsonrpc":"2.0","id":7,"method":"m","params":' + DEEP, (7, INVALID_REQUEST)),
        ("5", (None, INVALID_REQUEST)),
        ("null", (None, INVALID_REQUEST)),
        ('"text"', (None, INVALID_REQUEST)),
        ("[]", (None, INVALID_REQUEST)),
        ('[{"jsonrpc":"2.0","id":7,"method":"m"},5]', (7, INVALID_REQUEST)),
        ('{"jsonrpc":"1.0","id":7,"method":"m"}', (7, INVALID_REQUEST)),
        ('{"jsonrpc":"2.0","id":7}', (7, INVALID_REQUEST)),
        ('{"jsonrpc":"2.0","id":7,"method":5}', (7, INVALID_REQUEST)),
        ('{"jsonrpc":"2.0"}', (None, INVALID_REQUEST)),
        ('{"jsonrpc":"2.0","id":7.5,"method":"m"}', (None, INVALID_REQUEST)),
        ('{"jsonrpc":"2.0","id":true,"method":"m"}', (None, INVALID_REQUEST)),
        ('{"jsonrpc":"2.0","id":null,"method":"m"}', (None, INVALID_REQUEST)),
        ('{"jsonrpc":"2.0","id":{"a":1},"method":"m"}', (None, INVALID_REQUEST)),
        ('{"jsonrpc":"2.0","id":7,"method":"m","params":5}', (7, INVALID_PARAMS)),
        ('{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}', (7, INVALID_PARAMS)),
    ],
)
def test_what_is_no_message_is_rejected(body: bytes | str, expected: tuple[MessageId | None, int]) -> None:
    peer = pumped([frame(body)])
    assert (peer.rejected, peer.received) == ([expected], [])


def test_every_request_of_a_batch_is_answered() -> None:
    batch = [{"id": 1, "method": "m"}, {"method": "n"}, {"id": "b", "method": "m"}]
    assert pumped([frame(batch)]).rejected == [(1, INVALID_REQUEST), ("b", INVALID_REQUEST)]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": 1}},
        {"jsonrpc": "2.0", "id": "x", "method": "m", "params": [1]},
        {"jsonrpc": "2.0", "method": "m", "params": None},
        {"jsonrpc": "2.0", "id": 1, "result": None},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}},
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "m",
            "params": {"jsonrpc": "2.0", "id": 2, "method": "n", "x": [{"jsonrpc": 1}]},
        },
    ],
)
def test_messages_are_passed_on_as_they_are(message: dict[str, Json]) -> None:
    peer = pumped([frame(message)])
    assert (peer.rejected, peer.received) == ([], [message])


@pytest.mark.parametrize("message", [{"id": 1, "method": "m"}, {"id": 1, "method": "m", "jsonrpc": "2.0"}])
def test_missing_params_and_version_are_filled_in(message: dict[str, Json]) -> None:
    assert pumped([frame(message)]).received == [{"jsonrpc": "2.0", "id": 1, "method": "m", "params": None}]


def test_a_malformed_notification_is_ignored() -> None:
    peer = pumped([frame({"jsonrpc": "2.0", "method": "m", "params": 5})])
    assert (peer.rejected, peer.received) == ([], [])


def test_a_message_over_the_limit_is_answered_with_its_id() -> None:
    large = {"jsonrpc": "2.0", "id": 7, "method": "m", "params": {"text": "x" * 2000}}
    small = {"jsonrpc": "2.0", "id": 8, "method": "m", "params": None}
    peer = pumped([frame(large) + frame(small)], limit=1000)
    assert (peer.rejected, peer.received) == ([(7, INVALID_REQUEST)], [small])


def test_the_order_is_kept_over_chunks() -> None:
    data = b"".join(frame({"jsonrpc": "2.0", "method": "m", "params": {"n": n}}) for n in range(100))
    peer = pumped(data[i : i + 37] for i in range(0, len(data), 37))
    assert [message["params"] for message in peer.received] == [{"n": n} for n in range(100)]


def test_others_get_their_turn_between_two_messages() -> None:
    peer, turns = Recorder(), []
    data = b"".join(frame({"jsonrpc": "2.0", "method": "m", "params": {"n": n}}) for n in range(50))
    waiting = [data, b""]

    async def read() -> bytes:
        return waiting.pop(0)

    async def other() -> None:
        while True:
            turns.append(len(peer.received))
            await asyncio.sleep(0)

    async def both() -> None:
        task = asyncio.create_task(other())
        await pump(read, peer)
        task.cancel()

    asyncio.run(both())
    assert set(range(1, 50)) <= set(turns)


def test_bodies_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    secret = "correct horse battery"
    bodies = [{"method": secret}, {"method": "m", "params": secret}, {"id": 1, "method": 5, "params": secret}]
    with caplog.at_level(0):
        pumped([*(frame(body) for body in bodies), frame(json.dumps(secret)[:-1]), b"X: " + secret.encode() + b"\n\n"])
    assert secret not in caplog.text
