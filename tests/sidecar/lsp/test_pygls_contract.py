"""The names of pygls that are not for us, and that we use all the same. One test each: red after an upgrade, this
says which assumption fell."""

import asyncio
import inspect
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCProtocol, LanguageServerProtocol
from pygls.workspace import TextDocument, Workspace


@pytest.fixture
def protocol() -> LanguageServerProtocol:
    return LanguageServer("n", "v", converter_factory=get_converter, protocol_cls=LanguageServerProtocol).protocol


def names(function: object) -> list[str]:
    return list(inspect.signature(function).parameters)  # type: ignore[arg-type]


def test_send_data_is_the_only_way_out(protocol: LanguageServerProtocol) -> None:
    sent: list[object] = []
    protocol._send_data = sent.append  # type: ignore[method-assign,assignment]
    protocol._send_response(1, result="r")
    protocol.notify("m", None)
    protocol.send_request("m", None)
    assert len(sent) == 3
    assert names(JsonRPCProtocol._send_data) == ["self", "data"]


def test_send_response_gets_every_error(protocol: LanguageServerProtocol) -> None:
    sent: list[tuple[object, ...]] = []
    protocol._send_response = lambda *args, **kwargs: sent.append((*args, *kwargs.values()))  # type: ignore[method-assign]
    failed: Future[object] = Future()
    failed.set_exception(ZeroDivisionError())
    protocol._send_handler_result(failed, msg_id=3)
    ((identity, error),) = sent
    assert identity == 3
    assert isinstance(error, types.ResponseError)
    assert error.code == -32603
    assert names(JsonRPCProtocol._send_response) == ["self", "msg_id", "result", "error"]


def test_serialize_message_takes_lsprotocol_types(protocol: LanguageServerProtocol) -> None:
    assert protocol._serialize_message(types.Position(1, 2)) == {"line": 1, "character": 2}
    assert protocol._serialize_message(types.PositionEncodingKind.Utf8) == "utf-8"  # type: ignore[comparison-overlap]


def test_converter_structures_messages(protocol: LanguageServerProtocol) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "shutdown", "params": None}
    assert isinstance(protocol._converter.structure(message, types.ShutdownRequest), types.ShutdownRequest)


def test_request_futures_hold_both_directions(protocol: LanguageServerProtocol) -> None:
    protocol._send_data = lambda data: None  # type: ignore[method-assign]
    future = protocol.send_request("m", None, msg_id="theirs")
    assert list(protocol._request_futures.values()) == [future]

    async def cancel() -> bool:
        task = asyncio.create_task(asyncio.sleep(60))
        protocol._request_futures[1] = task  # type: ignore[assignment]
        protocol._handle_notification("$/cancelRequest", types.CancelParams(id=1))
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(cancel())
    assert list(protocol._request_futures) == ["theirs"]


def test_workspace_is_made_by_initialize_before_the_feature_runs(protocol: LanguageServerProtocol) -> None:
    seen: list[object] = []
    protocol.fm.feature(types.INITIALIZE)(lambda params: seen.append(protocol._workspace))
    request = types.InitializeRequest(1, types.InitializeParams(capabilities=types.ClientCapabilities()))
    protocol._send_data = lambda data: None  # type: ignore[method-assign]
    protocol.handle_message(request)  # type: ignore[arg-type]
    assert isinstance(seen[0], Workspace)
    assert protocol.workspace is seen[0]
    replaced = Workspace(None)
    protocol._workspace = replaced
    assert protocol.workspace is replaced


def test_a_generator_runs_at_once_up_to_its_first_yield(protocol: LanguageServerProtocol) -> None:
    def feature(params: types.InitializeParams) -> Iterator[object]:
        seen.append("begun")
        yield later, (params,), None

    async def later(params: object) -> None:
        seen.append("finished")

    async def both() -> None:
        request = types.InitializeRequest(1, types.InitializeParams(capabilities=types.ClientCapabilities()))
        protocol.handle_message(request)  # type: ignore[arg-type]
        assert seen == ["begun"]
        await asyncio.sleep(0.01)

    seen: list[object] = []
    protocol.fm.feature(types.INITIALIZE)(feature)
    protocol._send_data = seen.append  # type: ignore[method-assign,assignment]
    asyncio.run(both())
    assert seen[1] == "finished"
    assert isinstance(getattr(seen[2], "result", None), types.InitializeResult)


def test_documents_are_made_by_create_text_document() -> None:
    class Own(Workspace):
        def _create_text_document(self, *args: object, **kwargs: object) -> TextDocument:
            made.append((args, kwargs))
            return TextDocument("file:///own")

    made: list[tuple[tuple[object, ...], dict[str, object]]] = []
    Own(None).put_text_document(types.TextDocumentItem("file:///a", "python", 1, "text"))
    assert made == [(("file:///a",), {"source": "text", "version": 1, "language_id": "python"})]


def test_changes_go_through_update_text_document(protocol: LanguageServerProtocol) -> None:
    class Own(Workspace):
        def update_text_document(self, text_doc: object, change: object) -> None:
            seen.append(change)

    seen: list[object] = []
    protocol._workspace = Own(None)
    changes = [types.TextDocumentContentChangeWholeDocument(text) for text in "ab"]
    params = types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(1, "file:///a"), changes)
    list(protocol.lsp_text_document__did_change(params))
    assert seen == changes


def test_the_server_is_given_by_the_name_ls() -> None:
    server = LanguageServer("n", "v", converter_factory=get_converter, protocol_cls=LanguageServerProtocol)

    @server.command("c")
    async def command(ls: LanguageServer, *arguments: object) -> object:
        return ls, arguments

    assert asyncio.run(server.protocol.fm.commands["c"](1, 2)) == (server, (1, 2))


def test_errors_of_features_reach_report_server_error(protocol: LanguageServerProtocol) -> None:
    seen: list[tuple[object, object]] = []
    protocol._server.report_server_error = lambda error, source: seen.append((error, source))  # type: ignore[method-assign]
    protocol.fm.feature("x/fails")(lambda params: 1 / 0)
    protocol._handle_notification("x/fails", None)
    ((error, _),) = seen
    assert "traceback" in error.data  # type: ignore[attr-defined]
