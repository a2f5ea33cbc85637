"""OnError, step by step as kernel.md section 6 numbers them."""

from itertools import product

import pytest

from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.rules.on_error import ERRORS, Counters, Limits, Ruling, on_error
from rulecore_kernel.values import Json

RAN = Counters(calls=1)
"""A call that ran before, so that there is no free retry."""


def clean(counters: Counters, **more: object) -> Ruling:
    return on_error(counters, result_empty=False, **more)  # type: ignore[arg-type]


def empty(counters: Counters, **more: object) -> Ruling:
    return on_error(counters, result_empty=True, **more)  # type: ignore[arg-type]


def failed(counters: Counters, error: str, **more: object) -> Ruling:
    return on_error(counters, result_empty=False, error=error, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "decision"),
    [
        (None, "continue"),
        ("timeout", "halt+persist"),
        ("execution_failure", "halt+persist"),
        ("partial_output", "continue"),
        ("warning", "continue"),
        ("resource_exhausted", "skip_remaining"),
        ("irrecoverable", "halt"),
        ("compilation_error", "retry"),
    ],
)
@pytest.mark.parametrize("scope", ["global", "procedure", "single_call", "loop_body"])
@pytest.mark.parametrize("calls", [0, 1, 7])
def test_on_error_table(error: str | None, decision: str, scope: str, calls: int) -> None:
    """Step 7, with counters at rest."""
    ruling = on_error(Counters(calls=calls), result_empty=False, error=error, scope=scope)
    assert ruling.decision == decision


@pytest.mark.parametrize(
    ("retries", "scope", "decision"),
    [
        (0, "global", "retry"),  # counted: 1
        (1, "global", "switch_strategy"),  # counted: 2
        (2, "global", "forcehalt"),  # counted: 3
        (1, "loop_body", "retry"),  # the executor has counted it
        (2, "loop_body", "switch_strategy"),
        (3, "loop_body", "forcehalt"),
    ],
)
def test_compilation_errors_are_fixed_in_place_once(retries: int, scope: str, decision: str) -> None:
    ruling = failed(Counters(retry=retries), "compilation_error", scope=scope)
    assert ruling.decision == decision
    assert ruling.counters.retry == retries + (scope != "loop_body")


@pytest.mark.parametrize(("before", "after"), [(0, 0), (1, 0), (2, 1), (3, 1), (5, 2)])
@pytest.mark.parametrize("halted", [False, True])
def test_step_1_a_new_phase_halves_the_switches(before: int, after: int, halted: bool) -> None:
    ruling = clean(RAN._replace(switch=before, force_halt=halted), phase_changed=True)
    assert ruling.counters.switch == after


def test_step_1_comes_before_the_limit_of_step_8() -> None:
    counters = RAN._replace(switch=3)
    assert empty(counters).decision == "forcehalt"
    assert empty(counters, phase_changed=True).decision == "switch_strategy"


@pytest.mark.parametrize(("result_empty", "error"), [(False, None), (True, None), *((False, e) for e in ERRORS)])
@pytest.mark.parametrize("calls", [0, 1])
def test_step_2_a_halt_stands_and_nothing_else_moves(result_empty: bool, error: str | None, calls: int) -> None:
    before = Counters(2, 3, True, 3, 9, 2, 1, calls)
    ruling = on_error(before, result_empty=result_empty, error=error)
    is_clean = not result_empty and error is None
    assert ruling == ("forcehalt", before._replace(halted_rounds=4 if is_clean else 0), False)


def test_step_2_the_user_is_asked_at_every_fifth_clean_evaluation() -> None:
    counters, asked = Counters(force_halt=True), []
    for number in range(1, 21):
        ruling = clean(counters)
        counters = ruling.counters
        if ruling.notify:
            asked.append(number)
    assert asked == [5, 10, 15, 20]


def test_step_2_an_error_starts_the_count_anew() -> None:
    counters = Counters(force_halt=True, halted_rounds=4)
    counters = failed(counters, "warning").counters
    notified = [clean(counters._replace(halted_rounds=n)).notify for n in range(5)]
    assert (counters.halted_rounds, notified) == (0, [False, False, False, False, True])


@pytest.mark.parametrize("scope", ["global", "loop_body"])
def test_step_3_the_first_empty_result_is_free(scope: str) -> None:
    before = Counters(2, 3, False, 0, 9, 2, 5, calls=0)
    assert empty(before, scope=scope) == ("retry", before, False)


@pytest.mark.parametrize(
    ("error", "scope", "counted"),
    [
        ("execution_failure", "global", 1),
        ("execution_failure", "loop_body", 1),
        ("compilation_error", "global", 1),
        ("compilation_error", "loop_body", 0),
        *((error, scope, 0) for error in ERRORS if error not in ("execution_failure", "compilation_error")
          for scope in ("global", "loop_body")),
    ],
)  # fmt: skip
def test_step_4_which_failures_count(error: str, scope: str, counted: int) -> None:
    before = Counters(retry=1, empty_tool=1, empty_call=1)
    after = failed(before, error, scope=scope).counters
    assert after.retry == 1 + counted
    assert after.empty_tool == 1


