"""The relay and the shell hook around it: a real process each time, as an agent starts it."""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sidecar.agents.fake import Answer, answering

from rulecore_sidecar import client, relay
from rulecore_sidecar.agents import install
from rulecore_sidecar.agents.cline_carriers import HOOKS, PLUGIN
from rulecore_sidecar.endpoint import socket_path

HOOK_JSON = '{"hookName":"PreToolUse",\n"text":"一\\n二"}'


def run_relay(socket: Path, *start: str, hook: str = HOOK_JSON) -> str:
    command = [sys.executable, "-I", "-S", "-E", relay.__file__, str(socket), "cline", *start]
    done = subprocess.run(command, input=hook.encode(), capture_output=True, timeout=20, check=True)
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.fixture
def socket(runtime: Path) -> Path:
    return runtime / "rulecore" / "x.sock"


def test_the_answer_is_handed_on_and_the_question_reaches_the_sidecar_whole(socket: Path) -> None:
    with answering(socket, lambda _: '{"contextModification":"看"}\n'.encode()) as requests:
        assert run_relay(socket) == '{"contextModification":"看"}\n'
    assert requests[0]["method"] == "rulecore/agent/hook"
    assert requests[0]["params"] == {"agent": "cline", "reply": "raw", "raw": json.loads(HOOK_JSON)}


def test_a_long_question_and_a_long_answer(socket: Path) -> None:
    long = json.dumps({"text": "x" * 400_000})
    with answering(socket, lambda _: long.encode() + b"\n") as requests:
        assert run_relay(socket, hook=long) == long + "\n"
    assert requests[0]["params"]["raw"] == json.loads(long)


def slow(_: object) -> bytes:
    time.sleep(0.5)
    return b'{"late":1}\n'


FAULTS: dict[str, Answer] = {
    "slow": slow,
    "hangs up": lambda _: None,
    "an error": lambda _: b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}\n',
    "no JSON": lambda _: b"\xff\xfe\n",
    "no end of line": lambda _: b"{}",
}


@pytest.mark.parametrize("answer", FAULTS.values(), ids=FAULTS.keys())
def test_whatever_fails_nothing_is_said(socket: Path, answer: Answer) -> None:
    with answering(socket, answer):
        assert run_relay(socket) == "{}\n"


def test_a_folder_that_others_can_enter_is_not_trusted(socket: Path) -> None:
    with answering(socket, lambda _: b'{"cancel":true}\n') as requests:
        socket.parent.chmod(0o755)
        assert run_relay(socket) == "{}\n"
    assert requests == []


def test_a_missing_sidecar_is_started_for_the_next_time(socket: Path, tmp_path: Path) -> None:
    socket.parent.mkdir(mode=0o700)
    made = tmp_path / "made it"
    assert run_relay(socket, "/bin/sh", "-c", f"sleep 0.1; : > {shlex.quote(str(made))}") == "{}\n"
    deadline = time.monotonic() + 10
    while not made.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert made.exists()


def test_nonsense_on_the_command_line(socket: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-E", relay.__file__], input=b"", capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"{}\n", b"")


# -- the shell hook

CLI = '{"hookName":"tool_call","tool_call":{"name":"read_files"}}'
VSCODE = '{"hookName":"PreToolUse","taskId":"t"}'
ADVICE = '{"contextModification":"advice"}'


def run_hook(root: Path, hook: str, name: str = "PreToolUse") -> tuple[int, str]:
    path = root / HOOKS / name
    done = subprocess.run([path], input=hook.encode(), cwd=root, capture_output=True, timeout=20, check=False)
    return done.returncode, done.stdout.decode().strip()


def advice(_: object) -> bytes:
    return ADVICE.encode() + b"\n"


@pytest.fixture
def installed(served: Path) -> Path:
    install.install(served, ["cline"])
    return served


def test_vs_code_gets_the_sidecars_answer(installed: Path) -> None:
    with answering(socket_path(installed), advice) as requests:
        assert run_hook(installed, VSCODE) == (0, ADVICE)
        assert run_hook(installed, VSCODE, "PostToolUse") == (0, ADVICE)
    assert [request["params"]["raw"] for request in requests] == [json.loads(VSCODE)] * 2


def test_the_cli_gets_nothing_while_the_plugin_speaks_for_it(installed: Path) -> None:
    with answering(socket_path(installed), advice) as requests:
        assert run_hook(installed, CLI) == (0, "{}")
        assert requests == []
        (installed / PLUGIN).unlink()
        assert run_hook(installed, CLI) == (0, ADVICE)


def test_a_file_text_that_looks_like_the_cli_does_not_mislead(installed: Path) -> None:
    quoting = json.dumps({"hookName": "PreToolUse", "text": CLI}, separators=(",", ":"))
    with answering(socket_path(installed), advice):
        assert run_hook(installed, quoting) == (0, ADVICE)


def test_without_a_sidecar_the_hook_says_nothing_and_starts_one(installed: Path) -> None:
    assert run_hook(installed, VSCODE) == (0, "{}")
    deadline = time.monotonic() + 20
    while not client.is_served(installed) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert client.is_served(installed)


THEIRS = '{"contextModification":"theirs"}'
BOTH = {"contextModification": "advice\n\ntheirs"}
CHAINS: list[tuple[str, str, int, bool, tuple[int, object]]] = [
    ("both speak", f"echo '{THEIRS}'", 0o755, True, (0, BOTH)),
    ("not executable", f"echo '{THEIRS}'", 0o644, True, (0, BOTH)),
    ("theirs is silent", "true", 0o755, True, (0, {"contextModification": "advice"})),
    ("theirs is no JSON", "echo hello", 0o755, True, (0, {"contextModification": "advice"})),
    ("theirs stops", "echo '{\"cancel\":true}'", 0o755, True, (0, {"contextModification": "advice", "cancel": True})),
    ("ours is silent", f"echo '{THEIRS}'; exit 3", 0o755, False, (3, {"contextModification": "theirs"})),
]


@pytest.mark.parametrize(
    ("body", "mode", "spoken", "said"), [row[1:] for row in CHAINS], ids=[row[0] for row in CHAINS]
)
def test_a_hook_that_had_our_name_runs_too(
    repo: Path, runtime: Path, body: str, mode: int, spoken: bool, said: tuple[int, object]
) -> None:
    seen = repo / "seen"
    path = repo / HOOKS / "PreToolUse"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\ncat >{shlex.quote(str(seen))}\n{body}\n")
    path.chmod(mode)
    install.install(repo, ["cline"])
    with answering(socket_path(repo), advice if spoken else lambda _: b"{}\n"):
        code, text = run_hook(repo, VSCODE)
    assert (code, json.loads(text)) == said
    assert seen.read_text() == VSCODE
