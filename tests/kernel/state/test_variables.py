"""The variable table of kernel.md section 3."""

import pytest

from rulecore_kernel.state.domain import Mismatch
from rulecore_kernel.state.model import INITIAL, State, freeze, thaw
from rulecore_kernel.state.variables import BY_NAME, HOOK, USER, VARIABLES, parse
from rulecore_kernel.values import Json

ENGINE = {"Evaluate", "Update", "Decide", "Adjust"}
GUARDS = {"SyncGuard", "IdempotencyGuard", "CompactDecision"}
LOOP = {"Update", "Decide", "Adjust"}
TABLE: dict[str, tuple[Json, set[str], set[str]]] = {
    "operationLog": ({}, {"StateValidity", "OnError"}, {"ErrorHandler", "executor", "StateRecovery", "PostProcess"}),
    "fileCache": ({}, {"StateValidity", "SyncGuard"}, {"ReadStrategy", "SyncGuard", "StateRecovery"}),
    "externalConsistency": (True, {"StateValidity"}, {"SyncGuard"}),
    "last": (None, {"IdempotencyGuard"}, {"executor", "IdempotencyGuard"}),
    "lastFileHash": (None, {"IdempotencyGuard"}, {"executor", "IdempotencyGuard"}),
    "retryCounter": (0, {"OnError", "engine.Gate"}, {"OnError", "executor", USER}),
    "switchCounter": (0, {"OnError", "Decide"}, {"OnError", "Decide", USER}),
    "forceHalt": (False, GUARDS | {"OnError", "Decide"}, {"OnError", "ErrorHandler", "Decide", USER}),
    "haltedRounds": (0, {"OnError"}, {"OnError", USER}),
    "roundsWithoutSwitch": (0, {"OnError"}, {"OnError", USER}),
    "toolCallHistory": ({}, {"OnError"}, {"executor"}),
    "emptyCount": ({}, {"OnError"}, {"OnError", "Decide", USER}),
    "callCount": ({}, {"FirstCallTransient", "OnError"}, {"executor"}),
    "completed": ({}, {"StateValidity"}, {"CompactProcedure", "StateRecovery"}),
    "fileSnapshots": ({}, {"ErrorHandler"}, {"executor"}),
    "iterationCount": (0, ENGINE, LOOP),
    "CF": (0, ENGINE, LOOP),
    "CP": (0, ENGINE, LOOP),
    "qualityDeclineCount": (0, ENGINE, LOOP),
    "bestResult": (None, ENGINE, LOOP),
    "bestQuality": (None, ENGINE, LOOP),
    "lastResult": (None, ENGINE, LOOP),
    "history": ((), ENGINE, LOOP),
    "changeLog": ((), ENGINE, LOOP),
    "subRoundAttempts": (0, ENGINE, LOOP | {"Evaluate"}),
    "skippedFromSubRound": (False, ENGINE, LOOP | {"Evaluate"}),
    "skipExternalConsistency": (True, {"StateValidity"}, {HOOK}),
    "skipHistoricalIntegrity": (True, {"StateValidity"}, {HOOK}),
}


def test_the_table_is_that_of_the_specification() -> None:
    assert {v.name: (v.initial, set(v.readers), set(v.writers)) for v in VARIABLES} == TABLE


def test_every_field_of_the_state_is_one_variable() -> None:
    assert [variable.field for variable in VARIABLES] == list(State._fields)


def test_every_initial_value_is_one_the_variable_can_hold() -> None:
    assert [v.name for v in VARIABLES if v.domain.mismatch(v.initial)] == []


def test_missing_and_null_variables_have_their_initial_value() -> None:
    assert parse({}, BY_NAME) == INITIAL
    assert parse(dict.fromkeys(BY_NAME), BY_NAME) == INITIAL


def test_only_the_named_variables_are_looked_at() -> None:
    parsed = parse({"retryCounter": 2, "switchCounter": "broken"}, ("retryCounter",))
    assert parsed == INITIAL._replace(retry_counter=2)


@pytest.mark.parametrize(
    ("name", "wrong", "place"),
    [
        ("retryCounter", -1, "retryCounter"),
        ("forceHalt", 0, "forceHalt"),
        ("emptyCount", {"calls": {"k": -1}}, "emptyCount.calls.k"),
        ("operationLog", {"op": {"status": "lost"}}, "operationLog.op.status"),
        ("fileCache", {"a.py": {"timestamp": "now"}}, "fileCache.a.py.timestamp"),
        ("history", [1], "history[0]"),
        ("bestQuality", 1.5, "bestQuality"),
    ],
)
def test_a_value_that_a_variable_cannot_hold_is_named(name: str, wrong: Json, place: str) -> None:
    mismatch = parse({name: wrong}, (name,))
    assert isinstance(mismatch, Mismatch)
    assert mismatch.path == place


def test_frozen_values_cannot_be_changed_and_thaw_to_what_they_were() -> None:
    plain: Json = {"a": [1, {"b": None}], "c": "x"}
    frozen = freeze(plain)
    with pytest.raises(TypeError):
        frozen["a"] = 1  # type: ignore[index]
    assert thaw(frozen) == plain
