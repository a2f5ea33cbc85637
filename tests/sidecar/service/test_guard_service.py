"""The guard service as an agent's carrier sees it: a real process, a real socket, real files."""

import json
import os
import stat
import subprocess
import sys
import time

import pytest
from sidecar.service.live import Agent, Line, wait_for


def test_a_read_is_not_served_twice_but_on_insistence(sidecar):
    agent = sidecar.agent()
    assert agent.read("a.py")["action"] == "allow"
    assert agent.read("a.py")["action"] == "deny"
    served = agent.read("a.py")
    assert served["action"] == "advise" and served["decision"] == "switch_strategy", "served, and told that it repeats"


def test_a_range_inside_what_was_read(sidecar):
    agent = sidecar.agent()
    assert agent.read("a.py", 1, 50)["action"] == "allow"
    assert agent.read("a.py", 10, 20)["action"] == "deny"
    assert agent.read("a.py", 40, 60)["action"] == "allow"


@pytest.mark.parametrize("spelling", ["a.py", "./a.py", "sub/../a.py"])
def test_one_file_under_every_spelling(sidecar, spelling):
    (sidecar.root / "sub").mkdir()
    agent = sidecar.agent()
    assert agent.read(str(sidecar.root / "a.py"))["action"] == "allow"
    assert agent.read(spelling)["action"] == "deny"


def test_a_change_on_the_disk_makes_it_readable_again(sidecar):
    agent = sidecar.agent()
    agent.read("a.py")
    (sidecar.root / "a.py").write_text("other\n")
    assert agent.read("a.py")["action"] == "allow"


