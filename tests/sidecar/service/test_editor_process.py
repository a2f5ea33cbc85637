"""Editor and guard on one workspace: who owns it, who follows, and what happens when the owner goes."""

import sys
from pathlib import Path

import pytest
from sidecar.lsp.client import PUSHED, Client
from sidecar.service.live import Line, wait_for

COMMAND = [sys.executable, "-I", "-m", "rulecore_sidecar", "lsp"]


@pytest.fixture
def editor(workspace, runtime, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    started: list[Client] = []

    def start() -> Client:
        client = Client(COMMAND)
        client.initialize(workspace, PUSHED)
        started.append(client)
        return client

    yield start
    for client in started:
        client.__exit__()


def endpoint(runtime: Path) -> Path:
    (found,) = (runtime / "rulecore").glob("*.sock")
    return found


def edit(path: Path, session: str = "s") -> dict:
    op = {"kind": "edit", "path": str(path)}
    return {"agent": "test", "session": session, "tool": "edit", "params": {"path": str(path)}, "ops": [op]}


def read(path: Path, session: str = "s") -> dict:
    op = {"kind": "read", "path": str(path)}
    return {"agent": "test", "session": session, "tool": "read", "params": {"path": str(path)}, "ops": [op]}


def unsaved_is_respected(line: Line, path: Path, session: str) -> bool:
    event = read(path, session)
    line.ask("rulecore/guard/pre", **event)
    line.ask("rulecore/guard/post", **event, result={"text": "b"})
    return "unsaved" in line.ask("rulecore/guard/pre", **edit(path, session))["message"]


def test_an_editor_owns_the_workspace_and_serves_agents(editor, workspace, runtime):
    client, path = editor(), workspace / "b.py"
    client.open(path.as_uri(), "b\n")
    client.change(path.as_uri(), 2, {"text": "b typed\n"})
    line = Line(endpoint(runtime))
    assert line.ask("rulecore/ping")["pid"] == client.process.pid
    wait_for(lambda: line.ask("rulecore/ping")["open_buffers"] == 1)
    assert unsaved_is_respected(line, path, "one")


def test_an_editor_follows_a_running_guard_and_takes_over_when_it_is_killed(editor, workspace, sidecar):
    client, path = editor(), workspace / "b.py"
    client.open(path.as_uri(), "b\n")
    client.change(path.as_uri(), 2, {"text": "b typed\n"})
    line = sidecar.line()
    wait_for(lambda: line.ask("rulecore/ping")["open_buffers"] == 1)
    assert line.ask("rulecore/ping")["pid"] == sidecar.process.pid
    assert client.result("rulecore/ping", {})["pid"] == sidecar.process.pid, "its requests go to the owner"
    assert unsaved_is_respected(line, path, "one")

    sidecar.kill()

    def taken_over() -> bool:
        try:
            return Line(sidecar.endpoint).ask("rulecore/ping")["pid"] == client.process.pid
        except OSError:
            return False

    wait_for(taken_over)
    line = sidecar.line()
    assert line.ask("rulecore/ping")["open_buffers"] == 1, "its buffers are told again"
    assert unsaved_is_respected(line, path, "two")


def test_two_editors_and_the_first_one_closes(editor, workspace, runtime):
    first, second, path = editor(), editor(), workspace / "b.py"
    second.open(path.as_uri(), "b\n")
    second.change(path.as_uri(), 2, {"text": "b typed\n"})
    line = Line(endpoint(runtime))
    assert line.ask("rulecore/ping")["pid"] == first.process.pid
    wait_for(lambda: line.ask("rulecore/ping")["open_buffers"] == 1)
    first.process.kill()

    def second_owns() -> bool:
        try:
            pong = Line(endpoint(runtime)).ask("rulecore/ping")
        except (OSError, ValueError):
            return False
        return pong["pid"] == second.process.pid and pong["open_buffers"] == 1

    wait_for(second_owns)


def test_a_followers_buffers_go_with_it(editor, workspace, sidecar):
    client = editor()
    client.open((workspace / "b.py").as_uri(), "b\n")
    line = sidecar.line()
    wait_for(lambda: line.ask("rulecore/ping")["open_buffers"] == 1)
    client.process.kill()
    wait_for(lambda: line.ask("rulecore/ping")["open_buffers"] == 0)
