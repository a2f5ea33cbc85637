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

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.client import call, ensure_served

HELP = """Watch the guard at work: a recorded agent session on a sample repository, over the live socket.

Then an editor buffer through the language server, and the state that is left. Takes a few seconds and leaves nothing.

[bold]Example:[/] rulecore demo
"""
_COLOURS = {"allow": "green", "advise": "yellow", "deny": "red", "stop": "bold red"}
_WORDS = {"allow": "allowed", "advise": "advised", "deny": "skipped", "stop": "stopped"}
_BUFFER = '''"""An unsaved buffer."""


class Everything:
{methods}

    def last(self):
        return 1  # TODO: split this class
'''


def demo() -> None:
    """See :data:`HELP`."""
    console = Console()
    script = json.loads(files(__package__).joinpath("demo_session.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="rulecore-demo-") as folder:
        root = Path(folder).resolve()
        _sample(root, script["files"])
        with _served(root):
            console.print(_session(root, script["steps"]))
            console.print(_state(root))
            console.print(_editor(root))


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


def _session(root: Path, steps: list[dict[str, Json]]) -> Table:
    table = Table(title="A recorded session, decided live", title_justify="left", expand=True)
    table.add_column("what happens", ratio=3)
    table.add_column("call", ratio=2)
    table.add_column("answer")
    table.add_column("why", ratio=5)
    for step in steps:
        times = step.get("times", 1)
        for n in range(times if isinstance(times, int) else 1):
            said = str(step["say"]) + (f" ({n + 1})" if times != 1 else "")
            table.add_row(said, *_step(root, step))
    return table


def _step(root: Path, step: dict[str, Json]) -> tuple[str, Text, str]:
    if isinstance(step.get("person"), dict):
        _write(root, step["person"])
        return "– a person –", Text(), ""
    if step.get("clear"):
        call(root, "rulecore/halt/clear", {"all": True})
        return "rulecore halt clear --all", Text(), ""
    event: dict[str, Json] = {
        "agent": "demo", "session": "demo", "cwd": str(root), "tool": step["tool"], "params": step["params"], "ops": step["ops"],
    }  # fmt: skip
    before = _ask(root, "rulecore/guard/pre", event)
    if before["action"] in ("deny", "stop"):
        return _spell(step), _badge(before["action"]), str(before["message"])
    if isinstance(step.get("does"), dict):
        _write(root, step["does"])
    result: Json = step.get("result") or {"text": "ok"}
    came: JsonObject = {"result": result, "error": step.get("error"), "exit_code": step.get("exit_code")}
    after = _ask(root, "rulecore/guard/post", {**event, **came})
    stronger = after if after["action"] in ("advise", "stop") else before
    return _spell(step), _badge(stronger["action"]), str(stronger["message"])


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


def _badge(action: Json) -> Text:
    return Text(_WORDS[str(action)], style=_COLOURS[str(action)])


def _state(root: Path) -> Table:
    table = Table(title="What the guard knows now", title_justify="left", show_header=False)
    state = _ask(root, "rulecore/state/get", {"agent": "demo", "session": "demo"})
    validity = _ask(root, "rulecore/state/validity", {})
    metrics = _ask(root, "rulecore/metrics", {})
    for name in ("calls", "files_read", "forceHalt", "context_epoch"):
        table.add_row(name, str(state[name]))
    table.add_row("StateValidity", f"{validity['decision']}  {json.dumps(validity.get('dimensions'))}")
    table.add_row("decisions", ", ".join(f"{name} {count}" for name, count in sorted(metrics.items())))
    return table


def _editor(root: Path) -> Table:
    """Open a buffer in ``rulecore lsp``, which finds the guard running and follows it."""
    methods = "\n\n".join(f"    def method_{n}(self):\n        return {n}" for n in range(41))
    path = root / "everything.py"
    diagnostics = _diagnostics(path, _BUFFER.format(methods=methods))
    table = Table(title="An unsaved editor buffer in the language server", title_justify="left", expand=True)
    for column in ("line", "rule", "message"):
        table.add_column(column, ratio=5 if column == "message" else None)
    for found in diagnostics:
        table.add_row(str(found["range"]["start"]["line"] + 1), str(found["code"]), found["message"])
    return table


def _diagnostics(path: Path, text: str) -> list[dict[str, "object | dict"]]:  # type: ignore[type-arg]
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "rulecore_sidecar", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    uri = path.as_uri()
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    start = {"processId": os.getpid(), "rootUri": path.parent.as_uri(), "capabilities": {}}
    messages = [
        {"id": 1, "method": "initialize", "params": start},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
    ]
    assert process.stdin is not None
    for message in messages:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    process.stdin.flush()
    try:
        return next(
            m["params"]["diagnostics"]
            for m in _messages(process)
            if m.get("method") == "textDocument/publishDiagnostics"
        )
    finally:
        process.stdin.close()
        process.wait(10)


def _messages(process: "subprocess.Popen[bytes]") -> Iterator[dict[str, Json]]:
    assert process.stdout is not None
    while header := process.stdout.readline():
        length = int(header.split(b":")[1])
        process.stdout.readline()
        yield json.loads(process.stdout.read(length))
