"""The relay and the shell hook around it: a real process each time, as an agent starts it."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sidecar.agents.fake import Answer, owning

from rulecore_sidecar import client, relay
from rulecore_sidecar.agents import install
from rulecore_sidecar.agents.cline_carriers import HOOKS, PLUGIN
from rulecore_sidecar.endpoint import lock_path

HOOK_JSON = '{"hookName":"PreToolUse",\n"text":"一\\n二"}'


def run_relay(lock: Path, *start: str, hook: str = HOOK_JSON) -> str:
    command = [sys.executable, "-I", "-S", "-E", relay.__file__, str(lock), "cline", *start]
    done = subprocess.run(command, input=hook.encode(), capture_output=True, timeout=20, check=True)
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.fixture
def lock(runtime: Path) -> Path:
    return runtime / "locks" / "x.lock"


@pytest.fixture
def socket(runtime: Path) -> Path:
    return runtime / "rulecore" / "x.sock"


def test_the_answer_is_handed_on_and_the_question_reaches_the_sidecar_whole(lock: Path, socket: Path) -> None:
    with owning(lock, socket, lambda _: '{"contextModification":"看"}\n'.encode()) as requests:
        assert run_relay(lock) == '{"contextModification":"看"}\n'
    assert requests[0]["method"] == "rulecore/agent/hook"
    assert requests[0]["params"] == {"agent": "cline", "reply": "raw", "raw": json.loads(HOOK_JSON)}


def test_a_long_question_and_a_long_answer(lock: Path, socket: Path) -> None:
    long = json.dumps({"text": "x" * 400_000})
    with owning(lock, socket, lambda _: long.encode() + b"\n") as requests:
        assert run_relay(lock, hook=long) == long + "\n"
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
def test_whatever_fails_nothing_is_said(lock: Path, socket: Path, answer: Answer) -> None:
    with owning(lock, socket, answer):
        assert run_relay(lock) == "{}\n"


@pytest.mark.parametrize("open_one", ["lock", "socket"])
def test_a_folder_that_others_can_enter_is_not_trusted(lock: Path, socket: Path, open_one: str) -> None:
    with owning(lock, socket, lambda _: b'{"cancel":true}\n') as requests:
        {"lock": lock, "socket": socket}[open_one].parent.chmod(0o755)
        assert run_relay(lock) == "{}\n"
    assert requests == []


def test_a_lock_that_is_a_link_is_not_followed(lock: Path, socket: Path) -> None:
    with owning(lock, socket, lambda _: b'{"cancel":true}\n') as requests:
        link = lock.with_name("link")
        link.symlink_to(lock)
        assert run_relay(link) == "{}\n"
    assert requests == []


@pytest.mark.parametrize("left", [None, "", "1\n\n", "1\n{socket}\n"], ids=["none", "empty", "released", "dead"])
def test_a_missing_sidecar_is_started_for_the_next_time(
    lock: Path, socket: Path, tmp_path: Path, left: str | None
) -> None:
    for path in (lock, socket):
        path.parent.mkdir(mode=0o700)
    if left is not None:
        lock.write_text(left.format(socket=socket))
    made = tmp_path / "made it"
    assert run_relay(lock, "/bin/sh", "-c", f"sleep 0.1; : > {shlex.quote(str(made))}") == "{}\n"
    deadline = time.monotonic() + 10
    while not made.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert made.exists()


def test_nonsense_on_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-E", relay.__file__], input=b"", capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"{}\n", b"")


# -- the shell hook

CLI = '{"hookName":"tool_call","tool_call":{"name":"read_files"}}'
VSCODE = '{"hookName":"PreToolUse","taskId":"t"}'
ADVICE = '{"contextModification":"advice"}'


def run_hook(root: Path, hook: str, name: str = "PreToolUse", env: dict[str, str] | None = None) -> tuple[int, str]:
    command = [root / HOOKS / name]
    done = subprocess.run(command, input=hook.encode(), cwd=root, env=env, capture_output=True, timeout=20, check=False)
    return done.returncode, done.stdout.decode().strip()


def advice(_: object) -> bytes:
    return ADVICE.encode() + b"\n"


@contextmanager
def speaking(root: Path, answer: Answer) -> Iterator[list[dict[str, Any]]]:
    """``answer`` instead of the sidecar of ``root``."""
    with (
        tempfile.TemporaryDirectory(prefix="rc-") as folder,
        owning(lock_path(root), Path(folder) / "s", answer) as seen,
    ):
        yield seen


@pytest.fixture
def installed(served: Path) -> Path:
    install.install(served, ["cline"])
    return served


def test_vs_code_gets_the_sidecars_answer(installed: Path) -> None:
    with speaking(installed, advice) as requests:
        assert run_hook(installed, VSCODE) == (0, ADVICE)
        assert run_hook(installed, VSCODE, "PostToolUse") == (0, ADVICE)
    assert [request["params"]["raw"] for request in requests] == [json.loads(VSCODE)] * 2


def test_another_environment_than_that_of_the_installation_changes_nothing(installed: Path) -> None:
    with speaking(installed, advice):
        for name, value in (("XDG_RUNTIME_DIR", "/nonexistent"), ("TMPDIR", "/nonexistent"), ("LANG", "C")):
            assert run_hook(installed, VSCODE, env={"PATH": os.environ["PATH"], name: value}) == (0, ADVICE)


@pytest.mark.parametrize("call", [".clinerules/hooks/PreToolUse", "sh .clinerules/hooks/PreToolUse"])
def test_a_hook_that_is_called_by_a_relative_path(installed: Path, call: str) -> None:
    with speaking(installed, advice) as requests:
        done = subprocess.run(call.split(), input=CLI.encode(), cwd=installed, capture_output=True, check=True)
    assert done.stdout == b"{}\n" and requests == []


def test_in_a_repository_that_was_renamed_the_kept_hook_still_runs(repo: Path, runtime: Path) -> None:
    path = repo / HOOKS / "PreToolUse"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{THEIRS}'\n")
    install.install(repo, ["cline"])
    new = repo.rename(repo.with_name("new name"))
    assert run_hook(new, VSCODE) == (0, THEIRS)
    with speaking(repo, advice):
        assert run_hook(new, CLI) == (0, THEIRS)
    (report,) = install.status(new, ["cline"])
    assert {change.kind for change in report.changes} == {install.UPDATED}
    install.install(new, ["cline"])
    install.uninstall(new, ["cline"])
    assert (new / HOOKS / "PreToolUse").read_text() == f"#!/bin/sh\necho '{THEIRS}'\n"


def test_the_cli_gets_nothing_while_the_plugin_speaks_for_it(installed: Path) -> None:
    with speaking(installed, advice) as requests:
        assert run_hook(installed, CLI) == (0, "{}")
        assert requests == []
        (installed / PLUGIN).unlink()
        assert run_hook(installed, CLI) == (0, ADVICE)


def test_a_file_text_that_looks_like_the_cli_does_not_mislead(installed: Path) -> None:
    quoting = json.dumps({"hookName": "PreToolUse", "text": CLI}, separators=(",", ":"))
    with speaking(installed, advice):
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
    with speaking(repo, advice if spoken else lambda _: b"{}\n"):
        code, text = run_hook(repo, VSCODE)
    assert (code, json.loads(text)) == said
    assert seen.read_text() == VSCODE