def test_step_4_a_result_ends_the_run_of_failures() -> None:
    after = clean(Counters(retry=2, empty_tool=2, empty_call=1, switch=2)).counters
    assert (after.retry, after.empty_tool, after.empty_call, after.switch) == (0, 0, 0, 2)


def test_step_4_an_empty_result_leaves_failures_alone() -> None:
    after = empty(RAN._replace(retry=2)).counters
    assert (after.retry, after.empty_tool) == (2, 1)


@pytest.mark.parametrize(
    ("counters", "decision"),
    [
        (Counters(retry=3), "forcehalt"),
        (Counters(empty_tool=3), "forcehalt"),
        (Counters(retry=2), "halt+persist"),
        (Counters(empty_call=2), "switch_strategy"),
        (Counters(empty_call=1), "halt+persist"),
        (Counters(empty_call=2, switch=3), "forcehalt"),
        (Counters(retry=3, empty_call=2), "forcehalt"),
    ],
)
def test_steps_5_and_6_come_before_the_kind_of_error(counters: Counters, decision: str) -> None:
    assert failed(counters, "timeout").decision == decision


def test_step_5_the_third_empty_result_of_a_tool_halts() -> None:
    assert empty(RAN._replace(empty_tool=1)).decision == "switch_strategy"
    assert empty(RAN._replace(empty_tool=2)).decision == "forcehalt"


@pytest.mark.parametrize(("scope", "added"), [("global", 1), ("procedure", 1), ("single_call", 1), ("loop_body", 0)])
def test_step_8_a_switch_resets_the_call_and_counts(scope: str, added: int) -> None:
    after = empty(RAN._replace(switch=2, rounds_without_switch=5), scope=scope).counters
    assert (after.empty_call, after.switch, after.rounds_without_switch) == (0, 2 + added, 0)


def test_step_8_too_many_switches_halt_and_keep_the_count() -> None:
    ruling = empty(RAN._replace(switch=3, empty_call=1))
    assert ruling.decision == "forcehalt"
    assert (ruling.counters.switch, ruling.counters.empty_call) == (3, 2)


@pytest.mark.parametrize(("scope", "rounds"), [("global", 10), ("procedure", 10), ("loop_body", 8)])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (1, 0), (3, 2)])
def test_step_9_switches_decay(scope: str, rounds: int, before: int, after: int) -> None:
    almost = clean(Counters(switch=before, rounds_without_switch=rounds - 2), scope=scope).counters
    assert (almost.switch, almost.rounds_without_switch) == (before, rounds - 1)
    then = clean(almost, scope=scope).counters
    assert (then.switch, then.rounds_without_switch) == (after, 0)


def test_step_9_one_counter_serves_all_scopes() -> None:
    counters = Counters(switch=2, rounds_without_switch=8)
    assert clean(counters).counters[1:5] == (2, False, 0, 9)
    assert clean(counters, scope="loop_body").counters[1:5] == (1, False, 0, 0)


def test_step_9_a_forcehalt_counts_as_a_round() -> None:
    after = failed(Counters(retry=2, switch=1, rounds_without_switch=9), "execution_failure").counters
    assert (after.force_halt, after.switch, after.rounds_without_switch) == (True, 0, 0)


@pytest.mark.parametrize("decision", ["retry", "switch_strategy"])
def test_step_10_only_a_forcehalt_sets_the_halt(decision: str) -> None:
    counters = Counters() if decision == "retry" else RAN
    assert not empty(counters).counters.force_halt
    assert failed(Counters(retry=2), "execution_failure").counters.force_halt


def test_limits_are_parameters() -> None:
    limits = Limits(1, 1, 1, 1, 1, 1, 1)
    assert failed(Counters(), "execution_failure", limits=limits).decision == "forcehalt"
    assert empty(RAN, limits=limits).decision == "forcehalt"
    assert empty(RAN, limits=limits._replace(empty_tool_limit=9)).decision == "switch_strategy"
    assert empty(RAN._replace(switch=1), limits=limits._replace(empty_tool_limit=9)).decision == "forcehalt"
    assert clean(Counters(switch=5), limits=limits).counters.switch == 4
    assert clean(Counters(force_halt=True), limits=limits).notify


def ask(args: dict[str, Json], state: Json = None, config: Json = None) -> dict[str, object]:
    event: dict[str, Json] = {"tool": "grep", "params": {"q": "x"}, "result_empty": False, "error": None}
    return evaluate({"rule": "OnError", "args": {**event, **args}, "state": state, "config": config})


