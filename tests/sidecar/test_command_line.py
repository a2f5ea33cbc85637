"""The command as a person meets it: exit codes, no tracebacks, readers that go away, folders that are not there."""

import json
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

RULECORE = str(Path(sys.executable).parent / "rulecore")


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    options.setdefault("timeout", 60)
    return subprocess.run([RULECORE, *arguments], capture_output=True, text=True, **options)


@pytest.fixture
def gone(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    yield
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("arguments", [["--help"], ["kernel", "list"], ["--version"]])
def test_from_a_folder_that_was_deleted(gone, arguments):
    done = run(*arguments)
    assert done.returncode == 0 and "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["sockname"], ["halt", "get"], ["serve"], ["stop"]])
def test_commands_that_need_the_folder_say_that_it_is_gone(gone, arguments):
    done = run(*arguments)
    assert done.returncode == 2 and "does not exist any more" in done.stderr


@pytest.mark.parametrize("arguments", [["sockname"], ["halt", "get"], ["serve"], ["stop"]])
def test_a_root_that_is_no_folder(arguments, tmp_path):
    done = run(*arguments, "--root", str(tmp_path / "nowhere"), timeout=10)
    assert done.returncode == 2 and "not a folder" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["kernel", "explain", "Nope"], ["replay", "missing.jsonl"], ["halt", "clear", "--wrong"]],
)
def test_bad_usage_is_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2 and done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["kernel", "list"], ["--help"], ["kernel", "explain", "OnError"]])
def test_a_reader_that_goes_away_gets_no_complaint(arguments):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([RULECORE, *arguments], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert "Traceback" not in done.stderr and "internal" not in done.stderr and done.returncode in (1, 2)


EVENTS = [
    {"event": "call", "tool": "read", "params": {}, "ops": [{"kind": "read", "path": "a", "hash": "h"}]},
    {"event": "message"},
    {"event": "call", "tool": "read", "params": {}, "ops": [{"kind": "read", "path": "a", "hash": "h"}]},
]


def test_replay_prints_a_line_an_event(tmp_path):
    record = tmp_path / "record.jsonl"
    record.write_text("\ufeff" + "\n".join(json.dumps(event) for event in EVENTS), "utf-8")
    done = run("replay", "--decisions", str(record))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["i"] for line in lines] == [0, 1, 2]
    assert [line.get("pre", {}).get("action") for line in lines] == ["allow", None, "deny"]
    assert json.loads(run("replay", "--json", str(record)).stdout)["before: deny"] == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 1"),
        ("[]", "line 1"),
        ('{"event": "nope"}', "event 0"),
        ('{"event": "external_write"}', "path is missing"),
        ('{"event": "call"}', "tool is missing"),
    ],
)
def test_replay_says_where_a_record_is_wrong(tmp_path, line, says):
    (tmp_path / "r").write_text(line)
    done = run("replay", str(tmp_path / "r"))
    assert done.returncode == 2 and says in done.stderr


@pytest.fixture
def halted(tmp_path, monkeypatch):
    """A workspace with one halted session."""
    from rulecore_sidecar import client

    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        root = tmp_path.resolve()
        client.ensure_served(root)
        event = {
            "agent": "t",
            "session": "s",
            "tool": "run",
            "params": {},
            "ops": [{"kind": "exec", "command": "make"}],
        }
        for _ in range(5):
            client.call(root, "rulecore/guard/pre", event)
            client.call(root, "rulecore/guard/post", {**event, "result": {"text": "no"}, "exit_code": 2})
        yield root
        assert run("stop", "--root", str(root)).returncode == 0


def test_a_halt_is_seen_and_cleared_by_a_person_only(halted):
    assert "run failed" in run("halt", "get", "--root", str(halted)).stdout
    refused = run("halt", "clear", "--root", str(halted), stdin=subprocess.DEVNULL)
    assert refused.returncode == 2 and "terminal" in refused.stderr
    person, terminal = pty.openpty()
    done = run("halt", "clear", "--root", str(halted), stdin=terminal)
    os.close(person), os.close(terminal)
    assert done.returncode == 0 and "Cleared: 1" in done.stdout
    assert "No session is halted" in run("halt", "get", "--root", str(halted)).stdout


def test_the_demo_runs_and_leaves_nothing_behind():
    done = run("demo")
    assert done.returncode == 0, done.stderr
    for word in ("allowed", "advised", "skipped", "stopped", "StateValidity", "todoFIXME", "Cohesion"):
        assert word in done.stdout
