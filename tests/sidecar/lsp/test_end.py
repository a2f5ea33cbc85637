"""How the process ends: always, soon, and with the right code."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .client import FAKE_SERVER, TIMEOUT, Client, frame

THREADED = [*FAKE_SERVER, "--threads"]
posix = pytest.mark.skipif(os.name != "posix", reason="processes and signals of POSIX")


def say_exit(client: Client) -> None:
    client.notify("exit")


def say_goodbye(client: Client) -> None:
    assert client.result("shutdown") is None
    client.notify("exit")


def end_of_input(client: Client) -> None:
    client.close_input()


def goodbye_without_exit(client: Client) -> None:
    assert client.result("shutdown") is None
    client.close_input()


def cut_off(client: Client) -> None:
    client.send_bytes(b"Content-Length: 100\r\n\r\n{")
    client.close_input()


ENDS = [(say_exit, 1), (say_goodbye, 0), (end_of_input, 1), (goodbye_without_exit, 0), (cut_off, 1)]


@pytest.mark.parametrize("command", [FAKE_SERVER, THREADED], ids=["polled", "threads"])
@pytest.mark.parametrize(("end", "code"), ENDS)
def test_exit_codes(tmp_path: Path, command: list[str], end: Callable[[Client], None], code: int) -> None:
    with Client(command) as client:
        client.initialize(tmp_path)
        end(client)
        assert client.exit_code() == code
        client.wait_for_stderr(f"stopped {tmp_path.name}")


@pytest.mark.parametrize("end", [say_exit, end_of_input])
def test_the_end_before_initialize(end: Callable[[Client], None]) -> None:
    with Client() as client:
        end(client)
        assert client.exit_code() == 1


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with Client() as client:
        client.initialize(tmp_path)
        client.process.send_signal(number)
        assert client.exit_code() == 0
        client.wait_for_stderr(f"stopped {tmp_path.name}")
        assert b"Traceback" not in client.stderr


def test_busy_threads_and_open_requests_do_not_hold_it_up(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(tmp_path)
        client.start_request("rulecore/late", {"seconds": 600})
        client.result("rulecore/block", {})
        say_goodbye(client)
        assert client.exit_code() == 0


def test_what_is_sent_after_exit_is_not_answered(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(tmp_path)
        request = {"jsonrpc": "2.0", "id": 50, "method": "rulecore/echo"}
        client.send_bytes(frame({"jsonrpc": "2.0", "method": "exit"}) + frame(request))
        assert client.exit_code() == 1
        assert not any(message.get("id") == 50 for message in client.unexpected)


@posix
def test_the_editors_death_ends_it(tmp_path: Path) -> None:
    """Its pipes are still held here, so only the number of its process tells."""
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        with Client() as client:
            client.initialize(tmp_path, processId=editor.pid)
            assert client.result("rulecore/echo", {}) == {}
            editor.kill()
            editor.wait()
            assert client.exit_code() == 1
    finally:
        editor.kill()


@posix
@pytest.mark.parametrize("number", [None, 0, -1, 2**31 - 1])
def test_an_editor_that_cannot_be_seen_is_not_waited_for(tmp_path: Path, number: int | None) -> None:
    with Client() as client:
        client.initialize(tmp_path, processId=number)
        assert client.result("rulecore/late", {"seconds": 0.01}) == {"late": True}
        say_goodbye(client)
        assert client.exit_code() == 0


def test_an_editor_that_does_not_read_its_answers(tmp_path: Path) -> None:
    """The server reads on, and the answers that nobody takes do not hold up its end."""
    server = subprocess.Popen(FAKE_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert server.stdin is not None
        hello = {"capabilities": {}, "rootUri": tmp_path.as_uri()}
        server.stdin.write(frame({"id": 0, "method": "initialize", "params": hello}))
        for n in range(1, 101):
            server.stdin.write(frame({"id": n, "method": "rulecore/echo", "params": {"text": "x" * 100_000}}))
        server.stdin.write(frame({"method": "exit"}))
        server.stdin.flush()
        assert server.wait(TIMEOUT) == 1
    finally:
        server.kill()
        server.communicate()


@posix
def test_an_editor_that_closes_only_our_output(tmp_path: Path) -> None:
    server = subprocess.Popen(FAKE_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert server.stdin is not None and server.stdout is not None
        server.stdout.close()
        server.stdin.write(frame({"id": 0, "method": "initialize", "params": {"capabilities": {}}}))
        server.stdin.flush()
        assert server.wait(TIMEOUT) == 1
    finally:
        server.kill()
        server.communicate()


@posix
def test_a_killed_server_leaves_no_analysis_behind(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(tmp_path)
        uri = (tmp_path / "a.py").as_uri()
        client.open(uri, "# TODO\n")
        assert client.pushed(uri, 1)
        (child,) = children(client.process.pid)
        client.process.kill()
        client.process.wait()
        deadline = time.monotonic() + TIMEOUT
        while is_running(child):
            assert time.monotonic() < deadline, "the analysis process outlived the server"
            time.sleep(0.01)


def children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("command", [FAKE_SERVER, THREADED], ids=["polled", "threads"])
def test_input_from_a_file(tmp_path: Path, command: list[str]) -> None:
    """Not every system can poll a file."""
    source = tmp_path / "in"
    source.write_bytes(frame({"id": 1, "method": "rulecore/echo"}) + frame({"method": "exit"}))
    with source.open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        done = subprocess.run(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=TIMEOUT)
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "out").read_bytes().startswith(b"Content-Length: ")
