"""``rulecore demo``: a recorded session against a live guard, and a buffer in the language server. Nothing is faked:
the sidecar is a process of its own, the files are real, the answers are what an agent would get.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.client import call, ensure_served

HELP = """Watch the guard at work: a recorded agent session on a sample repository, over the live socket.

Then an editor buffer through the language server, and the state that is left. Takes a few seconds and leaves nothing.

[bold]Example:[/] rulecore demo
"""
_COLOURS = {"allowed": "green", "advised": "yellow", "skipped": "red", "stopped": "bold red"}
_WORDS = {"allow": "allowed", "advise": "advised", "deny": "skipped", "stop": "stopped"}
_BUFFER = '''"""An unsaved buffer."""


class Everything:
{methods}

    def last(self):
        return 1  # TODO: split this class
'''


def demo() -> None:
    """See :data:`HELP`."""
    import lsprotocol  # noqa: F401 - said before anything starts when the extra is not there

    console = Console(highlight=False)
    script = json.loads(files(__package__).joinpath("demo_session.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="rulecore-demo-") as folder:
        root = Path(folder).resolve()
        _sample(root, script["files"])
        with _served(root):
            console.rule("A recorded agent session, decided live", align="left")
            for step in script["steps"]:
                _show(console, root, step)
            console.rule("What the guard knows now", align="left")
            console.print(_state(root))
            console.rule("An unsaved editor buffer in the language server", align="left")
            for found in _diagnostics(root / "everything.py", _buffer()):
                console.print(found, markup=False)


def _sample(root: Path, contents: dict[str, str]) -> None:
    for name, text in contents.items():
        (root / name).write_text(text, encoding="utf-8", newline="\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)


@contextmanager
def _served(root: Path) -> Iterator[None]:
    ensure_served(root)
    pong = call(root, "rulecore/ping", {})
    try:
        yield
    finally:
        if isinstance(pong, dict) and isinstance(pid := pong["pid"], int):
            os.kill(pid, signal.SIGTERM)


def _show(console: Console, root: Path, step: dict[str, Json]) -> None:
    """One step: the guard's word, what happens, the call; below it why."""
    times = step.get("times", 1)
    for number in range(times if isinstance(times, int) else 1):
        said = str(step["say"]) + (f" ({number + 1})" if times != 1 else "")
        word, call_, why = _step(root, step)
        line = Text(f"{word:>8}", style=_COLOURS.get(word, "dim"))
        console.print(line.append(f"  {said:<46} ", style="default").append(call_, style="cyan"), soft_wrap=True)
        if why:
            console.print(Padding(Text(why, style="dim"), (0, 0, 0, 10)))


def _step(root: Path, step: dict[str, Json]) -> tuple[str, str, str]:
    """(the guard's word, the call, why) of one step."""
    if isinstance(step.get("person"), dict):
        _write(root, step["person"])
        return "person", "", ""
    if step.get("clear"):
        call(root, "rulecore/halt/clear", {"all": True})
        return "person", "rulecore halt clear --all", ""
    shared: JsonObject = {"agent": "demo", "session": "demo", "cwd": str(root)}
    event: JsonObject = {**shared, **{name: step[name] for name in ("tool", "params", "ops")}}
    answer = _ask(root, "rulecore/guard/pre", event)
    if answer["action"] not in ("deny", "stop"):
        if isinstance(step.get("does"), dict):
            _write(root, step["does"])
        came = {
            "result": step.get("result") or {"text": "ok"},
            "error": step.get("error"),
            "exit_code": step.get("exit_code"),
        }
        after = _ask(root, "rulecore/guard/post", {**event, **came})
        answer = after if after["action"] in ("advise", "stop") else answer
    return _WORDS[str(answer["action"])], _spell(step), str(answer["message"])


def _ask(root: Path, method: str, event: JsonObject) -> dict[str, Json]:
    answer = call(root, method, event)
    assert isinstance(answer, dict)
    return answer


def _write(root: Path, change: Json) -> None:
    assert isinstance(change, dict) and isinstance(change["replace"], list)
    path = root / str(change["path"])
    old, new = (str(text) for text in change["replace"])
    path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8", newline="\n")


def _spell(step: dict[str, Json]) -> str:
    ops = step["ops"]
    op = ops[0] if isinstance(ops, list) else {}
    assert isinstance(op, dict)
    lines = f":{op['start']}-{op['end']}" if "start" in op else ""
    return f"{op['kind']} {op.get('path') or op.get('command')}{lines}"


def _state(root: Path) -> Table:
    table = Table(show_header=False, box=None)
    state = _ask(root, "rulecore/state/get", {"agent": "demo", "session": "demo"})
    validity = _ask(root, "rulecore/state/validity", {})
    metrics = _ask(root, "rulecore/metrics", {})
    for name in ("calls", "files_read", "forceHalt", "context_epoch"):
        table.add_row(name, str(state[name]))
    table.add_row("StateValidity", f"{validity['decision']}  {json.dumps(validity.get('dimensions'))}")
    table.add_row("decisions", ", ".join(f"{name} {count}" for name, count in sorted(metrics.items())))
    return table


def _buffer() -> str:
    methods = "\n\n".join(f"    def method_{number}(self):\n        return {number}" for number in range(41))
    return _BUFFER.format(methods=methods)


def _diagnostics(path: Path, text: str) -> Iterator[str]:
    """Open ``text`` as an unsaved buffer in ``rulecore lsp``, which finds the guard running and follows it."""
    command = [sys.executable, "-I", "-m", "rulecore_sidecar", "lsp"]
    document: JsonObject = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
    start: JsonObject = {"processId": os.getpid(), "rootUri": path.parent.as_uri(), "capabilities": {}}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        _send(process.stdin, {"id": 1, "method": "initialize", "params": start})
        _send(process.stdin, {"method": "initialized", "params": {}})
        _send(process.stdin, {"method": "textDocument/didOpen", "params": {"textDocument": document}})
        for message in _messages(process.stdout):
            if message.get("method") == "textDocument/publishDiagnostics":
                for found in message["params"]["diagnostics"]:
                    line = found["range"]["start"]["line"] + 1
                    yield f"{path.name}:{line}  {found['code']}  {found['message']}"
                break
        _send(process.stdin, {"id": 2, "method": "shutdown"})
        _send(process.stdin, {"method": "exit"})


def _send(stream: IO[bytes], message: JsonObject) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def _messages(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    while header := stream.readline():
        length = int(header.split(b":")[1])
        stream.readline()
        yield json.loads(stream.read(length))