def test_a_same_size_change_within_the_clocks_grain_is_seen(sidecar):
    agent = sidecar.agent()
    path = sidecar.root / "b.py"
    agent.read("b.py")
    before = path.stat()
    path.write_text("c\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert agent.read("b.py")["action"] == "allow"


def test_a_stale_edit_names_the_lines_and_is_welcome_after_reading_them(sidecar):
    agent, path = sidecar.agent(), sidecar.root / "a.py"
    agent.read("a.py")
    path.write_text(path.read_text().replace("line 40\n", "LINE 40\n"))
    refused = agent.edit("a.py")
    assert refused["action"] == "deny" and "line 40)" in refused["message"]
    assert path.read_text().startswith("line 1\n")
    assert agent.read("a.py", 1, 30)["action"] == "allow"
    assert agent.edit("a.py")["action"] == "deny"
    assert agent.read("a.py", 35, 45)["action"] == "allow"
    assert agent.edit("a.py")["action"] == "allow"


def test_who_changed_it_another_session(sidecar):
    one, other = sidecar.agent("one"), sidecar.agent("other")
    one.read("b.py"), other.read("b.py")
    assert other.edit("b.py", "by the other\n")["action"] == "allow"
    assert "session other" in one.edit("b.py")["message"]


def test_who_changed_it_the_agents_own_command(sidecar):
    agent = sidecar.agent()
    agent.read("b.py")
    agent.run("ruff format b.py", effect=lambda: (sidecar.root / "b.py").write_text("formatted\n"))
    assert "ruff" in agent.edit("b.py")["message"]


def test_who_changed_it_unsaved_text_in_the_editor(sidecar):
    agent, editor = sidecar.agent(), sidecar.line()
    path = str(sidecar.root / "b.py")
    agent.read("b.py")
    editor.ask("rulecore/editor/open", path=path, text="b\n", version=1, editor="code")
    assert agent.edit("b.py", None, error="just trying")["action"] == "allow"
    editor.ask("rulecore/editor/change", path=path, text="b typed\n", version=2, editor="code")
    refused = agent.edit("b.py")
    assert refused["action"] == "deny" and "unsaved" in refused["message"]
    editor.close()
    wait_for(lambda: agent.line.ask("rulecore/ping")["open_buffers"] == 0)
    assert agent.edit("b.py")["action"] == "allow", "the editor is gone and with it the unsaved text"


def test_an_editor_that_lags_behind_the_agents_own_edit_does_not_make_it_stale(sidecar):
    agent, editor = sidecar.agent(), sidecar.line()
    agent.read("b.py")
    editor.ask("rulecore/editor/open", path=str(sidecar.root / "b.py"), text="b\n", version=1, editor="code")
    assert agent.edit("b.py", "first\n")["action"] == "allow"
    assert agent.edit("b.py", "second\n")["action"] == "allow"


def test_an_edit_of_a_file_never_read_is_advised_and_creating_one_is_not(sidecar):
    agent = sidecar.agent()
    assert agent.edit("b.py")["action"] == "advise"
    assert agent.edit("new.py")["action"] == "allow"
    assert agent.edit("new.py", "again\n")["action"] == "allow"


def test_a_halt_and_its_clearing(sidecar):
    agent = sidecar.agent()
    agent.read("b.py")
    answers = [agent.run("make deploy", "no rule", 2)["action"] for _ in range(5)]
    assert answers == ["allow", "allow", "advise", "advise", "stop"]
    assert agent.edit("b.py")["action"] == "stop"
    assert agent.edit("b.py", "again\n")["action"] == "deny"
    assert agent.read("a.py")["action"] == "allow"
    assert sidecar.agent("unconcerned").run("make deploy", "no rule", 2)["action"] == "allow"
    (halt,) = agent.line.ask("rulecore/halt/get")["halts"]
    assert halt["session"] == "s1" and "make" not in halt["reason"]
    assert agent.line.ask("rulecore/halt/clear", session="s1") == {"cleared": 1}
    assert agent.edit("b.py", "on we go\n")["action"] == "allow"


def test_an_agent_cannot_clear_its_own_halt_or_change_the_guard(sidecar):
    agent = sidecar.agent()
    assert agent.run("rulecore halt clear --all")["action"] == "deny"
    assert agent.edit("project.md", "---\nguard:\n  mode: observe\n---\n")["action"] == "deny"
    assert agent.edit("project.md", "---\nguard.mode: observe\n---\n")["action"] == "deny"
    assert agent.edit("project.md", "# Project\n\nguards are good\n")["action"] == "allow"


def test_sub_agents_have_their_own_state(sidecar):
    main, sub = sidecar.agent(), sidecar.agent(agent_id="sub")
    assert main.read("a.py")["action"] == sub.read("a.py")["action"] == "allow"
    assert main.read("a.py")["action"] == "deny"


@pytest.mark.parametrize("kind", ["compact", "resume"])
def test_a_cut_context_clears_the_ledger(sidecar, kind):
    agent = sidecar.agent()
    agent.read("a.py")
    agent.line.ask(f"rulecore/session/{kind}", agent="test", session="s1")
    assert agent.read("a.py")["action"] == "allow"


def test_lost_calls_are_counted(sidecar):
    line = sidecar.line()
    line.ask("rulecore/session/start", agent="test", session="s1", lost=3)
    assert line.ask("rulecore/metrics")["lost_calls"] == 3


def test_paths_outside_the_root_are_let_through_and_not_remembered(sidecar, tmp_path):
    secret = tmp_path / "outside.txt"
    secret.write_text("x")
    agent = sidecar.agent()
    assert [agent.read(str(secret))["action"], agent.read("../outside.txt")["action"]] == ["allow", "allow"]
    assert agent.line.ask("rulecore/state/get", agent="test", session="s1")["files_read"] == 0


def test_a_file_name_that_is_no_unicode_is_remembered_like_any_other(sidecar):
    (sidecar.root / os.fsdecode(b"caf\xe9.py")).write_text("x\n")
    for expected in ("allow", "deny"):
        assert sidecar.agent().read(os.fsdecode(b"caf\xe9.py"))["action"] == expected
        sidecar.kill()
        sidecar.start()


def test_a_deleted_workspace_is_answered(sidecar):
    agent = sidecar.agent()
    agent.read("a.py")
    sidecar.root.rename(sidecar.root.with_name("gone"))
    assert agent.read("a.py")["action"] == "allow"
    assert agent.edit("a.py", None)["action"] == "allow"
    sidecar.root.with_name("gone").rename(sidecar.root)


# -- surviving


def test_what_was_answered_survives_kill_9(sidecar):
    sidecar.agent("reader").read("a.py")
    for _ in range(5):
        sidecar.agent("looper").run("make deploy", "no rule", 2)
    sidecar.kill()
    sidecar.start()
    assert sidecar.agent("looper").edit("b.py")["action"] == "stop"
    assert sidecar.agent("reader").read("a.py")["action"] == "deny"


def test_a_call_that_was_pending_is_pending_and_the_state_is_invalid_until_the_agent_goes_on(sidecar):
    agent = sidecar.agent()
    assert agent.line.ask("rulecore/state/validity")["decision"] == "valid"
    agent.pre(agent.event("edit", {"path": "b.py"}, {"kind": "edit", "path": "b.py"}, call_id="c1"))
    assert agent.line.ask("rulecore/state/validity")["decision"] == "valid", "its owner is running"
    sidecar.kill()
    sidecar.start()
    line = sidecar.line()
    found = line.ask("rulecore/state/validity")
    assert found["decision"] == "invalid" and found["dimensions"]["internal"] is False and "c1" in str(found)
    Agent(line, sidecar.root).read("a.py")
    assert line.ask("rulecore/state/validity")["decision"] == "valid"


def test_drift_shows_in_the_state(sidecar):
    agent = sidecar.agent()
    agent.read("a.py")
    (sidecar.root / "a.py").write_text("changed\n")
    found = agent.line.ask("rulecore/state/validity")
    assert (
        found["decision"] == "degraded" and found["dimensions"]["external"] is False and "a.py" in str(found["drift"])
    )


def test_a_hundred_kills_lose_nothing_that_was_answered(sidecar):
    """``kill -9`` right after an answer, over and over: the count of calls never falls behind the answers."""
    answered = 0
    for n in range(20):
        agent = sidecar.agent()
        for k in range(n % 4 + 1):
            agent.run(f"echo {n}.{k}", f"{n}.{k}")
            answered += 1
        sidecar.kill()
        sidecar.start()
    assert sidecar.line().ask("rulecore/state/get", agent="test", session="s1")["calls"] == answered


# -- the endpoint


def test_socket_and_folder_are_private(sidecar):
    assert stat.S_IMODE(sidecar.endpoint.stat().st_mode) == 0o600
    assert stat.S_IMODE(sidecar.endpoint.parent.stat().st_mode) == 0o700


def test_a_folder_that_others_can_enter_is_refused(workspace, runtime):
    (runtime / "rulecore").mkdir(parents=True)
    (runtime / "rulecore").chmod(0o755)
    command = [sys.executable, "-I", "-m", "rulecore_sidecar", "serve", "--root", str(workspace)]
    done = subprocess.run(command, env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)}, capture_output=True, text=True)
    assert done.returncode == 2 and "chmod 700" in done.stderr and "Traceback" not in done.stderr


