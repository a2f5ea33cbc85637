"""StateValidity and the three laws."""

from itertools import product

import pytest

from rulecore_kernel.rules.axioms import judge_validity
from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.state.manager import StateManager
from rulecore_kernel.values import Json


def validity(**args: Json) -> dict[str, object]:
    return evaluate({"rule": "StateValidity", "args": args})


@pytest.mark.parametrize(
    ("internal", "external", "historical", "decision"),
    [
        (True, True, True, "valid"),
        (True, True, False, "degraded"),
        (True, False, True, "degraded"),
        (True, False, False, "invalid"),
        (False, True, True, "invalid"),
        (False, True, False, "invalid"),
        (False, False, True, "invalid"),
        (False, False, False, "invalid"),
    ],
)
def test_state_validity_table(internal: bool, external: bool, historical: bool, decision: str) -> None:
    answer = validity(internal=internal, external=external, historical=historical)
    dimensions = {"internal": internal, "external": external, "historical": historical}
    assert answer == {"rule": "StateValidity", "decision": decision, "dimensions": dimensions}


@pytest.mark.parametrize("given", list(product((True, False), repeat=6)))
def test_state_validity_over_the_full_product(given: tuple[bool, ...]) -> None:
    internal, external, historical, skip_external, skip_historical, sync = given
    answer = validity(
        internal=internal,
        external=external,
        historical=historical,
        skip_external=skip_external,
        skip_historical=skip_historical,
        sync_available=sync,
    )
    holds_external, holds_historical = external or skip_external, historical or skip_historical
    if not internal:
        expected = "invalid"
    elif holds_external and holds_historical:
        expected = "valid"
    elif holds_external != holds_historical:
        expected = "degraded"
    else:
        expected = "invalid"
    assert answer["decision"] == expected
    assert answer["dimensions"] == {
        "internal": internal,
        "external": "skipped" if skip_external else external,
        "historical": "skipped" if skip_historical else historical,
    }
    unverified = not sync and not skip_external
    assert answer.get("external_confidence") == ("unverified" if unverified else None)


@pytest.mark.parametrize(
    ("args", "decision"),
    [
        ({"internal": False}, "invalid"),
        ({"internal": True, "skip_external": True, "historical": True}, "valid"),
        ({"internal": True, "external": False, "historical": None, "skip_historical": True}, "degraded"),
    ],
)
def test_state_validity_without_what_it_does_not_need(args: dict[str, Json], decision: str) -> None:
    assert validity(**args)["decision"] == decision


@pytest.mark.parametrize(
    ("args", "missing"),
    [
        ({}, "internal"),
        ({"internal": None}, "internal"),
        ({"internal": True, "historical": True}, "external"),
        ({"internal": True, "external": True}, "historical"),
    ],
)
def test_state_validity_says_what_is_missing(args: dict[str, Json], missing: str) -> None:
    error = validity(**args)["error"]
    assert isinstance(error, dict)
    assert error["code"] == "missing_argument"
    assert f"StateValidity: {missing}:" in error["message"]


def law(name: str, variable: str, value: Json) -> object:
    answer = evaluate({"rule": name, "state": {variable: value}})
    assert answer.get("state") == {}, answer
    return answer["decision"]


@pytest.mark.parametrize(
    ("log", "holds"),
    [
        ({}, True),
        (None, True),  # null is a legal initial state
        ({"a": {"status": "pending", "owner": None}}, False),
        ({"a": {"status": "pending"}}, False),
        ({"a": {"status": "pending", "owner": 42}}, True),
        ({"a": {"status": "pending", "owner": 0}}, True),
        ({"a": {"status": "done", "owner": None}}, True),
        ({"a": {"status": "failed", "owner": None, "summary": "no"}}, True),
        ({"a": {"status": "done", "owner": 1}, "b": {"status": "pending", "owner": None}}, False),
        ({"a": {}}, False),
    ],
)
def test_internal_consistency_table(log: Json, holds: bool) -> None:
    assert law("InternalConsistency", "operationLog", log) is holds


@pytest.mark.parametrize(
    ("cache", "holds"),
    [
        ({}, True),
        (None, True),
        ({"a": {"timestamp": 5, "lastModifiedTime": 4, "hash": "h"}}, True),
        ({"a": {"timestamp": 5, "lastModifiedTime": 5, "hash": "h"}}, True),
        ({"a": {"timestamp": 5, "lastModifiedTime": 5.5, "hash": "h"}}, False),
        ({"a": {"timestamp": 5, "lastModifiedTime": 5}, "b": {"timestamp": 1, "lastModifiedTime": 2}}, False),
        ({"a": {"timestamp": None, "lastModifiedTime": 2}}, False),
        ({"a": {"timestamp": 2, "lastModifiedTime": None}}, True),
        ({"a": {}}, True),
    ],
)
def test_external_consistency_table(cache: Json, holds: bool) -> None:
    assert law("ExternalConsistency", "fileCache", cache) is holds


@pytest.mark.parametrize(
    ("completed", "holds"),
    [
        ({}, True),
        (None, True),
        ({"P_plan": "chose A over B"}, True),
        ({"P_plan": "# FULL_RESET at 2025-01-01T00:00:00Z"}, True),
        ({"P_plan": ""}, False),
        ({"P_plan": " \n"}, False),
        ({"P_plan": None}, False),
        ({"P_plan": []}, False),
        ({"P_plan": ["why"]}, True),
        ({"P_plan": "why", "P_exec_core": ""}, False),
    ],
)
def test_historical_integrity_table(completed: Json, holds: bool) -> None:
    assert law("HistoricalIntegrity", "completed", completed) is holds


def test_the_first_verdict_of_a_session_skips_what_cannot_be_known_yet() -> None:
    manager = StateManager()
    first = judge_validity(manager, sync_available=True)
    assert first.decision == "valid"
    assert first.beside["dimensions"] == {"internal": True, "external": "skipped", "historical": "skipped"}
    second = judge_validity(manager, sync_available=False)
    assert second.beside["dimensions"] == {"internal": True, "external": True, "historical": True}
    assert second.beside["external_confidence"] == "unverified"


def test_a_full_reset_is_not_answered_by_a_second_one() -> None:
    manager = StateManager()
    judge_validity(manager, sync_available=True)
    manager.write("operationLog", {"op": {"status": "pending", "owner": None}}, "executor")
    manager.write("completed", {"P_plan": ""}, "CompactProcedure")
    assert judge_validity(manager, sync_available=True).decision == "invalid"
    manager.write("operationLog", {}, "StateRecovery")
    manager.write("fileCache", {}, "StateRecovery")
    manager.write("completed", {"P_plan": "# FULL_RESET at 2025-01-01T00:00:00Z"}, "StateRecovery")
    manager.write("externalConsistency", False, "SyncGuard")  # nothing is rescanned yet
    assert judge_validity(manager, sync_available=True).decision == "valid"
    manager.write("fileCache", {"a.py": {"timestamp": 2, "lastModifiedTime": 1, "hash": "h"}}, "StateRecovery")
    manager.write("externalConsistency", True, "SyncGuard")
    assert judge_validity(manager, sync_available=True).decision == "valid"


def test_what_sync_guard_found_is_the_external_dimension() -> None:
    manager = StateManager()
    judge_validity(manager, sync_available=True)
    manager.write("externalConsistency", False, "SyncGuard")
    assert judge_validity(manager, sync_available=True).decision == "degraded"
