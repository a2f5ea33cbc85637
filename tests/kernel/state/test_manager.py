"""StateManager: the only door."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulecore_kernel.state.manager import StateManager, StatePermissionError, StateValueError
from rulecore_kernel.state.model import INITIAL
from rulecore_kernel.state.variables import HOOK, USER, VARIABLES, Variable
from rulecore_kernel.values import Json

ROLES = sorted({role for v in VARIABLES for role in (*v.readers, *v.writers)} | {"an agent"})


@pytest.mark.parametrize(("variable", "role"), list(product(VARIABLES, ROLES)), ids=lambda v: getattr(v, "name", v))
def test_permissions(variable: Variable, role: str) -> None:
    manager = StateManager()
    if role in variable.readers:
        assert manager.read(variable.name, role) == variable.initial
    else:
        with pytest.raises(StatePermissionError, match=f"{variable.name}: {role} may not read"):
            manager.read(variable.name, role)
    value: Json = True if variable.set_only else variable.initial
    if role in variable.writers and role != HOOK:
        manager.write(variable.name, value, role)
        assert getattr(manager.snapshot(), variable.field) == value
    else:
        with pytest.raises(PermissionError, match=f"{variable.name}: {role} may not write"):
            manager.write(variable.name, value, role)
        assert manager.snapshot() == INITIAL


@pytest.mark.parametrize("role", ["OnError", "ErrorHandler", "Decide"])
def test_a_rule_sets_the_halt_and_only_the_user_takes_it_back(role: str) -> None:
    manager = StateManager()
    manager.write("forceHalt", True, role)
    with pytest.raises(StatePermissionError, match="may only set it"):
        manager.write("forceHalt", False, role)
    assert manager.snapshot().force_halt
    manager.write("forceHalt", False, USER)
    assert not manager.snapshot().force_halt


def test_the_users_clearing() -> None:
    manager = StateManager()
    for name in ("retryCounter", "switchCounter", "haltedRounds", "roundsWithoutSwitch"):
        manager.write(name, 2, "OnError")
    manager.write("emptyCount", {"tools": {"t": 2}, "calls": {}}, "OnError")
    manager.write("callCount", 3, "executor", "calls", "t|{}")
    manager.write("forceHalt", True, "OnError")
    manager.clear()
    after = manager.snapshot()
    assert (after.force_halt, after.retry_counter, after.switch_counter, after.halted_rounds) == (False, 0, 0, 0)
    assert after.empty_count == {}
    assert after.rounds_without_switch == 2
    assert after.call_count == {"calls": {"t|{}": 3}}  # what ran, ran: no second free retry


def test_entries_of_maps() -> None:
    manager = StateManager()
    assert manager.read("callCount", "OnError", "calls", "k") is None
    manager.write("callCount", 1, "executor", "calls", "k")
    manager.write("callCount", 5, "executor", "calls", "l")
    assert manager.read("callCount", "OnError", "calls", "k") == 1
    assert manager.read("callCount", "OnError") == {"calls": {"k": 1, "l": 5}}
    assert manager.read("retryCounter", "OnError", "no", "such", "place") is None


@pytest.mark.parametrize(
    ("write", "place"),
    [
        (("retryCounter", -1, "OnError"), "retryCounter"),
        (("retryCounter", True, "OnError"), "retryCounter"),
        (("callCount", -1, "executor", "calls", "k"), "callCount.calls.k"),
        (("fileCache", {"a.py": 3}, "SyncGuard"), "fileCache.a.py"),
        (("operationLog", {"status": "lost"}, "executor", "op"), "operationLog.op.status"),
        (("forceHalt", None, USER), "forceHalt"),
    ],
)
def test_a_value_that_a_variable_cannot_hold_is_refused(write: tuple[str, Json, str], place: str) -> None:
    manager = StateManager()
    with pytest.raises(StateValueError, match=f"{place}: given .*; allowed: "):
        manager.write(*write)
    assert manager.snapshot() == INITIAL


def test_a_variable_that_does_not_exist() -> None:
    with pytest.raises(StateValueError, match="did you mean retryCounter"):
        StateManager().read("retryCount", "OnError")


def test_a_snapshot_never_changes() -> None:
    manager = StateManager()
    log: dict[str, Json] = {"op": {"status": "pending", "owner": 1}}
    manager.write("operationLog", log, "executor")
    snapshot = manager.snapshot()
    log["op"] = {"status": "done", "owner": None}
    log["other"] = {"status": "pending", "owner": 1}
    manager.write("operationLog", {"status": "failed", "owner": None}, "executor", "third")
    assert snapshot.operation_log == {"op": {"status": "pending", "owner": 1}}
    with pytest.raises(TypeError):
        snapshot.operation_log["op"] = {}  # type: ignore[index]
    assert set(manager.snapshot().operation_log) == {"op", "third"}


def flags(manager: StateManager) -> tuple[bool, bool]:
    state = manager.snapshot()
    return state.skip_external_consistency, state.skip_historical_integrity


FILE: Json = {"a.py": {"timestamp": 1, "lastModifiedTime": 1, "hash": "h"}}


def test_the_initialisation_hook() -> None:
    manager = StateManager()
    assert flags(manager) == (True, True)  # fileCache starts empty
    manager.write("fileCache", FILE, "SyncGuard")
    assert flags(manager) == (True, True)  # until a StateValidity was evaluated
    manager.validity_judged()
    assert flags(manager) == (False, False)
    manager.write("retryCounter", 1, "OnError")
    assert flags(manager) == (False, False)
    manager.write("fileCache", {}, "StateRecovery")
    assert flags(manager) == (True, True)
    manager.validity_judged()
    manager.write("forceHalt", True, "OnError")
    assert flags(manager) == (True, True)
    manager.validity_judged()
    manager.clear()
    assert flags(manager) == (False, False)


@given(st.lists(st.sampled_from(VARIABLES)), st.sampled_from(ROLES), st.booleans())
def test_no_caller_sets_a_skip_flag(variables: list[Variable], role: str, value: bool) -> None:
    manager = StateManager()
    manager.validity_judged()
    for name in ("skipExternalConsistency", "skipHistoricalIntegrity"):
        with pytest.raises(StatePermissionError):
            manager.write(name, value, role)
    assert flags(manager) == (False, False)
