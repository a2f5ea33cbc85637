"""OnError, calibrated: every branch (a)–(i), at, below and above its number, and what breaks a run."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel.guards.script import (
    COMPACT,
    MESSAGE,
    USER,
    actions,
    call,
    edit,
    outcomes,
    play,
    read,
    run,
    search,
    write_by_other,
)

from rulecore_kernel.rules.guards.policy import Policy

A, B = "a.py", "b.py"
C, S, H = "continue", "switch_strategy", "forcehalt"


def fail(path: str = A, old: str = "x", error: str = "no match for old text", **more):
    return edit(path, old, "y", error=error, **more)


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param([search("q")] * 5, [C, C, S, S, H], id="a: same call, same result"),
        pytest.param([run("git fsck", "dangling")] * 5, [C, C, S, S, H], id="a: a command"),
        pytest.param([search("q"), MESSAGE] * 5, [C, C, S, S, H], id="a: text between does not break a run"),
        pytest.param([search("q"), search("q"), USER, search("q"), search("q")], [C] * 4, id="a: a user message does"),
        pytest.param([search("q"), search("q"), COMPACT, search("q")], [C] * 3, id="a: a compaction does"),
        pytest.param([search("q", batch=1)] * 5, [C, C, S, S, H], id="a: parallel calls count"),
        pytest.param([search("q", out=f"r{i}") for i in range(3)], [C] * 3, id="a: news every time"),
        pytest.param(
            [read(A), read(A), write_by_other(A, "H1b"), read(A, out="same"), read(A, out="same")],
            [C] * 4,
            id="a: somebody wrote the file",
        ),
        pytest.param(
            [e for i in range(4) for e in (run("pytest", "1 failed", 1), edit(A, f"{i}", "y", v=f"H{i}"))],
            [C] * 8,
            id="b: fix and test again",
        ),
        pytest.param([run("pytest", "1 failed", 1)] * 5, [C, C, S, S, H], id="b: nothing changed between"),
        pytest.param(
            [e for i in range(6) for e in (run("pytest", "1 failed", 1), run(f"pip install x{i}", "ok"))],
            [C] * 12,
            id="b: an install between",
        ),
        pytest.param(
            [run("pytest", "1 failed", 1), run("ls", "a.py")] * 3, [C, C, C, C, S, S], id="b: looking is no change"
        ),
        pytest.param(
            [fail(), read(A, 1, 5)] * 5, [C, C, C, C, S, S, S, S, H, H], id="b: failed edit and read in turns"
        ),
        pytest.param(
            [fail(old=o) for o in ("x", "xx", "xxx", "xxxx", "xxxxx", "xxxxxx")],
            [C, C, S, S, S, S],
            id="b.varied: never a halt",
        ),
        pytest.param([fail(A), fail(B), fail(A, "xx"), fail(B, "xx")], [C] * 4, id="b.varied: other targets"),
        pytest.param(
            [fail(old="x"), fail(old="xx", error="file is read-only"), fail(old="xxx")],
            [C] * 3,
            id="b.varied: other errors",
        ),
        pytest.param(
            [call("get", {"id": i}, error="404 not found") for i in range(3)], [C, C, S], id="b.varied: no target"
        ),
        pytest.param(
            [call("get", {"id": i}, error="", exit_code=1, out="") for i in range(5)],
            [C] * 5,
            id="b.varied: failures without text are never the same",
        ),
        pytest.param(
            [
                fail("a.py", 'needle "one" in the text', 'cannot find: needle "one" in the text'),
                fail("a.py", 'needle "two" in the text', 'cannot find: needle "two" in the text'),
                fail("a.py", 'needle "six" in the text', 'cannot find: needle "six" in the text'),
            ],
            [C, C, S],
            id="b.varied: an error that quotes the parameters",
        ),
        pytest.param([search("p"), search("q")] * 4, [C] * 5 + [S] * 3, id="c: ABABAB"),
        pytest.param([call("a", {}), call("b", {})] * 3, [C] * 5 + [S], id="c: tools of which nothing is known"),
        pytest.param(
            [e for i in range(4) for e in (run("pytest", "1 failed", 1), call("mcp__edit", {"n": i}))],
            [C] * 8,
            id="b: an unknown tool may have fixed it",
        ),
        pytest.param([search(q) for q in "pqr"] * 3, [C] * 8 + [S], id="c: period 3"),
        pytest.param([search(q) for q in "pqrs"] * 3, [C] * 11 + [S], id="c: period 4"),
        pytest.param([search(q, out=f"{q}{i}") for i in range(3) for q in "pq"], [C] * 6, id="c: news in the cycle"),
        pytest.param(
            [read(A, v="A"), edit(A, "1", "2", v="B"), edit(A, "2", "1", v="A"), edit(A, "1", "2", v="B")],
            [C, C, C, S],
            id="e: A B A B",
        ),
        pytest.param(
            [read(A, v="A"), edit(A, "1", "2", v="B"), edit(A, "2", "1", v="A")], [C] * 3, id="e: one undo is fine"
        ),
        pytest.param([call("fetch", {"u": 1}, error="429 Too Many Requests")] * 8, [C] * 8, id="g: rate limit"),
        pytest.param(
            [run("curl localhost", "connect ECONNREFUSED 127.0.0.1", 7)] * 8, [C] * 8, id="g: nobody listens yet"
        ),
        pytest.param(
            [run("pytest", "x" * 500 + " service unavailable", 1)] * 5,
            [C, C, S, S, H],
            id="g: a program's own output is no infrastructure error",
        ),
        pytest.param([call("wait", {"id": 1}, out="running", poll=True)] * 12, [C] * 9 + [S] * 3, id="h: never a halt"),
        pytest.param([call("wait", {"id": 1}, out=f"{i} %", poll=True) for i in range(15)], [C] * 15, id="h: it moves"),
        pytest.param(
            [e for i in range(5) for e in (call("mcp__test", {}, error="1 failed"), edit(A, f"{i}", "y", v=f"H{i}"))],
            [C] * 10,
            id="b: an unknown test runner with fixes between",
        ),
        pytest.param(
            [e for i in range(5) for e in (read(B, error="ENOENT"), run(f"make gen{i}", "ok"))],
            [C] * 10,
            id="b: waiting for a generated file",
        ),
        pytest.param(
            [e for i in range(5) for e in (read(A, v=f"H{i}", out="same lines"),)],
            [C] * 5,
            id="a: the file changed, though not in these lines",
        ),
        pytest.param([run("pytest -q", "5 passed")] * 6, [C, C, S, S, S, S], id="a: green tests run again never halt"),
        pytest.param(
            [run("kubectl get pods", f"pod  Running  {n * 10}s") for n in range(6)],
            [C] * 3 + [S] * 3,
            id="a: an age is news",
        ),
        pytest.param([run("npm i", "npm ERR! network ENOTFOUND host", 1)] * 6, [C] * 6, id="g: npm without a network"),
        pytest.param(
            [run("g++ x.cc", "x.cc:1: error: call of overloaded 'f' is ambiguous", 1)] * 3,
            [C, C, S],
            id="g: an overloaded function is none",
        ),
        pytest.param(
            [run("pytest", "FAILED tests/test_rate_limit.py", 1)] * 3, [C, C, S], id="g: a test of that name is none"
        ),
        pytest.param(
            [run(f"grep -r x{n}", "Exit code 1", 1) for n in range(3)],
            [C] * 3,
            id="b.varied: an exit code says nothing",
        ),
        pytest.param(
            [run("make", f"\x1b[31mfail\x1b[0m at 12:00:0{n} pid {n}11", 1) for n in range(3)],
            [C, C, S],
            id="b: times, process ids and colours do not hide a loop",
        ),
        pytest.param(
            [run(c) for c in ("mkdir a", "touch a/b", "git add a", "true", "rm -r a")],
            [C] * 5,
            id="silent success is normal",
        ),
    ],
)
def test_branches(story, expected):
    assert outcomes(story) == expected


def test_d_the_same_look_since_the_last_edit_only_advises():
    looks = [e for i in range(5) for e in (run("git status", "clean"), search(f"q{i}"))]
    seen = play(looks)
    assert [s.outcome for s in seen[::2]] == [C, C, C, S, S]
    assert {s.action for s in seen} == {"allow"}
    assert "deny" not in actions([*looks, run("git status", "clean"), run("git status", "clean")])


def test_d_starts_anew_after_an_edit():
    story = [run("git status", f"{i}") for i in range(3)] + [edit(A, "x", "y", v="H2")] + [run("git status", "4")] * 2
    assert S not in outcomes(story)


def test_f_only_edits_are_applied_already():
    seen = play([call("get", {"id": 1}), call("get", {"id": 1}, error="404 not found")])
    assert "already applied" not in seen[1].said


def test_e_starts_anew_with_the_user():
    flips = [read(A, v="A"), edit(A, "1", "2", v="B"), edit(A, "2", "1", v="A"), USER, edit(A, "1", "2", v="B")]
    assert S not in outcomes(flips)


def test_a_search_after_edits_elsewhere_is_not_held_against_anybody():
    story = [search("q")] * 3 + [
        edit(A, "1", "2", v="B"),
        search("q", out="4 hits"),
        edit(A, "2", "3", v="C"),
        search("q"),
    ]
    assert set(actions(story)[3:]) <= {"allow", "advise"}


def test_an_explanation_inside_is_none_of_the_call():
    story = [call("read_files", {"files": [{"path": A, "reason": f"because {n}"}]}) for n in range(3)]
    assert outcomes(story)[-1] == S


def test_a_long_output_that_grows_at_its_end_is_news():
    assert outcomes([run("tail -f x", "x" * 300_000 + f"{n}") for n in range(5)]) == [C, C, C, S, S]


def test_f_an_edit_that_was_already_applied_is_said_so():
    seen = play([edit(A, "x", "y", v="H2"), fail()])
    assert "already applied" in seen[1].said and seen[1].outcome == C


@pytest.mark.parametrize("calls", [39, 40, 41])
def test_i_no_progress(calls):
    seen = play([call("echo", {"n": i}, out=f"marker {i}") for i in range(calls)])
    advised = [i for i, s in enumerate(seen) if s.after == "advise"]
    assert advised == ([39] if calls >= 40 else [])
    assert {s.outcome for s in seen} == {C}


@pytest.mark.parametrize(
    "news", [read("new.py"), edit(A, "p", "q", v="H9"), run("pytest -q", "ok"), fail(error="brand new")]
)
def test_i_news_restart_the_count(news):
    idle = [call("echo", {"n": i}, out=f"marker {i}") for i in range(39)]
    assert all(s.after != "advise" for s in play([*idle, news, *idle]))


def test_after_a_switch_the_next_identical_call_is_advised_and_the_one_after_denied():
    assert actions([run("make", "error 2", 2)] * 5) == ["allow", "allow", "allow", "advise", "deny"]


def test_a_denied_look_is_served_when_asked_again():
    """The bytes may be gone from the context without anybody having said so."""
    cycle = [search("p"), search("q")] * 3
    later = [
        search("p"),
        search("p", out="x"),
        read(B),
        search("q"),
        read("c.py"),
        search("q"),
        read("d.py"),
        search("q"),
    ]
    got = actions([*cycle, *later])[len(cycle) :]
    assert [a for a, e in zip(got, later, strict=True) if e["params"] == {"query": "q"}] == ["advise", "deny", "advise"]


def test_the_same_advice_is_not_given_twice_in_a_row():
    varied = [fail(old="x" * i) for i in range(1, 6)]
    said = [s.said for s in play(varied)]
    assert [bool(text) for text in said] == [False, False, True, False, False], "only the count would differ"
    polls = play([call("wait", {}, out="same", error="503 service unavailable")] * 4)
    assert [bool(s.said) for s in polls] == [True, False, False, False]


@pytest.mark.parametrize(("key", "at"), [("repeat_switch", 2), ("repeat_switch", 4), ("repeat_halt", 7)])
def test_thresholds_are_parameters(key, at):
    found = outcomes([search("q")] * 8, Policy(**{key: at}))
    assert found.index(S if key == "repeat_switch" else H) == at - 1


def test_a_halt_stops_the_next_writing_call_denies_later_ones_and_lets_looking_pass():
    story = [run("make", "error 2", 2)] * 5 + [read(B), edit(B, "x", "y"), edit(B, "p", "q"), search("new")]
    seen = play(story)
    assert seen[4].after == "stop" and seen[4].outcome == H
    assert [s.action for s in seen[5:]] == ["allow", "stop", "deny", "allow"]
    assert "rulecore halt clear" in seen[6].message


@pytest.mark.parametrize("mode", ["advise", "observe"])
def test_weaker_modes_never_deny_stop_or_halt(mode):
    policy = Policy(loop_mode=mode, redundant_read_mode=mode, stale_edit_mode=mode)
    story = [read(A)] * 6 + [run("make", "error 2", 2)] * 7 + [edit(B, "x", "y")]
    seen = play(story, policy)
    assert {s.action for s in seen} | {s.after for s in seen} <= (
        {"allow", "advise"} if mode == "advise" else {"allow"}
    )


@pytest.mark.parametrize(
    "command", ["rulecore halt clear --all", "cd x && rulecore trust", "rulecore evolve approve 3"]
)
def test_what_belongs_to_a_person_is_denied(command):
    assert actions([run(command)]) == ["deny"]


@pytest.mark.parametrize(
    "command", ["rulecore halt get", "echo halt clear", "rulecore check", "git log --grep 'halt clear'"]
)
def test_other_commands_are_not(command):
    assert actions([run(command)]) == ["allow"]


EVENTS = st.lists(
    st.one_of(
        st.builds(search, st.sampled_from("pq"), out=st.sampled_from(["1", "2"])),
        st.builds(run, st.sampled_from(["make", "ls"]), st.sampled_from(["", "e"]), st.sampled_from([0, 1])),
        st.builds(read, st.sampled_from([A, B]), v=st.sampled_from(["H1", "H2"])),
        st.builds(
            edit,
            st.sampled_from([A, B]),
            st.sampled_from("xy"),
            st.just("z"),
            v=st.sampled_from([None, "H1", "H2"]),
            error=st.sampled_from([None, "no match"]),
        ),
        st.just(USER),
        st.just(COMPACT),
        st.builds(write_by_other, st.sampled_from([A, B]), st.sampled_from(["H3", "H4"])),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(EVENTS)
def test_whatever_happens(events):
    """No crash; a halt comes only after five alike; once halted only looking passes; a replay decides the same."""
    seen = play(events)
    assert seen == play(events)
    halted = False
    calls = [e for e in events if e["event"] == "call"]
    for i, (event, answer) in enumerate(zip(calls, seen, strict=True)):
        looks = event["tool"] in ("search", "read_file")
        if halted:
            assert answer.outcome == H
            assert looks == (answer.action == "allow")
        elif answer.outcome == H:
            halted = True
            assert sum(e["params"] == event["params"] for e in calls[: i + 1]) >= 5
