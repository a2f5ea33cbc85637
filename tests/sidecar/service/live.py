"""A real sidecar process on a real folder, for tests: start it, talk to it line by line, kill it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any


class Line:
    """A connection that sends and receives raw lines."""

    def __init__(self, path: Path, timeout: float = 20.0) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        wait_for(lambda: _connected(self.socket, path))
        self.stream = self.socket.makefile("rb")
        self.serial = 0

    def raw(self, line: bytes) -> dict[str, Any]:
        self.socket.sendall(line + b"\n")
        return json.loads(self.stream.readline())

    def ask(self, method: str, **params: Any) -> Any:
        self.serial += 1
        request = {"jsonrpc": "2.0", "id": self.serial, "method": method, "params": params}
        answer = self.raw(json.dumps(request).encode())
        assert answer["id"] == self.serial
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        self.stream.close()
        self.socket.close()


def _connected(connection: socket.socket, path: Path) -> bool:
    """False while the listener's queue is full."""
    try:
        connection.connect(str(path))
    except BlockingIOError:
        return False
    return True


class Agent:
    """One agent's session, in its own words: ``agent.read("a.py")`` asks, runs, and reports."""

    def __init__(self, line: Line, root: Path, session: str = "s1", agent_id: str = "main") -> None:
        self.line, self.root, self.session, self.agent_id = line, root, session, agent_id
        self.turn = 0

    def event(self, tool: str, params: dict[str, Any], *ops: dict[str, Any], **more: Any) -> dict[str, Any]:
        base = {"agent": "test", "session": self.session, "agent_id": self.agent_id, "cwd": str(self.root)}
        return {**base, "turn": self.turn, "tool": tool, "params": params, "ops": list(ops), **more}

    def pre(self, event: dict[str, Any]) -> dict[str, Any]:
        self.turn += 1
        event["turn"] = self.turn
        return self.line.ask("rulecore/guard/pre", **event)

    def post(self, event: dict[str, Any], **came: Any) -> dict[str, Any]:
        return self.line.ask("rulecore/guard/post", **{**event, **came})

    def do(self, event: dict[str, Any], effect: Any = None, **came: Any) -> dict[str, Any]:
        """The whole call; what the guard said before it, or after it when that was more."""
        before = self.pre(event)
        if before["action"] in ("deny", "stop"):
            return before
        if effect is not None:
            effect()
        after = self.post(event, **{"result": {"text": "ok"}, **came})
        return after if after["action"] != "allow" else before

    def read(self, path: str, start: int | None = None, end: int | None = None, **came: Any) -> dict[str, Any]:
        op: dict[str, Any] = {"kind": "read", "path": path}
        if start is not None:
            op |= {"start": start, "end": end}
        return self.do(self.event("read", {"path": path, "start": start, "end": end}, op), **came)

    def edit(self, path: str, text: str | None = "edited\n", **came: Any) -> dict[str, Any]:
        target = self.root / path
        event = self.event("edit", {"path": path, "text": text}, {"kind": "edit", "path": path})
        return self.do(event, None if text is None else lambda: target.write_text(text, "utf-8"), **came)

    def run(self, command: str, out: str = "", code: int = 0, effect: Any = None) -> dict[str, Any]:
        event = self.event("run", {"command": command}, {"kind": "exec", "command": command})
        return self.do(event, effect, result={"text": out}, exit_code=code)


class Served:
    """A running ``serve`` process."""

    def __init__(self, root: Path, runtime: Path) -> None:
        self.root = root
        self.runtime = runtime
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
        self.process: subprocess.Popen[bytes] | None = None
        self.endpoint = self.start()

    def start(self) -> Path:
        """Start a process and wait until it, and no other, answers."""
        command = [sys.executable, "-I", "-m", "rulecore_sidecar", "serve", "--root", str(self.root)]
        self.process = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE)
        found: list[Path] = []

        def answers() -> bool:
            found[:] = (self.runtime / "rulecore").glob("*.sock")
            if not found:
                return False
            try:
                with closing(Line(found[0])) as line:
                    return line.ask("rulecore/ping")["pid"] == self.process.pid
            except (OSError, ValueError):
                return False

        wait_for(answers)
        return found[0]

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(10)

    def line(self) -> Line:
        return Line(self.endpoint)

    def agent(self, session: str = "s1", agent_id: str = "main") -> Agent:
        return Agent(self.line(), self.root, session, agent_id)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill(signal.SIGTERM)


@contextmanager
def served(root: Path, runtime: Path) -> Iterator[Served]:
    runtime.mkdir(mode=0o700, exist_ok=True)
    sidecar = Served(root, runtime)
    try:
        yield sidecar
    finally:
        sidecar.stop()


def wait_for(condition: Any, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