def test_a_second_sidecar_leaves_the_workspace_to_the_first(sidecar):
    command = [sys.executable, "-I", "-m", "rulecore_sidecar", "serve", "--root", str(sidecar.root)]
    done = subprocess.run(command, env=sidecar.environment, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and "another process" in done.stderr
    assert sidecar.line().ask("rulecore/ping")["pid"] == sidecar.process.pid


def test_the_store_is_private_and_ignores_itself(sidecar):
    sidecar.agent().read("a.py")
    folder = sidecar.root / ".rulecore"
    assert (folder / ".gitignore").read_text() == "*\n"
    assert stat.S_IMODE((folder / "guard.db").stat().st_mode) == 0o600
    status = subprocess.run(["git", "-C", str(sidecar.root), "status", "--porcelain"], capture_output=True, text=True)
    assert ".rulecore" not in status.stdout


def test_nothing_secret_is_stored(sidecar):
    agent = sidecar.agent()
    agent.run("curl -H 'Authorization: Bearer s3cr3t-t0ken'", "s3cr3t-output")
    agent.edit("b.py", "API_KEY = 's3cr3t-in-file'\n")
    sidecar.stop()
    stored = b"".join(path.read_bytes() for path in (sidecar.root / ".rulecore").iterdir())
    assert b"s3cr3t" not in stored


# -- bad input

BAD_LINES = [
    (b"{", -32700),
    (b"\xff\xfe{}", -32700),
    (b"[]", -32600),
    (b"[" * 100_000, -32600),
    (b'{"id": 1}', -32600),
    (b'{"id": [], "method": "rulecore/ping"}', -32600),
    (b'{"id": 1, "method": "rulecore/nothing"}', -32601),
    (b'{"id": 1, "method": "rulecore/ping", "params": []}', -32602),
    (b'{"id": 1, "method": "rulecore/guard/pre"}', -32602),
    (b'{"id": 1, "method": "rulecore/guard/pre", "params": {"tool": 5}}', -32602),
    (b'{"id": 1, "method": "rulecore/guard/pre", "params": {"tool": "t", "ops": {}}}', -32602),
    (b'{"id": 1, "method": "rulecore/guard/pre", "params": {"tool": "t", "ops": [{"kind": "dance"}]}}', -32602),
    (b'{"id": 1, "method": "rulecore/guard/post", "params": {"tool": "t", "result": {"delivered": [[3, 0]]}}}', -32602),
    (b'{"id": 1, "method": "rulecore/halt/clear"}', -32602),
]


@pytest.mark.parametrize(("line", "code"), BAD_LINES)
def test_a_bad_line_is_answered_and_the_connection_lives_on(sidecar, line, code):
    connection = sidecar.line()
    answer = connection.raw(line)
    assert answer["error"]["code"] == code and answer["error"]["message"]
    assert connection.ask("rulecore/ping")["protocol"] == 1


def test_a_nested_jsonrpc_key_is_just_data(sidecar):
    agent = sidecar.agent()
    params = {"jsonrpc": "2.0", "id": 7, "method": "x", "inner": {"jsonrpc": "1.0"}}
    assert agent.do(agent.event("mcp__tool", params))["action"] == "allow"


@pytest.mark.parametrize("depth", [100, 900, 5_000, 100_000])
def test_deep_nesting_is_answered(sidecar, depth):
    connection = sidecar.line()
    params = b'{"tool": "t", "params": {"x": ' + b"[" * depth + b"]" * depth + b"}}"
    answer = connection.raw(b'{"id": 1, "method": "rulecore/guard/pre", "params": ' + params + b"}")
    assert "result" in answer or "deep" in answer["error"]["message"]
    assert connection.ask("rulecore/ping")["protocol"] == 1


def test_ten_megabytes_get_a_clear_answer(sidecar):
    connection = sidecar.line()
    answer = connection.raw(b'{"id": 1, "method": "rulecore/ping", "params": {"x": "' + b"y" * 10_000_000 + b'"}}')
    assert answer["error"]["code"] == -32600 and "1048576" in answer["error"]["message"]
    assert connection.ask("rulecore/ping")["protocol"] == 1


def test_a_client_may_ask_for_longer_lines(sidecar):
    connection = sidecar.line()
    connection.ask("rulecore/ping", line_limit=16 << 20)
    agent = Agent(connection, sidecar.root)
    assert agent.do(agent.event("mcp__tool", {"text": "y" * 10_000_000}))["action"] == "allow"


def test_a_client_that_does_not_read_does_not_stall_the_others(sidecar):
    deaf = Line(sidecar.endpoint)
    request = json.dumps({"id": 1, "method": "rulecore/ping", "params": {}}).encode() + b"\n"
    deaf.socket.setblocking(False)
    sent = 0
    try:
        while sent < 200_000_000:
            sent += deaf.socket.send(request * 1000)
    except BlockingIOError:
        pass
    assert sent < 100_000_000, "the sidecar kept reading what it could not answer"
    assert sidecar.line().ask("rulecore/ping")["protocol"] == 1


def test_half_a_line_and_a_hang_up_harm_nobody(sidecar):
    connection = sidecar.line()
    connection.socket.sendall(b'{"id": 1, "method": "rulecore/gua')
    connection.close()
    assert sidecar.line().ask("rulecore/ping")["protocol"] == 1


def test_too_many_connections_are_told_so(sidecar):
    held = [sidecar.line() for _ in range(256)]
    held[0].ask("rulecore/ping"), held[-1].ask("rulecore/ping")
    extra = json.loads(Line(sidecar.endpoint).stream.readline())
    assert "256" in extra["error"]["message"]
    held.pop().close()
    wait_for(lambda: b"error" not in _first_words(sidecar.endpoint))


def _first_words(endpoint):
    line = Line(endpoint)
    line.socket.sendall(b'{"id": 1, "method": "rulecore/ping"}\n')
    return line.stream.readline()


def test_a_damaged_store_is_set_aside_and_said(sidecar):
    sidecar.agent().read("a.py")
    sidecar.stop()
    database = sidecar.root / ".rulecore" / "guard.db"
    database.write_bytes(b"SQLite format 3\0" + os.urandom(8000))
    sidecar.start()
    pong = sidecar.line().ask("rulecore/ping")
    assert "damaged" in str(pong["notices"])
    assert list(database.parent.glob("guard.db.damaged-*"))
    assert sidecar.agent().read("a.py")["action"] == "allow"


def test_records_of_another_shape_are_not_misread(sidecar):
    import sqlite3

    sidecar.agent().read("a.py")
    sidecar.stop()
    with sqlite3.connect(sidecar.root / ".rulecore" / "guard.db") as db:
        db.execute("UPDATE meta SET value='calls:other'")
    db.close()
    sidecar.start()
    assert "another version" in str(sidecar.line().ask("rulecore/ping")["notices"])
    assert sidecar.agent().read("a.py")["action"] == "allow"


def test_a_store_of_a_newer_version_is_left_alone(sidecar):
    import sqlite3

    sidecar.agent().read("a.py")
    sidecar.stop()
    database = sidecar.root / ".rulecore" / "guard.db"
    with sqlite3.connect(database) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    before = database.read_bytes()
    sidecar.start()
    assert "newer" in str(sidecar.line().ask("rulecore/ping")["notices"])
    assert sidecar.agent().read("a.py")["action"] == "allow"
    sidecar.stop()
    assert database.read_bytes() == before


def test_a_rulecore_folder_that_git_tracks_is_not_read(workspace, runtime):
    from sidecar.service.live import served

    folder = workspace / ".rulecore"
    folder.mkdir()
    (folder / "guard.db").write_bytes(b"planted")
    subprocess.run(["git", "-C", str(workspace), "add", "-f", ".rulecore"], check=True)
    with served(workspace, runtime) as sidecar:
        assert sidecar.agent().read("a.py")["action"] == "allow"
    assert (folder / "guard.db").read_bytes() == b"planted"


# -- where there are no Unix sockets


def test_loopback_wants_the_token_in_the_first_request(workspace, runtime, monkeypatch):
    import socket

    from rulecore_sidecar import client

    monkeypatch.setenv("RULECORE_TRANSPORT", "loopback")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    endpoint = client.ensure_served(workspace)
    assert endpoint.suffix == ".json" and stat.S_IMODE(endpoint.stat().st_mode) == 0o600
    pong = client.call(workspace, "rulecore/ping", {})
    try:
        known = json.loads(endpoint.read_text())
        assert len(known["token"]) == 64
        with socket.create_connection(("127.0.0.1", known["port"]), 5) as stranger:
            stranger.sendall(b'{"id": 1, "method": "rulecore/ping", "params": {"token": "guess"}}\n')
            stream = stranger.makefile("rb")
            assert json.loads(stream.readline())["error"]["code"] == -32600
            assert stream.readline() == b"", "it hangs up"
    finally:
        os.kill(pong["pid"], 15)


# -- progress that nobody reports


def _swept(agent):
    """The first sweep is over once a changed file is noticed; here it is enough that it had its time."""
    wait_for(lambda: agent.line.ask("rulecore/ping")["swept"])


def test_a_person_who_edits_between_the_runs_makes_the_same_red_test_progress(sidecar):
    agent, path = sidecar.agent(), sidecar.root / "a.py"
    _swept(agent)
    answers = []
    for n in range(7):
        answers.append(agent.run("pytest -q", "1 failed", 1)["action"])
        time.sleep(0.05)  # no person is faster
        path.write_text(f"attempt {n}\n")
        time.sleep(0.05)
    assert set(answers) == {"allow"}


def test_what_a_command_writes_itself_is_no_progress(sidecar):
    agent = sidecar.agent()
    _swept(agent)
    runs = iter(range(10))
    report = sidecar.root / "report.xml"
    answers = [
        agent.run("pytest -q", "1 failed", 1, effect=lambda: report.write_text(f"run {next(runs)}"))["action"]
        for _ in range(5)
    ]
    assert answers == ["allow", "allow", "advise", "advise", "stop"]


def test_a_save_in_the_editor_is_progress_too(sidecar):
    agent, editor, path = sidecar.agent(), sidecar.line(), sidecar.root / "a.py"
    _swept(agent)
    editor.ask("rulecore/editor/open", path=str(path), text=path.read_text(), version=1, editor="code")
    answers = []
    for n in range(7):
        answers.append(agent.run("pytest -q", "1 failed", 1)["action"])
        path.write_text(f"attempt {n}\n")
        editor.ask("rulecore/editor/change", path=str(path), text=f"attempt {n}\n", version=n + 2, editor="code")
        editor.ask("rulecore/editor/save", path=str(path), text=f"attempt {n}\n", editor="code")
    assert set(answers) == {"allow"}


def test_content_that_is_new_is_worth_a_read_that_was_a_loop(sidecar):
    agent, log = sidecar.agent(), sidecar.root / "build.log"
    log.write_text("waiting\n")
    for _ in range(4):
        agent.read("build.log")
    log.write_text("waiting\ndone\n")
    assert agent.read("build.log")["action"] == "allow"


def test_a_read_that_raced_with_a_change_delivered_nothing_to_build_on(sidecar):
    agent, path = sidecar.agent(), sidecar.root / "b.py"
    event = agent.event("read", {"path": "b.py"}, {"kind": "read", "path": "b.py"}, call_id="r1")
    agent.pre(event)
    path.write_text("changed meanwhile\n")
    agent.post(event, result={"text": "b"})
    assert agent.read("b.py")["action"] == "allow", "what it got was the old content"


def test_an_agent_without_call_ids_is_heard_after_a_denial(sidecar):
    agent, path = sidecar.agent(), sidecar.root / "b.py"
    agent.read("b.py")
    path.write_text("by somebody\n")
    assert agent.edit("b.py", "mine\n")["action"] == "deny"
    agent.read("b.py")
    assert agent.edit("b.py", "mine\n")["action"] == "allow"
    assert agent.edit("b.py", "mine again\n")["action"] == "allow", "its own edit was taken for somebody else's"


def test_an_edit_whose_post_was_lost_is_still_the_agents_own(sidecar):
    agent, path = sidecar.agent(), sidecar.root / "b.py"
    agent.read("b.py")
    agent.pre(agent.event("edit", {"n": 1}, {"kind": "edit", "path": "b.py"}, call_id="lost"))
    path.write_text("mine, though nobody said so\n")
    assert agent.edit("b.py", "more\n")["action"] == "allow"


def test_unsaved_text_is_not_a_trap(sidecar):
    agent, editor, path = sidecar.agent(), sidecar.line(), sidecar.root / "b.py"
    agent.read("b.py")
    editor.ask("rulecore/editor/open", path=str(path), text="b\n", version=1, editor="code")
    editor.ask("rulecore/editor/change", path=str(path), text="b typed\n", version=2, editor="code")
    for _ in range(3):
        refused = agent.edit("b.py")
        assert refused["action"] == "deny" and "Ask the user to save" in refused["message"]
        assert agent.read("b.py")["action"] in ("allow", "advise")
    path.write_text("b typed\n")
    editor.ask("rulecore/editor/save", path=str(path), text="b typed\n", editor="code")
    agent.read("b.py", 1, 1)
    assert agent.edit("b.py", "on we go\n")["action"] == "allow"


def test_a_new_conversation_under_an_old_name_starts_with_an_empty_context(sidecar):
    agent = sidecar.agent()
    agent.read("a.py")
    agent.line.ask("rulecore/session/start", agent="test", session="s1")
    assert agent.read("a.py")["action"] == "allow"


def test_a_symlink_is_the_file_it_leads_to(sidecar):
    (sidecar.root / "link.py").symlink_to("b.py")
    agent = sidecar.agent()
    agent.read("b.py")
    assert agent.edit("link.py", "through the link\n")["action"] == "allow"
    assert agent.edit("b.py", "directly\n")["action"] == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/enforce/observe/ project.md",
        "echo 'guard.mode: observe' >> project.md",
        "cp /tmp/x .clinerules/project.md",
    ],
)
def test_a_command_that_writes_the_guards_parameters_is_a_persons(sidecar, command):
    assert sidecar.agent().run(command)["action"] == "deny"


