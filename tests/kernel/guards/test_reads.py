"""IdempotencyGuard: a read is denied only when its bytes are in front of this agent, and asking twice brings them."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel.guards.script import COMPACT, MESSAGE, RESUME, USER, actions, edit, play, read, run, write_by_other

from rulecore_kernel.rules.guards.events import MESSAGE_LIMIT, Range
from rulecore_kernel.rules.guards.reads import covers, merge

A = "src/a.py"


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param([read(A), read(A)], ["allow", "deny"], id="the same read twice"),
        pytest.param([read(A), read(A), read(A)], ["allow", "deny", "allow"], id="whoever asks twice gets it"),
        pytest.param([read(A, 1, 400), read(A, 100, 150)], ["allow", "deny"], id="a covered range"),
        pytest.param(
            [read(A, 1, 100), read(A, 101, 200), read(A, 50, 150)], ["allow", "allow", "deny"], id="covered by two"
        ),
        pytest.param([read(A, 1, 100), read(A, 50, 150)], ["allow", "allow"], id="partly covered"),
        pytest.param([read(A, 1, 200), read(A, 201, 400), read(A, 401, 600)], ["allow"] * 3, id="paging forward"),
        pytest.param([read(A), read(A, v="H2")], ["allow", "allow"], id="changed content"),
        pytest.param([read(A), COMPACT, read(A)], ["allow", "allow"], id="compaction"),
        pytest.param([read(A), RESUME, read(A)], ["allow", "allow"], id="resume"),
        pytest.param([read(A, batch="b")] * 3, ["allow"] * 3, id="parallel duplicates: nothing was delivered yet"),
        pytest.param(
            [read(A, batch="b"), read(A, batch="c")], ["allow", "deny"], id="the next message is another batch"
        ),
        pytest.param([read(A), MESSAGE, read(A)], ["allow", "deny"], id="text between changes nothing"),
        pytest.param([read(A, truncated=True), read(A)], ["allow", "allow"], id="a cut result delivered nothing"),
        pytest.param(
            [read(A, delivered=[[1, 80], [920, 1000]]), read(A, 300, 400), read(A, 10, 60)],
            ["allow", "allow", "deny"],
            id="head and tail were delivered",
        ),
        pytest.param(
            [read(A, 100, 200), read(A, delivered=[[1, 50]]), read(A, 100, 200)],
            ["allow"] * 3,
            id="a whole read replaces what was delivered before, even when it was cut",
        ),
        pytest.param([read(A, error="ENOENT"), read(A)], ["allow", "allow"], id="a failed read delivered nothing"),
        pytest.param([read(A), read(A, agent_id="sub")], ["allow", "allow"], id="a sub-agent has its own context"),
        pytest.param([read(A), read(A, session="other")], ["allow", "allow"], id="another session"),
        pytest.param([read(A), edit(A, "x", "y", v="H2"), read(A, v="H2")], ["allow"] * 3, id="read after own edit"),
        pytest.param([read(A), write_by_other(A, "H2"), read(A, v="H2")], ["allow"] * 2, id="somebody wrote"),
        pytest.param([read(A), run(f"cat {A}")], ["allow", "allow"], id="commands are never skipped"),
        pytest.param(
            [read(A, 1, 9), read(A, 1, 8), read(A, 1, 7), read(A, 1, 6)],
            ["allow", "deny", "deny", "allow"],
            id="never more than two denials of one file in a row",
        ),
    ],
)
def test_redundant_reads(story, expected):
    assert actions(story) == expected


def test_a_denial_says_what_is_known_and_what_to_do():
    denied = play([read(A, 10, 20), read(A, 10, 20)])[1]
    assert denied.rule == "IdempotencyGuard.delivered"
    assert "lines 10-20" in denied.message and A in denied.message and "repeat this call" in denied.message
    assert len(denied.message) <= MESSAGE_LIMIT


def test_the_user_may_ask_for_the_file_again():
    assert "forcehalt" not in [s.outcome for s in play([read(A)] * 3 + [USER, read(A), read(A)])]


RANGES = st.lists(
    st.tuples(st.integers(1, 60), st.one_of(st.none(), st.integers(1, 60))).map(
        lambda t: Range(min(t[0], t[1] or t[0]), None if t[1] is None else max(t))
    ),
    max_size=8,
)
HORIZON = 80


def lines_of(ranges):
    return {n for start, end in ranges for n in range(start, (HORIZON if end is None else end) + 1)}


@given(RANGES)
def test_merging_keeps_the_lines_and_leaves_no_neighbours(ranges):
    merged = merge(tuple(ranges))
    assert lines_of(merged) == lines_of(ranges)
    assert all(a.end is not None and a.end + 1 < b.start for a, b in pairwise(merged))


@given(RANGES, st.integers(1, 60), st.integers(0, 20))
def test_covering_is_containment_of_lines(ranges, start, length):
    wanted = Range(start, start + length)
    assert covers(merge(tuple(ranges)), wanted) == (lines_of([wanted]) <= lines_of(ranges))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.integers(1, 30), st.integers(0, 15)).map(lambda t: ("read", t[0], t[0] + t[1])),
        st.just(("compact",)),
        st.just(("write",)),
        st.just(("user",)),
    ),
    max_size=40,
)


@settings(max_examples=300)
@given(STEPS)
def test_no_denied_read_whose_lines_were_not_delivered_in_this_context(steps):
    """The promise itself, checked against a plain set of delivered lines."""
    events, version, truth = [], 0, set()
    expectations = []
    for step in steps:
        if step[0] == "read":
            _, start, end = step
            events.append(read(A, start, end, v=f"H{version}"))
            expectations.append((version, start, end))
        elif step[0] == "compact":
            events.append(COMPACT)
            expectations.append("compact")
        elif step[0] == "user":
            events.append(USER)
        else:
            version += 1
            events.append(write_by_other(A, f"H{version}"))
            expectations.append("write")
    answers = iter(play(events))
    for expected in expectations:
        if isinstance(expected, str):
            truth.clear()
            continue
        _, start, end = expected
        wanted = set(range(start, end + 1))
        answer = next(answers)
        if answer.rule.startswith("IdempotencyGuard"):
            assert wanted <= truth
        if answer.action in ("allow", "advise"):
            truth |= wanted
