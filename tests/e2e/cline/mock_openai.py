"""A scripted OpenAI-compatible model on loopback: answers by script, keeps every request it was sent.

Agents under test stream from ``POST /v1/chat/completions``. Turn *n* of the script answers the *n*-th request; after
the last one the model says ``done``. What the model was *shown* is :attr:`MockModel.requests`: the only honest witness
of what a guard did.
"""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

Json = dict[str, object]


@dataclass(frozen=True)
class Call:
    """One tool call of an assistant message."""

    tool: str
    arguments: object


@dataclass(frozen=True)
class Turn:
    """One assistant message: tool calls, or text.

    ``before`` runs before it is sent (an external write, a kill); ``tokens`` is the size of the request that the model
    reports, None for an estimate.
    """

    calls: tuple[Call, ...] = ()
    text: str = ""
    before: Callable[[], object] | None = None
    tokens: int | None = None


def call(tool: str, arguments: object, *, before: Callable[[], object] | None = None) -> Turn:
    """A turn with one tool call."""
    return Turn((Call(tool, arguments),), before=before)


class MockModel:
    """The server. Use as a context manager; :attr:`url` is what the agent is configured with."""

    def __init__(self, script: Sequence[Turn]) -> None:
        self.script = tuple(script)
        self.requests: list[Json] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL for an OpenAI-compatible client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "MockModel":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: Json) -> tuple[int, Turn]:
        """Record ``request``; returns its number and the turn that answers it."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        turn = self.script[number] if number < len(self.script) else Turn(text="done")
        if turn.before is not None:
            turn.before()
        return number, turn

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                if not self.path.endswith("/chat/completions"):
                    self.send_error(404)
                    return
                number, turn = model.answer(json.loads(body))
                stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(number, turn, len(body)))
                payload = f"{stream}data: [DONE]\n\n".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format: str, *args: object) -> None:
                """Silent: the requests are kept."""

        return Handler


def _chunks(number: int, turn: Turn, size: int) -> Iterator[Json]:
    yield _chunk({"role": "assistant", "content": ""})
    if turn.text:
        yield _chunk({"content": turn.text})
    for index, item in enumerate(turn.calls):
        function = {"name": item.tool, "arguments": json.dumps(item.arguments)}
        yield _chunk(
            {"tool_calls": [{"index": index, "id": f"call_{number}_{index}", "type": "function", "function": function}]}
        )
    tokens = size // 4 if turn.tokens is None else turn.tokens
    usage = {"prompt_tokens": tokens, "completion_tokens": 10, "total_tokens": tokens + 10}
    yield _chunk({}, finish="tool_calls" if turn.calls else "stop") | {"usage": usage}


def _chunk(delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "mock", "object": "chat.completion.chunk", "created": 1, "model": "mock-model", "choices": [choice]}
