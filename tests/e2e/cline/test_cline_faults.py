"""Whatever happens to the guard, Cline goes on as if nothing were installed; and it can be taken out again.

Source: spec agents.md sections 2.8 and 3.
"""

import json
import socketserver
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from e2e.cline.harness import ClineRun
from e2e.cline.mock_openai import Turn
from e2e.cline.steps import BLANKED, SHOWN, TEXT, after, command, edit, read

from rulecore_sidecar.agents.cline_carriers import HOOKS, PLUGIN

pytestmark = pytest.mark.e2e


def work(path: Path) -> list[Turn]:
    """A little of everything; ends with the file edited."""
    return [read(path), read(path), command("echo hello"), edit(path, "beta = 2", "beta = 3")]


def assert_unguarded(machine: ClineRun, script: Callable[[Path], list[Turn]] = work) -> None:
    """Cline does ``script`` to the end and nothing of it is held back."""
    path = machine.write("a.py", TEXT)
    outcome = machine.run(script(path))
    assert (outcome.finish_reason, outcome.returncode) == ("completed", 0)
    assert all(SHOWN in outcome.results()[c] for c in ("call_0_0", "call_1_0"))
    assert path.read_text() == "alpha = 1\nbeta = 3\n"


# -- the sidecar dies


def test_a_sidecar_killed_in_mid_run_is_missed_and_comes_back(machine: ClineRun) -> None:
    path = machine.write("a.py", TEXT)
    script = [
        read(path),
        after(read(path), machine.kill_sidecar),
        command("sleep 3.1"),
        command("echo back"),
        edit(path, "beta = 2", "beta = 3"),
    ]
    outcome = machine.run(script)
    assert outcome.finish_reason == "completed"
    assert SHOWN in outcome.results()["call_1_0"], "nobody was there to refuse it"
    assert path.read_text() == "alpha = 1\nbeta = 3\n"
    counters = machine.ask("rulecore/metrics")
    assert isinstance(counters["lost_calls"], int) and counters["lost_calls"] >= 2


# -- something else than a sidecar answers


def garbage(request: socketserver.StreamRequestHandler) -> None:
    for _ in request.rfile:
        request.wfile.write(b"\xff\x00 this is no JSON\n")


NOT_DECISIONS: list[object] = [
    ["deny"],
    "stop",
    5,
    {"action": "advise", "message": 7},
    {"action": "deny"},
    {"action": "substitute", "message": "take this", "substitute": "that"},
    {"action": {"stop": True}, "message": "stop"},
    {"action": "stop", "message": {}},
]


def wrong_types(request: socketserver.StreamRequestHandler) -> None:
    for number, line in enumerate(request.rfile):
        result = {"ok": True} if b"session/" in line else NOT_DECISIONS[number % len(NOT_DECISIONS)]
        reply(request, line, result)


def reply(request: socketserver.StreamRequestHandler, line: bytes, result: object) -> None:
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result}
    request.wfile.write(json.dumps(answer).encode() + b"\n")


def too_slow(request: socketserver.StreamRequestHandler) -> None:
    for line in request.rfile:
        if b"session/" not in line:
            time.sleep(0.6)
        reply(request, line, {"ok": True, "action": "deny", "message": "too late"})


def endless(request: socketserver.StreamRequestHandler) -> None:
    while True:
        request.wfile.write(b"x" * 65_536)


