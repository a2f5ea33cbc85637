"""The message pump: bytes from the editor to checked JSON-RPC messages, one after the other, in their order.

Guarantees: every request gets exactly one answer, whatever is wrong with it, as long as its id can be read; no
bytes end the process. Only the top object of a body is a message; objects inside it stay as they are. Bodies are
never logged.
Limit: a request that no JSON parser accepts is answered with its id only when id and method stand first.

Source: spec sidecar.md section 3; JSON-RPC 2.0.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

from rulecore_kernel.values import Json
from rulecore_sidecar.rpc import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

from .framing import BODY_LIMIT, BadHeader, Frame, Framer, TooLarge

log = logging.getLogger("rulecore.lsp")

MessageId: TypeAlias = int | str
Read: TypeAlias = Callable[[], Awaitable[bytes]]
"""The next bytes, as many as there are; empty at the end of the stream."""

_VERSION: Final = "2.0"
_EARLY_ID = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"method"\s*:\s*"[^"\\]*"\s*,\s*)?'
    rb'"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,200}")\s*,(?!\s*"(?:result|error)")'
)


class Peer(Protocol):
    """Who the messages are for. Neither method raises."""

    def receive(self, message: dict[str, Json]) -> None:
        """A request (``id`` and ``method``), a notification (``method``) or an answer (``id``), with ``params``."""

    def reject(self, identity: MessageId | None, code: int, reason: str) -> None:
        """Answer a message that is none."""


async def pump(read: Read, peer: Peer, limit: int = BODY_LIMIT) -> None:
    """Hand every message to ``peer`` until the stream ends; others on the loop get their turn between two.

    ``limit`` is the most bytes of one body.
    """
    framer = Framer(limit)
    while data := await read():
        for frame in framer.feed(data):
            _deliver(frame, peer)
            await asyncio.sleep(0)


def _deliver(frame: Frame, peer: Peer) -> None:
    if isinstance(frame, BadHeader):
        log.warning("skipped input: %s", frame.reason)
        peer.reject(
            None, PARSE_ERROR, f"{frame.reason}; write 'Content-Length: <bytes>' and an empty line before a body"
        )
    elif isinstance(frame, TooLarge):
        peer.reject(early_id(frame.head), INVALID_REQUEST, f"a message of {frame.size} bytes is over the limit")
    else:
        _parse(frame.data, peer)


def _parse(body: bytes, peer: Peer) -> None:
    try:
        parsed = json.loads(body)
    except RecursionError:
        peer.reject(early_id(body), INVALID_REQUEST, "nested too deep")
    except ValueError as error:
        peer.reject(early_id(body), PARSE_ERROR, f"not JSON: {error}")
    else:
        _check(parsed, peer)


def _check(message: Json, peer: Peer) -> None:
    """Hand over what JSON-RPC calls a message and reject the rest."""
    if isinstance(message, list):
        ids = [
            _usable_id(part["id"]) for part in message if isinstance(part, dict) and "method" in part and "id" in part
        ]
        for identity in ids or [None]:
            peer.reject(identity, INVALID_REQUEST, "batches are not supported; send one message at a time")
        return
    if not isinstance(message, dict):
        peer.reject(None, INVALID_REQUEST, f"a message is an object, not {type(message).__name__}")
        return
    identity = _usable_id(message.get("id"))
    reason = _fault(message, identity)
    if reason is None:
        peer.receive(message)
    elif "id" in message or "method" not in message:
        peer.reject(identity, *reason)
    else:
        log.warning("ignored a notification: %s", reason[1])


def _fault(message: dict[str, Json], identity: MessageId | None) -> tuple[int, str] | None:
    if message.setdefault("jsonrpc", _VERSION) != _VERSION:
        return INVALID_REQUEST, 'jsonrpc must be "2.0"'
    if "id" in message and identity is None and "error" not in message:
        return INVALID_REQUEST, "id must be a string or an integer"
    if "method" not in message:
        answered = "id" in message and ("result" in message or "error" in message)
        return None if answered else (INVALID_REQUEST, "method is missing")
    if not isinstance(message["method"], str):
        return INVALID_REQUEST, "method must be a string"
    if not isinstance(message.setdefault("params", None), dict | list | None):
        return INVALID_PARAMS, "params must be an object"
    return None


def _usable_id(value: Json) -> MessageId | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def early_id(body: bytes) -> MessageId | None:
    """The id of a request that cannot be parsed, when it stands before anything that could be nested."""
    found = _EARLY_ID.match(body)
    if found is None:
        return None
    text = found[1].decode("utf-8", "replace")
    return text[1:-1] if text.startswith('"') else int(text)
