"""A server on a Unix socket that answers JSON lines as a test says."""

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Answer = Callable[[dict[str, Any]], bytes | None]
"""Request → what is sent back; None hangs up."""


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that leave early are what is tested."""


@contextmanager
def answering(path: Path, answer: Answer) -> Iterator[list[dict[str, Any]]]:
    """Serve at ``path``; yields the list of requests, which grows."""
    requests: list[dict[str, Any]] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                request = json.loads(line)
                requests.append(request)
                reply = answer(request)
                if reply is None:
                    return
                self.wfile.write(reply)

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with _Server(str(path), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield requests
        server.shutdown()


@contextmanager
def owning(lock: Path, socket: Path, answer: Answer) -> Iterator[list[dict[str, Any]]]:
    """Serve at ``socket`` and say so in ``lock``, as the owner of a workspace does."""
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock.write_text(f"1\n{socket}\n", encoding="utf-8")
    try:
        with answering(socket, answer) as requests:
            yield requests
    finally:
        lock.unlink()


def result(request: dict[str, Any], value: object) -> bytes:
    """A JSON-RPC answer line."""
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": value}).encode() + b"\n"
