"""An LSP client of raw bytes, as plain as can be: it shares no code with the server that it drives."""

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

TIMEOUT = 20.0
FAKE_SERVER = [sys.executable, "-I", str(Path(__file__).with_name("fake_server.py"))]
Message = dict[str, Any]

PUSHED: Mapping[str, Any] = {"textDocument": {"publishDiagnostics": {"versionSupport": True}}}
PULLING: Mapping[str, Any] = {"textDocument": {"publishDiagnostics": {}, "diagnostic": {}}}


def frame(body: bytes | str | object) -> bytes:
    """A message with its header; anything but bytes and str is encoded as JSON first."""
    if not isinstance(body, bytes | str):
        body = json.dumps(body)
    data = body.encode() if isinstance(body, str) else body
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


class Client:
    """A server process and the messages to and from it. Use as a context manager."""

    def __init__(self, command: Sequence[str] = FAKE_SERVER, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd
        )
        self.stderr = b""
        self.unexpected: list[Message] = []
        self._messages: queue.Queue[Message] = queue.Queue()
        self._next_id = 1
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._read, self._read_stderr)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(TIMEOUT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = None
            while line := stream.readline():
                if not line.strip():
                    break
                name, _, value = line.partition(b":")
                assert name == b"Content-Length", f"the server wrote {line!r}"
                length = int(value)
            if length is None:
                return
            self._messages.put(json.loads(stream.read(length)))

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr += line

    def wait_for(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message that is wanted; those before it are kept in ``unexpected``."""
        for message in self.unexpected:
            if wanted(message):
                self.unexpected.remove(message)
                return message
        while True:
            try:
                message = self._messages.get(timeout=TIMEOUT)
            except queue.Empty:
                raise AssertionError(f"no answer; stderr:\n{self.stderr.decode()}") from None
            if wanted(message):
                return message
            self.unexpected.append(message)

    def wait_for_stderr(self, text: str) -> None:
        """Wait until the server has written this to stderr."""
        deadline = time.monotonic() + TIMEOUT
        while text not in self.stderr.decode():
            assert time.monotonic() < deadline, f"{text!r} is not in stderr:\n{self.stderr.decode()}"
            time.sleep(0.005)

    def send_bytes(self, data: bytes) -> None:
        """Write to the server as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        """Write a message."""
        self.send_bytes(frame(message))

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start_request(self, method: str, params: object = None) -> int:
        """Send a request; its id."""
        identity, self._next_id = self._next_id, self._next_id + 1
        self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        return identity

    def answer_to(self, identity: object) -> Message:
        """Wait for the answer to a request."""
        return self.wait_for(lambda m: "method" not in m and m["id"] == identity)

    def request(self, method: str, params: object = None) -> Message:
        """Send a request and wait for its answer."""
        return self.answer_to(self.start_request(method, params))

    def result(self, method: str, params: object = None) -> Any:
        """The result of a request that must not fail."""
        answer = self.request(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def notification(self, method: str, **wanted: object) -> Any:
        """Wait for a notification with these params; its params."""

        def fits(message: Message) -> bool:
            params = message.get("params") or {}
            return message.get("method") == method and all(params.get(k) == v for k, v in wanted.items())

        return self.wait_for(fits)["params"]

    def initialize(
        self, root: Path | None, capabilities: Mapping[str, Any] = PUSHED, **params: object
    ) -> Mapping[str, Any]:
        """Say hello; the server's capabilities."""
        folders = None if root is None else [{"uri": root.as_uri(), "name": root.name}]
        base = {
            "processId": None,
            "clientInfo": {"name": "test"},
            "rootUri": None if root is None else root.as_uri(),
            "workspaceFolders": folders,
            "capabilities": capabilities,
        }
        result = self.result("initialize", base | params)
        self.notify("initialized", {})
        answer: Mapping[str, Any] = result["capabilities"]
        return answer

    def open(self, uri: str, text: str, version: int = 1, language: str = "python") -> None:
        """Open a document."""
        self.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": language, "version": version, "text": text}},
        )

    def change(self, uri: str, version: int, *changes: object) -> None:
        """Change a document."""
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)},
        )

    def pull(self, uri: str, previous: str | None = None) -> Any:
        """Ask for a document's diagnostics."""
        return self.result("textDocument/diagnostic", {"textDocument": {"uri": uri}, "previousResultId": previous})

    def pushed(self, uri: str, version: int | None) -> list[Any]:
        """Wait for the diagnostics of a version."""
        items = self.notification("textDocument/publishDiagnostics", uri=uri, version=version)["diagnostics"]
        assert isinstance(items, list)
        return items

    def close_input(self) -> None:
        """Let the server see the end of its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def exit_code(self) -> int:
        """Wait for the end of the process."""
        return self.process.wait(TIMEOUT)


def edit(line: int, start: int, end_line: int, end: int, text: str) -> Message:
    """One incremental change."""
    return {
        "range": {"start": {"line": line, "character": start}, "end": {"line": end_line, "character": end}},
        "text": text,
    }
