"""JSON-RPC 2.0, one message a line, over a stream: framing, limits and errors. No method is known here.

Guarantees: every request line gets exactly one answer line; a bad line gets an error and the connection lives on; a
client that does not read its answers is not read from; lines above the limit are thrown away as they arrive.
Limit: messages are handled one after the other on the loop, so a handler must be quick. Source: spec sidecar.md §1.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import Final, cast

from rulecore_kernel.values import Json, JsonObject

LINE_LIMIT: Final = 1 << 20
"""Bytes of the longest line that is read, unless a client asks for more (``line_limit`` of ``rulecore/ping``)."""
MAX_LINE_LIMIT: Final = 64 << 20
MAX_CONNECTIONS: Final = 256
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603

log = logging.getLogger("rulecore.rpc")

Handler = Callable[[str, JsonObject], Json]
"""(method, params) → result. Raises :class:`RpcError` for what the caller did wrong."""


class RpcError(Exception):
    """An answer that is an error; ``code`` as in JSON-RPC 2.0."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def encode(message: Mapping[str, Json]) -> bytes:
    """One line."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def failure(identity: Json, code: int, message: str) -> bytes:
    """An error answer."""
    return encode({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}})


def answer(line: bytes, handler: Handler) -> bytes | None:
    """Handle one line; None for a notification. Never raises."""
    try:
        message = json.loads(line)
    except RecursionError:
        return failure(None, INVALID_REQUEST, "nested too deep")
    except ValueError as error:
        return failure(None, PARSE_ERROR, f"not JSON: {error}")
    if not isinstance(message, dict):
        return failure(
            None, INVALID_REQUEST, f"a request is an object, not {type(message).__name__}; batches are not supported"
        )
    identity = message.get("id")
    if not (identity is None or isinstance(identity, str | int | float)):
        return failure(None, INVALID_REQUEST, "id must be a string or a number")
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        return failure(identity, INVALID_REQUEST, "method is missing or not a string")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        return failure(identity, INVALID_PARAMS, f"{method}: params must be an object, not {type(params).__name__}")
    try:
        result = handler(method, params)
        reply = (
            _raw(result)
            if params.get("reply") == "raw"
            else encode({"jsonrpc": "2.0", "id": identity, "result": result})
        )
    except RpcError as error:
        reply = failure(identity, error.code, error.message)
    except RecursionError:
        reply = failure(identity, INVALID_PARAMS, f"{method}: params are nested too deep")
    except Exception:
        log.exception("%s failed", method)
        reply = failure(identity, INTERNAL_ERROR, f"{method}: internal error, see the sidecar's log")
    return reply if "id" in message else None


def _raw(result: Json) -> bytes:
    """For a relay that hands the line to an agent as it is: the result without its envelope."""
    return json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


class LineProtocol(asyncio.Protocol):
    """One connection. ``connections`` is shared by all of a listener and counts against :data:`MAX_CONNECTIONS`."""

    def __init__(
        self,
        handler: Handler,
        connections: set["LineProtocol"],
        admit: Callable[[asyncio.BaseTransport], bool],
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        self._handler = handler
        self._connections = connections
        self._admit = admit
        self._closed = closed
        self.line_limit = LINE_LIMIT
        self._buffer = bytearray()
        self._discarding = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if len(self._connections) >= MAX_CONNECTIONS:
            self._transport.write(failure(None, INTERNAL_ERROR, f"more than {MAX_CONNECTIONS} connections"))
            self._transport.close()
        elif not self._admit(transport):
            self._transport.abort()
        else:
            self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._connections.discard(self)
        self._buffer.clear()
        self._closed()

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        if self not in self._connections:
            return
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._end_line(data[start:end])
            start = end + 1
        rest = data[start:]
        if self._discarding or len(self._buffer) + len(rest) > self.line_limit:
            self._buffer.clear()
            self._discarding = self._discarding or bool(rest)
        else:
            self._buffer += rest

    def _end_line(self, tail: bytes) -> None:
        too_long = self._discarding or len(self._buffer) + len(tail) > self.line_limit
        line = b"" if too_long else bytes(self._buffer) + tail
        self._buffer.clear()
        self._discarding = False
        if too_long:
            self._send(failure(None, INVALID_REQUEST, f"a line may hold {self.line_limit} bytes at the most"))
        elif line.strip():
            reply = answer(line, self._handler)
            if reply is not None:
                self._send(reply)

    def _send(self, line: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line)

    def pause_writing(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
