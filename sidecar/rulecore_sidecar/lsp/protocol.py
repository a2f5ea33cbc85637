"""pygls' protocol, made to answer every request.

What pygls 2.1 does itself: it turns checked messages into lsprotocol's types, runs the features, keeps the open
requests. What is ours: the life cycle, the errors, ``rulecore/*`` (plain dicts, no types), the output. The private
names of pygls that this leans on are held by tests/sidecar/lsp/test_pygls_contract.py.

Source: spec sidecar.md section 3.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, cast

import cattrs
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.protocol import LanguageServerProtocol

from rulecore_kernel.values import Json
from rulecore_sidecar.rpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError

from .documents import EditorWorkspace
from .pump import MessageId

if TYPE_CHECKING:
    from .server import EditorServer

log = logging.getLogger("rulecore.lsp")

CUSTOM: Final = "rulecore/"
"""What the names of our own methods start with."""
NOT_INITIALIZED: Final = types.ErrorCodes.ServerNotInitialized.value
CANCELLED: Final = types.LSPErrorCodes.RequestCancelled.value
_INTERNAL_TEXT: Final = "internal error; the server's log says more"
_SNAKE = re.compile(r"_([a-z])")


class Stage(Enum):
    """Where the conversation stands."""

    NEW = auto()
    OPEN = auto()
    SHUT_DOWN = auto()
    ENDED = auto()


class EditorProtocol(LanguageServerProtocol):
    """The :class:`~rulecore_sidecar.lsp.pump.Peer` that pygls' server talks through."""

    _server: "EditorServer"

    def connect(self, write: Callable[[bytes], None]) -> None:
        """Say where messages go. Before this, nothing is sent."""
        self._write = write

    stage = Stage.NEW
    _write: Callable[[bytes], None] | None = None

    # Messages in

    def receive(self, message: dict[str, Json]) -> None:
        """Handle one checked message; whatever goes wrong, a request is answered."""
        method, identity = message.get("method"), cast(MessageId | None, message.get("id"))
        try:
            if not isinstance(method, str):
                self._receive_answer(identity, message)
            elif method == types.EXIT:
                self._exit()
            elif self.stage is Stage.ENDED:
                return
            elif refused := self._refusal(method, message):
                self._refuse(identity, method, *refused)
            elif method == types.SHUTDOWN:
                self._shut_down(identity)
            elif method.startswith(CUSTOM):
                self._receive_custom(identity, method, message.get("params"))
            else:
                self._receive_typed(identity, method, message)
        except Exception:
            log.exception("a message could not be handled")
            if isinstance(method, str) and identity is not None:
                self.reject(identity, INTERNAL_ERROR, _INTERNAL_TEXT)

    def reject(self, identity: MessageId | None, code: int, reason: str) -> None:
        """Answer with an error; ``identity`` is None when the message's own could not be read."""
        self._send_data({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": reason}})

    def _refusal(self, method: str, message: dict[str, Json]) -> tuple[int, str] | None:
        """Why this message must not be handled now, if so: a code and a text for its sender."""
        starts = method == types.INITIALIZE
        if self.stage is Stage.SHUT_DOWN:
            return INVALID_REQUEST, "the server is shut down; only exit is understood"
        if self.stage is Stage.NEW and not starts:
            return NOT_INITIALIZED, "not initialized; send initialize first"
        if self.stage is Stage.OPEN and starts:
            return INVALID_REQUEST, "initialize was sent already"
        if method.startswith(CUSTOM) or method == types.CANCEL_REQUEST:
            return None
        if method not in self.fm.builtin_features and method not in self.fm.features:
            return METHOD_NOT_FOUND, "there is no such method"
        is_request = self.get_result_type(method) is not None
        if is_request != ("id" in message):
            return INVALID_REQUEST, f"this is a {'request' if is_request else 'notification'}"
        return None

    def _refuse(self, identity: MessageId | None, method: str, code: int, reason: str) -> None:
        if identity is not None:
            self.reject(identity, code, f"{method}: {reason}")
        elif not method.startswith("$/"):
            log.warning("ignored %s: %s", method, reason)

    # The life cycle

    @property
    def exit_code(self) -> int:
        """What the process answers when the conversation ends now: 1 unless it was shut down before."""
        return 0 if self.stage is Stage.SHUT_DOWN else 1

    def open_documents(self) -> EditorWorkspace:
        """Put our own documents in the place of those that ``initialize`` has just made."""
        made = self.workspace
        folders = list(made.folders.values())
        self._workspace = documents = EditorWorkspace(
            made.root_uri, types.TextDocumentSyncKind.Incremental, folders, made.position_encoding
        )
        return documents

    def _exit(self) -> None:
        self._server.end(self.exit_code)
        self.stage = Stage.ENDED

    def _shut_down(self, identity: MessageId | None) -> None:
        self.stage = Stage.SHUT_DOWN
        for future in list(self._request_futures.values()):
            future.cancel()
        self._answer(identity, None)

    # Our own methods

    def _receive_custom(self, identity: MessageId | None, method: str, params: Json) -> None:
        if params is not None and not isinstance(params, dict):
            self._refuse(identity, method, INVALID_PARAMS, "params must be an object")
            return
        try:
            result = self._server.dispatch(method, params or {})
        except Exception as error:
            self._fail(identity, method, error)
            return
        if isinstance(result, Awaitable):
            self._answer_later(identity, method, result)
        else:
            self._answer(identity, result)

    def _answer_later(self, identity: MessageId | None, method: str, coming: Awaitable[Json]) -> None:
        task = asyncio.ensure_future(coming)

        def done(task: asyncio.Future[Json]) -> None:
            if identity is not None:
                self._request_futures.pop(identity, None)
            if task.cancelled():
                self._refuse(identity, method, CANCELLED, "cancelled")
            elif isinstance(error := task.exception(), Exception):
                self._fail(identity, method, error)
            else:
                self._answer(identity, task.result())

        task.add_done_callback(done)
        if identity is not None:
            self._request_futures[identity] = task  # type: ignore[assignment]  # pygls keeps both kinds of future there

    def _answer(self, identity: MessageId | None, result: Json) -> None:
        if identity is not None:
            self._send_data({"jsonrpc": "2.0", "id": identity, "result": result})

    def _fail(self, identity: MessageId | None, method: str, error: Exception) -> None:
        if isinstance(error, RpcError):
            self._refuse(identity, method, error.code, error.message)
        else:
            log.error("%s failed", method, exc_info=error)
            self._refuse(identity, method, INTERNAL_ERROR, _INTERNAL_TEXT)

    # The methods of LSP

    def _receive_typed(self, identity: MessageId | None, method: str, message: dict[str, Json]) -> None:
        if message["params"] is None and self.get_result_type(method) is None:
            message["params"] = {}
        message_type = self.get_message_type(method)
        assert message_type is not None, "every feature that is registered is a method of LSP"
        try:
            structured = self._converter.structure(message, message_type)
        except Exception as error:
            self._refuse(identity, method, INVALID_PARAMS, explain(error))
            if method == types.TEXT_DOCUMENT_DID_CHANGE:
                self._server.lose_track(_uri_in(message["params"]))
            return
        if method == types.INITIALIZE:
            self.stage = Stage.OPEN
        self.handle_message(structured)

    def _receive_answer(self, identity: MessageId | None, message: dict[str, Json]) -> None:
        future = None if identity is None else self._request_futures.get(identity)
        if identity is None or future is None or future.done():
            log.warning("ignored the answer to a request that is not open")
            return
        try:
            self.handle_message(self.structure_message(message))
        except Exception as error:
            self._request_futures.pop(identity, None)
            future.set_exception(error)

    # Messages out

    def _send_data(self, data: object) -> None:
        if self._write is not None and self.stage is not Stage.ENDED:
            body = json.dumps(data, default=self._serialize_message, separators=(",", ":")).encode("ascii")
            self._write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _send_response(
        self, msg_id: MessageId, result: object = None, error: types.ResponseError | None = None
    ) -> None:
        if error is not None and error.code == INTERNAL_ERROR:
            error = types.ResponseError(INTERNAL_ERROR, _INTERNAL_TEXT)
        super()._send_response(msg_id, result, error)


def make_converter() -> cattrs.Converter:
    """lsprotocol's converter, but null, an object or an array is no text: they would become ``"None"`` and the like."""
    converter = get_converter()
    converter.register_structure_hook(str, _text)
    return converter


def _text(value: Json, _: type[str]) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError("no text")


def explain(error: Exception) -> str:
    """What is wrong with params and where, in the names of the wire; never what they hold."""
    faults = cattrs.transform_error(error)
    told = "; ".join(_SNAKE.sub(lambda found: found[1].upper(), fault).replace("$.", "") for fault in faults[:3])
    return f"invalid params: {told}"


def _uri_in(params: Json) -> str | None:
    """The URI of the document that malformed params speak of, if they hold that much."""
    document = params.get("textDocument") if isinstance(params, dict) else None
    uri = document.get("uri") if isinstance(document, dict) else None
    return uri if isinstance(uri, str) else None