KEY = 'grep|{"q":"x"}'


def test_by_name_maps_travel_whole_and_only_when_they_changed() -> None:
    state: Json = {
        "emptyCount": {"tools": {"grep": 1, "ls": 2}, "calls": {KEY: 1, "ls|{}": 1}},
        "callCount": {"calls": {KEY: 4}},
        "switchCounter": 2,
        "fileCache": "not looked at",
    }
    assert ask({}, state) == {
        "rule": "OnError",
        "decision": "continue",
        "state": {
            "roundsWithoutSwitch": 1,
            "emptyCount": {"tools": {"grep": 0, "ls": 2}, "calls": {KEY: 0, "ls|{}": 1}},
        },
    }
    assert ask({"result_empty": True}, state) == {
        "rule": "OnError",
        "decision": "switch_strategy",
        "state": {
            "switchCounter": 3,
            "emptyCount": {"tools": {"grep": 2, "ls": 2}, "calls": {KEY: 0, "ls|{}": 1}},
        },
    }
    assert ask({"error": "timeout"}, state)["state"] == {"roundsWithoutSwitch": 1}


def test_by_name_the_free_retry_changes_nothing() -> None:
    answer = ask({"result_empty": True}, {"emptyCount": {"tools": {"grep": 2}}})
    assert answer == {"rule": "OnError", "decision": "retry", "state": {}}


def test_by_name_a_halt_travels() -> None:
    answer = ask({"error": "execution_failure"}, {"retryCounter": 2})
    assert answer["decision"] == "forcehalt"
    assert answer["state"] == {"retryCounter": 3, "forceHalt": True, "roundsWithoutSwitch": 1}


def test_by_name_notify_stands_beside_only_when_it_is_true() -> None:
    assert ask({}, {"forceHalt": True, "haltedRounds": 4}) == {
        "rule": "OnError",
        "decision": "forcehalt",
        "notify": True,
        "state": {"haltedRounds": 5},
    }
    assert "notify" not in ask({}, {"forceHalt": True, "haltedRounds": 3})


def test_by_name_limits_come_from_config() -> None:
    assert ask({"error": "execution_failure"}, config={"onerror.retry_limit": 1})["decision"] == "forcehalt"
    assert ask({"result_empty": True}, {"callCount": {"calls": {KEY: 1}}}, {"onerror": {"empty_tool_limit": 1}})[
        "decision"
    ] == ("forcehalt")


@pytest.mark.parametrize(
    ("args", "code", "argument"),
    [
        ({"result_empty": True, "error": "timeout"}, "bad_argument", "result_empty"),
        ({"error": "explosion"}, "bad_argument", "error"),
        ({"error": False}, "bad_argument", "error"),
        ({"scope": "somewhere"}, "bad_argument", "scope"),
        ({"step_index": 2, "toolchain_len": 2}, "bad_argument", "step_index"),
        ({"step_index": -1, "toolchain_len": 2}, "bad_argument", "step_index"),
        ({"step_index": 0, "toolchain_len": 0}, "bad_argument", "toolchain_len"),
        ({"result_empty": None}, "missing_argument", "result_empty"),
        ({"result_empty": 0}, "bad_argument", "result_empty"),
        ({"tool": None}, "missing_argument", "tool"),
        ({"params": None}, "missing_argument", "params"),
        ({"params": []}, "bad_argument", "params"),
        ({"phase_changed": "yes"}, "bad_argument", "phase_changed"),
    ],
)
def test_by_name_bad_arguments(args: dict[str, Json], code: str, argument: str) -> None:
    error = ask(args)["error"]
    assert isinstance(error, dict)
    assert error["code"] == code
    assert str(error["message"]).startswith(f"OnError: {argument}: ")


@pytest.mark.parametrize(
    ("state", "where"),
    [
        ({"retryCounter": -1}, "state.retryCounter"),
        ({"retryCounter": True}, "state.retryCounter"),
        ({"forceHalt": 1}, "state.forceHalt"),
        ({"emptyCount": {"tools": {"grep": "2"}}}, "state.emptyCount.tools.grep"),
        ({"callCount": {"calls": []}}, "state.callCount.calls"),
    ],
)
def test_by_name_bad_state(state: Json, where: str) -> None:
    error = ask({}, state)["error"]
    assert isinstance(error, dict)
    assert error["code"] == "bad_argument"
    assert where in str(error["message"])


@pytest.mark.parametrize(("scope", "step_index"), list(product(["procedure", None], [None, 0, 1])))
def test_by_name_what_is_not_needed_may_be_left_out(scope: str | None, step_index: int | None) -> None:
    assert ask({"scope": scope, "step_index": step_index, "toolchain_len": 2})["decision"] == "continue"
    assert ask({"error": "timeout", "result_empty": None})["decision"] == "halt+persist"
