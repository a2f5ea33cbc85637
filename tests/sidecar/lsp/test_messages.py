"""The server as a process: whatever comes in, every request is answered and the process lives on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .client import PULLING, Client, frame

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_INITIALIZED, CANCELLED, INTERNAL_ERROR = -32002, -32800, -32603

SECRET = "correct horse battery"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[Client]:
    """One server for the whole file: each test also shows that the one before did no harm."""
    with Client() as client:
        client.initialize(root, PULLING, initializationOptions={"text": SECRET})
        yield client


def test_nested_jsonrpc_keys_are_data(client: Client) -> None:
    params = {
        "jsonrpc": "2.0",
        "id": 9,
        "method": "exit",
        "class": 1,
        "a-b": 2,
        "type_name": "x",
        "l": [{"jsonrpc": 3}],
    }
    assert client.result("rulecore/echo", {"tool": params}) == {"tool": params}


@pytest.mark.parametrize("params", [None, {}])
def test_missing_params_are_none(client: Client, params: object) -> None:
    assert client.result("rulecore/echo", params) == {}


def test_ten_megabytes(client: Client) -> None:
    params = {"text": "汉" * 3_500_000}
    assert client.result("rulecore/echo", params) == params


@pytest.mark.parametrize(
    ("method", "params", "code", "says"),
    [
        ("rulecore/unknown", {}, METHOD_NOT_FOUND, "rulecore/unknown"),
        ("textDocument/unknown", {}, METHOD_NOT_FOUND, "textDocument/unknown"),
        ("$/unknown", {}, METHOD_NOT_FOUND, "$/unknown"),
        ("rulecore/echo", [1], INVALID_PARAMS, "object"),
        ("textDocument/diagnostic", None, INVALID_PARAMS, "textDocument"),
        ("textDocument/diagnostic", {"textDocument": {"uri": None}}, INVALID_PARAMS, "params.textDocument.uri"),
        ("textDocument/diagnostic", [], INVALID_PARAMS, "textDocument"),
        ("workspace/executeCommand", {"command": "nope"}, INVALID_PARAMS, "nope"),
        ("workspace/executeCommand", {"command": "rulecore.clearHalt", "arguments": [5]}, INVALID_PARAMS, "object"),
        ("workspace/executeCommand", {"command": "rulecore.clearHalt", "arguments": [{}, {}]}, INVALID_PARAMS, "one"),
        ("initialize", {"capabilities": {}}, INVALID_REQUEST, "already"),
        ("textDocument/didOpen", {}, INVALID_REQUEST, "notification"),
        ("initialized", {}, INVALID_REQUEST, "notification"),
        ("rulecore/defect", {}, INTERNAL_ERROR, "log"),
        ("workspace/executeCommand", {"command": "rulecore.showState"}, INTERNAL_ERROR, "log"),
        ("rulecore/late", {"refuse": True}, -32050, "refused"),
    ],
)
def test_what_cannot_be_done_is_said(client: Client, method: str, params: object, code: int, says: str) -> None:
    error = client.request(method, params)["error"]
    assert error["code"] == code
    assert says in error["message"]
    assert "data" not in error
    assert "secret" not in error["message"]


def test_a_request_without_params_at_all(client: Client) -> None:
    client.send({"jsonrpc": "2.0", "id": "no-params", "method": "textDocument/diagnostic"})
    assert client.answer_to("no-params")["error"]["code"] == INVALID_PARAMS


@pytest.mark.parametrize(
    ("body", "identity", "code"),
    [
        ("{nope", None, PARSE_ERROR),
        ("5", None, INVALID_REQUEST),
        ('[{"jsonrpc":"2.0","id":71,"method":"rulecore/echo"}]', 71, INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":72,"method":"rulecore/echo","params":' + '{"a":' * 50_000, 72, INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":73,"method":7}', 73, INVALID_REQUEST),
        ('{"jsonrpc":"1.0","id":74,"method":"rulecore/echo"}', 74, INVALID_REQUEST),
    ],
)
def test_what_is_no_message_is_answered(client: Client, body: str, identity: int | None, code: int) -> None:
    client.send_bytes(frame(body))
    assert client.answer_to(identity)["error"]["code"] == code


def test_deep_params_that_parse(client: Client) -> None:
    deep = '{"a":' * 300 + "1" + "}" * 300
    client.send_bytes(frame('{"jsonrpc":"2.0","id":80,"method":"rulecore/echo","params":' + deep + "}"))
    assert "result" in client.answer_to(80)
    item = '{"command":"rulecore.clearHalt","arguments":[' + deep + "]}"
    client.send_bytes(frame('{"jsonrpc":"2.0","id":81,"method":"workspace/executeCommand","params":' + item + "}"))
    client.answer_to(81)


@pytest.mark.parametrize(
    "garbage",
    [b"garbage\r\n\r\n", b"Content-Length: x\r\n\r\n{}", b"\x00\xff\n\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
)
def test_garbage_between_messages(client: Client, garbage: bytes) -> None:
    client.send_bytes(garbage)
    assert client.answer_to(None)["error"]["code"] == PARSE_ERROR
    assert client.result("rulecore/echo", {"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    "header", [b"content-length:%d\r\n\r\n", b"CONTENT-LENGTH : %d \n\n", b"\r\nContent-Length: %d\r\n\r\n"]
)
def test_headers_of_sloppy_clients(client: Client, header: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":"sloppy","method":"rulecore/echo","params":{"a":1}}'
    client.send_bytes(header % len(body) + body)
    assert client.answer_to("sloppy")["result"] == {"a": 1}


def test_a_message_over_the_limit_is_answered(client: Client) -> None:
    size = (64 << 20) + 1
    head = b'{"jsonrpc":"2.0","id":90,"method":"rulecore/echo","params":{"text":"'
    client.send_bytes(b"Content-Length: %d\r\n\r\n" % size + head)
    rest = size - len(head)
    for _ in range(rest // (1 << 20)):
        client.send_bytes(b"x" * (1 << 20))
    client.send_bytes(b"x" * (rest % (1 << 20)))
    assert client.answer_to(90)["error"]["code"] == INVALID_REQUEST
    assert client.result("rulecore/echo", {"a": 1}) == {"a": 1}


def test_cancel(client: Client) -> None:
    identity = client.start_request("rulecore/late", {"seconds": 600})
    client.notify("$/cancelRequest", {"id": identity})
    assert client.answer_to(identity)["error"]["code"] == CANCELLED


@pytest.mark.parametrize("params", [{"id": 99999}, {"id": "x"}, {}, None, {"id": {}}])
def test_cancelling_what_is_not_there(client: Client, params: object) -> None:
    client.notify("$/cancelRequest", params)
    assert client.result("rulecore/echo", {}) == {}


def test_requests_are_answered_in_order_and_late_ones_when_they_are_ready(client: Client) -> None:
    late = client.start_request("rulecore/late", {"seconds": 0.05})
    first, second = client.start_request("rulecore/echo", {"n": 1}), client.start_request("rulecore/echo", {"n": 2})
    order = [client.wait_for(lambda m: "result" in m)["id"] for _ in range(3)]
    assert order == [first, second, late]


def test_notifications_get_no_answer(client: Client) -> None:
    for method in (
        "rulecore/echo",
        "rulecore/defect",
        "rulecore/unknown",
        "rulecore/late",
        "textDocument/unknown",
        "$/x",
    ):
        client.notify(method, {"params": 1})
    client.notify("textDocument/didOpen", {"wrong": 1})
    before = len(client.unexpected)
    assert client.result("rulecore/echo", {}) == {}
    assert [m for m in client.unexpected[before:] if "method" not in m] == []


def test_answers_to_requests_that_were_never_made(client: Client) -> None:
    client.send({"jsonrpc": "2.0", "id": "never", "result": {}})
    client.send({"jsonrpc": "2.0", "id": "never", "error": {"code": 1, "message": "m"}})
    client.send({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}})
    assert client.result("rulecore/echo", {}) == {}


def test_printing_reaches_stderr_and_no_child_reads_our_input(client: Client) -> None:
    assert client.result("rulecore/print", {}) is None
    assert client.result("rulecore/echo", {}) == {}
    client.wait_for_stderr("stray text")
    client.wait_for_stderr("from a child \n")


def test_commands_are_requests_to_the_guard(client: Client) -> None:
    arguments = {"command": "rulecore.clearHalt", "arguments": [{"session": "s"}]}
    assert client.result("workspace/executeCommand", arguments) == {"cleared": 1, "params": {"session": "s"}}
    assert client.result("workspace/executeCommand", {"command": "rulecore.clearHalt"})["params"] == {}


def test_no_body_is_in_the_log(client: Client) -> None:
    """Last: the fake server logs at level DEBUG, and all of the above is behind it."""
    client.request("rulecore/echo", {"text": SECRET})
    client.request("textDocument/diagnostic", {"textDocument": SECRET})
    client.request("rulecore/unknown", {"text": SECRET})
    client.notify("textDocument/didOpen", {"textDocument": {"text": SECRET}})
    client.send_bytes(frame('{"' + SECRET))
    client.answer_to(None)
    client.wait_for_stderr("secret/path.py")  # the log of a defect says what happened
    assert SECRET not in client.stderr.decode()


def test_before_initialize_and_after_shutdown(root: Path) -> None:
    with Client() as client:
        assert client.request("rulecore/echo", {})["error"]["code"] == NOT_INITIALIZED
        client.open("file:///a.py", "x")
        client.notify("initialized", {})
        assert client.request("initialize", {"capabilities": 5})["error"]["code"] == INVALID_PARAMS
        client.initialize(root, {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
        wish = client.wait_for(lambda m: m.get("method") == "client/registerCapability")
        assert client.result("rulecore/echo", {}) == {}
        waiting = client.start_request("rulecore/late", {"seconds": 600})
        assert client.result("shutdown") is None
        assert client.answer_to(waiting)["error"]["code"] == CANCELLED
        assert client.request("rulecore/echo", {})["error"]["code"] == INVALID_REQUEST
        client.send({"jsonrpc": "2.0", "id": wish["id"], "result": None})
        assert client.request("initialize", {"capabilities": {}})["error"]["code"] == INVALID_REQUEST
    assert "could not be handled" not in client.stderr.decode()
