"""StateRecovery, CompactDecision, ReadStrategy, IdempotencyCheck: their tables, as the specification has them."""

from itertools import product

import pytest

from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.values import Json

VALIDITIES = ("valid", "invalid", "degraded")


def decision(rule: str, args: dict[str, Json], config: dict[str, Json] | None = None) -> object:
    answer = evaluate({"rule": rule, "args": args, "config": config})
    assert "error" not in answer, answer
    return answer["decision"]


def missing(rule: str, args: dict[str, Json]) -> str:
    error = evaluate({"rule": rule, "args": args})["error"]
    assert isinstance(error, dict)
    assert error["code"] == "missing_argument", error
    return str(error["message"]).split(": ")[1]


@pytest.mark.parametrize(
    ("validity", "expected"),
    [("invalid", "full_reset"), ("degraded", "targeted_recovery"), ("valid", "no_action")],
)
def test_state_recovery_table(validity: str, expected: str) -> None:
    assert evaluate({"rule": "StateRecovery", "args": {"validity": validity}}) == {
        "rule": "StateRecovery",
        "decision": expected,
    }


@pytest.mark.parametrize("given", list(product((True, False), (True, False), (True, False), VALIDITIES)))
def test_compact_decision_table(given: tuple[bool, bool, bool, str]) -> None:
    critical, phase_changed, module_done, validity = given
    if critical:
        expected = "emergency_dump"
    elif validity == "invalid":
        expected = "recover_first"
    elif phase_changed:
        expected = "phase_compact"
    elif module_done:
        expected = "module_compact"
    else:
        expected = "no_action"
    args: dict[str, Json] = {
        "ctx_critical": critical,
        "phase_changed": phase_changed,
        "module_done": module_done,
        "validity": validity,
    }
    assert decision("CompactDecision", args) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"ctx_critical": True}, "emergency_dump"),
        ({"ctx_critical": False, "validity": "invalid"}, "recover_first"),
        ({"ctx_critical": False, "validity": "valid", "phase_changed": True, "module_done": None}, "phase_compact"),
    ],
)
def test_compact_decision_without_what_it_does_not_need(args: dict[str, Json], expected: str) -> None:
    assert decision("CompactDecision", args) == expected


@pytest.mark.parametrize(
    ("args", "name"),
    [
        ({}, "ctx_critical"),
        ({"ctx_critical": False, "phase_changed": True, "module_done": True}, "validity"),
        ({"ctx_critical": False, "validity": "degraded"}, "phase_changed"),
        ({"ctx_critical": False, "validity": "degraded", "phase_changed": False}, "module_done"),
    ],
)
def test_compact_decision_says_what_is_missing(args: dict[str, Json], name: str) -> None:
    assert missing("CompactDecision", args) == name


SIZES = [(0, "direct"), (32_767, "direct"), (32_768, "process"), (262_144, "process"), (262_145, "process_segmented")]


@pytest.mark.parametrize(("size", "when_valid"), SIZES)
@pytest.mark.parametrize("validity", VALIDITIES)
def test_read_strategy_table(size: int, when_valid: str, validity: str) -> None:
    answer = evaluate({"rule": "ReadStrategy", "args": {"size": size, "validity": validity}})
    expected: dict[str, object] = {"rule": "ReadStrategy", "decision": when_valid}
    if validity == "invalid":
        expected["decision"] = "recover_first"
    elif validity == "degraded":
        expected["force_reread"] = True
        if when_valid == "process_segmented":
            expected["decision"] = "process"
    assert answer == expected


def test_read_strategy_asks_for_no_size_of_what_is_not_read() -> None:
    assert decision("ReadStrategy", {"validity": "invalid"}) == "recover_first"
    assert missing("ReadStrategy", {"validity": "valid"}) == "size"
    assert missing("ReadStrategy", {"validity": "degraded", "size": None}) == "size"
    assert missing("ReadStrategy", {"size": 1}) == "validity"


def test_read_strategy_thresholds_are_parameters() -> None:
    args: dict[str, Json] = {"size": 50, "validity": "valid"}
    assert decision("ReadStrategy", args, {"read.small_bytes": 50}) == "process"
    assert decision("ReadStrategy", args, {"read": {"small_bytes": 10, "large_bytes": 49}}) == "process_segmented"


@pytest.mark.parametrize(
    ("current", "last", "current_hash", "last_hash", "expected"),
    [
        (None, None, None, None, "null_input"),
        (None, "op", "h", "h", "null_input"),
        ("op", None, "h", "h", "proceed"),
        ("op", "op", "h", "h", "skip"),
        ("op", "op", "h", "i", "proceed"),
        ("op", "other", "h", "h", "proceed"),
        ("op", "op", None, None, "proceed"),  # an unknown hash equals nothing
        ("op", "op", "h", None, "proceed"),
        ("op", "op", None, "h", "proceed"),
        (7, 7, "h", "h", "skip"),
        (7, "7", "h", "h", "proceed"),
        ("", "", "", "", "skip"),  # empty is not null
    ],
)
def test_idempotency_check_table(current: Json, last: Json, current_hash: Json, last_hash: Json, expected: str) -> None:
    args: dict[str, Json] = {
        "current": current,
        "last": last,
        "current_hash": current_hash,
        "last_hash": last_hash,
    }
    assert decision("IdempotencyCheck", args) == expected


def test_idempotency_check_needs_to_be_told_the_operation() -> None:
    assert missing("IdempotencyCheck", {}) == "current"
    assert decision("IdempotencyCheck", {"current": None}) == "null_input"
    assert decision("IdempotencyCheck", {"current": "op"}) == "proceed"
    assert decision("IdempotencyCheck", {"current": "op", "last": "op"}) == "proceed"
