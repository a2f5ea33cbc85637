"""Which rules are consulted where (engine.md section 1)."""

from itertools import product

import pytest

from rulecore_kernel.rules.activity import FOCUS, is_active
from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.rules.model import Category, Kind, Layer, Rule, Scope
from rulecore_kernel.rules.registry import RULES
from rulecore_kernel.values import Json


def rule(name: str, layer: Layer, scope: Scope) -> Rule:
    return Rule(name, Kind.CD, Category.STRATEGY, layer, scope, "", (), lambda: True)


@pytest.mark.parametrize(
    ("phase", "active_levels"),
    [
        ("P_plan", "L0 L1 L2 L3"),
        ("P_exec_prep", "L2 L3"),
        ("P_exec_core", "L2 L3"),
        ("P_exec_verify", "L1 L2 L3"),
        ("P_complete", "L0 L1 L2 L3"),
    ],
)
def test_the_focus_activates_its_level_and_those_below(phase: str, active_levels: str) -> None:
    active = [layer for layer in Layer if is_active(rule("X", layer, Scope.GLOBAL), phase, "global")]
    assert active == active_levels.split()


@pytest.mark.parametrize(("own", "current"), list(product(Scope, Scope)))
def test_the_scope_is_the_rules_own_or_the_rule_is_global(own: Scope, current: Scope) -> None:
    assert is_active(rule("X", Layer.L3, own), "P_plan", current) is (own in (Scope.GLOBAL, current))


@pytest.mark.parametrize(("phase", "scope"), list(product(FOCUS, Scope)))
def test_what_guards_use_is_consulted_at_every_focus(phase: str, scope: Scope) -> None:
    for name in ("OnError", "StateValidity", "StateRecovery", "CompactDecision"):
        found = next(known for known in RULES if known.name == name)
        assert is_active(found, phase, scope)


def test_one_side_may_be_left_open() -> None:
    assert is_active(rule("X", Layer.L0, Scope.PROCEDURE), None, "procedure")
    assert not is_active(rule("X", Layer.L0, Scope.PROCEDURE), None, "loop_body")
    assert is_active(rule("X", Layer.L3, Scope.PROCEDURE), "P_exec_core", None)
    assert not is_active(rule("X", Layer.L1, Scope.PROCEDURE), "P_exec_core", None)


@pytest.mark.parametrize(
    ("asked", "active"),
    [
        ({"phase": "P_plan"}, True),
        ({"phase": "P_exec_core"}, False),
        ({"current_scope": "loop_body"}, True),
        ({"phase": "P_exec_core", "current_scope": "loop_body"}, False),
    ],
)
def test_an_answer_carries_activity_when_it_is_asked_for(asked: dict[str, str], active: bool) -> None:
    request: dict[str, Json] = {"rule": "ConfigInjection", "args": {"key": "guard.mode"}}
    plain = evaluate(request)
    assert "active" not in plain
    assert evaluate({**request, **asked}) == {**plain, "active": active}


@pytest.mark.parametrize("asked", [{"phase": "P_other"}, {"current_scope": "everywhere"}, {"phase": 1}])
def test_phases_and_scopes_are_closed_lists(asked: dict[str, str]) -> None:
    answer = evaluate({"rule": "ConfigInjection", "args": {"key": "guard.mode"}, **asked})
    assert answer["error"]["code"] == "bad_argument"  # type: ignore[index]