def hang_up(request: socketserver.StreamRequestHandler) -> None:
    request.rfile.readline()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A broken pipe is what these servers are for."""


@contextmanager
def impostor(machine: ClineRun, behaviour: Callable[[socketserver.StreamRequestHandler], None]) -> Iterator[list[str]]:
    """Let the installed plugin talk to a server with ``behaviour``; yields what grows with every connection."""
    connections: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            connections.append("one")
            behaviour(self)

    path = machine.runtime / "impostor"
    with _Server(str(path), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        endpoint_command(machine, ["/bin/sh", "-c", f"echo {path}"])
        yield connections
        server.shutdown()


def endpoint_command(machine: ClineRun, words: list[str]) -> None:
    """Give the installed plugin another command to find the sidecar by."""
    plugin = machine.workspace / PLUGIN
    lines = plugin.read_text().split("\n")
    (number,) = (n for n, line in enumerate(lines) if line.startswith("const CONFIG = "))
    lines[number] = f"const CONFIG = {json.dumps({'root': str(machine.workspace), 'command': words})};"
    plugin.write_text("\n".join(lines))


@pytest.mark.parametrize("behaviour", [garbage, wrong_types, too_slow, endless, hang_up])
def test_an_impostor_on_the_socket_leaves_cline_working(
    machine: ClineRun, behaviour: Callable[[socketserver.StreamRequestHandler], None]
) -> None:
    with impostor(machine, behaviour) as connections:
        assert_unguarded(machine)
    assert connections


def test_an_uninstalled_rulecore_leaves_cline_working(machine: ClineRun) -> None:
    endpoint_command(machine, ["/nonexistent/python"])
    assert_unguarded(machine)


# -- file hooks


def test_without_the_plugin_the_file_hooks_refuse_without_blanking(machine: ClineRun) -> None:
    machine.serve()
    (machine.workspace / PLUGIN).unlink()
    path = machine.write("a.py", TEXT)
    eager = {"CLINE_MESSAGE_BUILDER_MIN_OUTDATED_REWRITE_BYTES": "0"}
    outcome = machine.run([read(path), read(path), read(path, 1, 1)], env=eager)
    results = outcome.results()
    assert SHOWN in results["call_0_0"] and BLANKED not in results["call_0_0"]
    assert "IdempotencyGuard" in results["call_1_0"] and SHOWN not in results["call_1_0"]
    assert outcome.finish_reason == "completed"


def test_without_the_plugin_edits_and_commands_are_refused_by_inputs_that_fail(machine: ClineRun) -> None:
    machine.serve()
    (machine.workspace / PLUGIN).unlink()
    path = machine.write("a.py", TEXT)
    stale = after(edit(path, "beta = 2", "beta = 3"), lambda: path.write_text("alpha = 9\nbeta = 2\n"))
    outcome = machine.run([read(path), stale, command("rulecore halt clear --all")])
    results = outcome.results()
    assert "SyncGuard.stale_edit" in results["call_1_0"] and path.read_text() == "alpha = 9\nbeta = 2\n"
    assert "OnError.person_only" in results["call_2_0"] and "code 97" in results["call_2_0"]
    assert outcome.finish_reason == "completed"
    assert machine.git("status", "--porcelain", "-uall").split() == ["??", "a.py"]


def test_a_hook_of_yours_still_runs(bare: ClineRun) -> None:
    seen = bare.workspace / "seen"
    mine = bare.write(f"{HOOKS}/PreToolUse", f'#!/bin/sh\ncat >>{seen}\necho \'{{"contextModification":"mine"}}\'\n')
    mine.chmod(0o755)
    bare.install()
    path = bare.write("a.py", TEXT)
    outcome = bare.run([read(path)])
    bare.kill_sidecar()
    assert "mine" in outcome.said_by_hooks() and b"read_files" in seen.read_bytes()


# -- uninstall


def tree(machine: ClineRun) -> dict[str, tuple[int, bytes]]:
    """Mode and content of every file and folder, git's own and the sidecar's store left out, the exclude file not."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(machine.workspace.rglob("*")):
        name = path.relative_to(machine.workspace).as_posix()
        if name.startswith((".git/", ".rulecore")) and name != ".git/info/exclude":
            continue
        mode = stat.S_IMODE(path.lstat().st_mode)
        found[name] = (mode, path.read_bytes() if path.is_file() else b"")
    return found


def test_uninstall_leaves_no_trace(bare: ClineRun) -> None:
    mine = bare.write(f"{HOOKS}/PostToolUse", "#!/bin/sh\necho '{}'\n")
    mine.chmod(0o750)
    path = bare.write("a.py", TEXT)
    before = tree(bare)
    bare.install()
    assert bare.git("status", "--porcelain", "--", ".cline", ".rulecore").strip() == ""
    assert bare.run([read(path)]).finish_reason == "completed"
    done = bare.rulecore("agent", "uninstall", "cline")
    assert done.returncode == 0, done.stdout + done.stderr
    assert tree(bare) == before
    assert not (bare.workspace / ".rulecore" / "agents.json").exists()
    outcome = bare.run([read(path), read(path)])
    assert SHOWN in outcome.results()["call_1_0"]
    bare.kill_sidecar()