@pytest.mark.parametrize("command", ["git add project.md", "cat project.md", "grep guard project.md > /tmp/found"])
def test_other_commands_on_project_md_are_not(sidecar, command):
    assert sidecar.agent().run(command)["action"] == "allow"


def test_what_is_removed_under_the_running_process_comes_back(workspace, runtime, monkeypatch):
    import asyncio
    import shutil

    from rulecore_sidecar.client import call
    from rulecore_sidecar.sidecar import Sidecar

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))

    async def story() -> None:
        sidecar = Sidecar(workspace)
        await sidecar.start()
        loop = asyncio.get_running_loop()
        event = {
            "session": "s",
            "tool": "run",
            "params": {},
            "ops": [{"kind": "exec", "command": "make"}],
            "exit_code": 2,
        }
        for _ in range(5):
            sidecar.handle("rulecore/guard/pre", event)
            sidecar.handle("rulecore/guard/post", event)
        shutil.rmtree(workspace / ".rulecore")
        next((runtime / "rulecore").glob("*.sock")).unlink()
        await sidecar._heal()
        halts = await loop.run_in_executor(None, call, workspace, "rulecore/halt/get", {})
        assert len(halts["halts"]) == 1
        assert (workspace / ".rulecore" / "guard.db").exists()
        await sidecar.stop()

    asyncio.run(story())


def test_one_owner_whatever_the_terminals_environment(sidecar, tmp_path):
    command = [sys.executable, "-I", "-m", "rulecore_sidecar", "sockname", "--root", str(sidecar.root)]
    elsewhere = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(command, env=elsewhere, capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == str(sidecar.endpoint)


def test_a_formatter_that_the_editor_runs_on_save_is_the_agents_own_doing(sidecar):
    agent, editor, path = sidecar.agent(), sidecar.line(), sidecar.root / "b.py"
    bystander = sidecar.agent("bystander")
    agent.read("b.py"), bystander.read("b.py")
    editor.ask("rulecore/editor/open", path=str(path), text="b\n", version=1, editor="code")
    assert agent.edit("b.py", "x=1\n")["action"] == "allow"
    editor.ask("rulecore/editor/change", path=str(path), text="x = 1\n", version=2, editor="code")
    path.write_text("x = 1\n")
    editor.ask("rulecore/editor/save", path=str(path), text="x = 1\n", editor="code")
    assert agent.edit("b.py", "y = 2\n")["action"] == "allow"
    assert bystander.edit("b.py")["action"] == "deny"


def test_a_later_save_is_a_persons(sidecar):
    agent, editor, path = sidecar.agent(), sidecar.line(), sidecar.root / "b.py"
    agent.read("b.py")
    editor.ask("rulecore/editor/open", path=str(path), text="b\n", version=1, editor="code")
    assert agent.edit("b.py", "x=1\n")["action"] == "allow"
    time.sleep(2.2)
    editor.ask("rulecore/editor/change", path=str(path), text="mine\n", version=2, editor="code")
    path.write_text("mine\n")
    editor.ask("rulecore/editor/save", path=str(path), text="mine\n", editor="code")
    assert "editor" in agent.edit("b.py")["message"]
