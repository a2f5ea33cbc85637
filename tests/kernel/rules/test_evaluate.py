"""A rule by name: the wire details of kernel.md section 1."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.rules.model import Answer, Arg, Category, Code, Decided, Kind, Layer, Rule, Scope
from rulecore_kernel.rules.registry import BY_NAME, RULES
from rulecore_kernel.state.config import DEFAULTS, resolve
from rulecore_kernel.state.domain import ANYTHING, FLAG, TEXT
from rulecore_kernel.state.manager import StateManager
from rulecore_kernel.state.parameters import Parameter
from rulecore_kernel.values import Json


def failure(request: Mapping[str, Json], rules: Mapping[str, Rule] = BY_NAME) -> tuple[str, str]:
    answer = evaluate(request, rules=rules)
    assert list(answer) == ["error"], answer
    error = answer["error"]
    assert isinstance(error, dict)
    assert set(error) == {"code", "message"}
    return error["code"], error["message"]


READ: dict[str, Json] = {"rule": "ReadStrategy", "args": {"size": 1, "validity": "valid"}}


@pytest.mark.parametrize(
    ("request_", "code", "parts"),
    [
        ({}, "unknown_rule", ["rule", "nothing", "ReadStrategy"]),
        ({"rule": None}, "unknown_rule", ["nothing"]),
        ({"rule": 7}, "unknown_rule", ["7"]),
        ({"rule": ["ReadStrategy"]}, "unknown_rule", ["a list of 1"]),
        ({"rule": "readstrategi"}, "unknown_rule", ["readstrategi", "did you mean ReadStrategy?"]),
        ({"rule": "ReadStrategy", "args": []}, "bad_argument", ["ReadStrategy: args:", "a list of 0", "an object"]),
        ({"rule": "ReadStrategy", "args": {}, "state": 3}, "bad_argument", ["state", "3"]),
        ({"rule": "ReadStrategy", "args": {}, "config": "x"}, "bad_argument", ["config", '"x"']),
        ({"rule": "ReadStrategy"}, "missing_argument", ["ReadStrategy: validity:", "one of valid, invalid, degraded"]),
        ({**READ, "args": {"size": 1, "validity": "ok"}}, "bad_argument", ["validity", '"ok"', "one of valid"]),
        ({**READ, "args": {"size": True, "validity": "valid"}}, "bad_argument", ["size", "true", "an integer ≥ 0"]),
        ({**READ, "args": {"size": 1.0, "validity": "valid"}}, "bad_argument", ["size", "1.0"]),
        ({**READ, "args": {"size": -1, "validity": "valid"}}, "bad_argument", ["size", "-1"]),
        ({**READ, "args": {"size": "1", "validity": "valid"}}, "bad_argument", ["size", '"1"']),
        ({**READ, "args": {"sise": 1, "validity": "valid"}}, "bad_argument", ["sise", "did you mean size?"]),
        ({**READ, "args": {"size": 1, "validity": "valid", "path": None}}, "bad_argument", ["path", "size, validity"]),
        ({"rule": "InternalConsistency", "args": {"x": 1}}, "bad_argument", ["x", "no arguments"]),
        ({"rule": "StateRecovery", "args": {"validity": None}}, "missing_argument", ["StateRecovery: validity:"]),
        ({"rule": "CompactDecision", "args": {"ctx_critical": 1}}, "bad_argument", ["ctx_critical", "true or false"]),
    ],
)
def test_errors_say_rule_argument_given_and_allowed(request_: dict[str, Json], code: str, parts: list[str]) -> None:
    given_code, message = failure(request_)
    assert given_code == code
    for part in parts:
        assert part in message


def test_null_parts_of_a_request_count_as_absent() -> None:
    assert evaluate({**READ, "state": None, "config": None, "phase": None}) == evaluate(READ)


def test_a_rule_without_state_has_none_in_its_answer() -> None:
    assert evaluate({**READ, "state": {"retryCounter": "not even looked at"}}) == {
        "rule": "ReadStrategy",
        "decision": "direct",
    }


def test_fields_that_nobody_asked_for_are_let_be() -> None:
    assert evaluate({**READ, "id": 7}) == evaluate(READ)


def test_config_is_above_the_workspaces_settings_for_one_call() -> None:
    workspace = resolve(project={"read.small_bytes": 1})
    request: dict[str, Json] = {**READ, "config": {"read.small_bytes": 2}}
    assert evaluate(READ, workspace)["decision"] == "process"
    assert evaluate(request, workspace)["decision"] == "direct"
    assert evaluate(READ, workspace)["decision"] == "process"


def test_an_unusable_config_is_reported_beside_the_decision() -> None:
    answer = evaluate({**READ, "config": {"read.small_bytes": "2", "read.smal_bytes": 2}})
    assert answer["decision"] == "direct"
    warnings = answer["warnings"]
    assert isinstance(warnings, list)
    assert any("read.small_bytes" in text and "an integer ≥ 0" in text for text in warnings)
    assert any("did you mean read.small_bytes?" in text for text in warnings)


def synthetic(function: object, **row: object) -> dict[str, Rule]:
    rule = Rule("X", Kind.CD, Category.STRATEGY, Layer.L3, Scope.GLOBAL, "", (), function)  # type: ignore[arg-type]
    return {"X": rule._replace(**row)}  # type: ignore[arg-type]


def test_a_required_parameter_that_no_source_has_degrades_the_rule() -> None:
    parameter = Parameter("path.root", TEXT, None, "X", "", required=True)
    settings_ = resolve(parameters={"path.root": parameter})
    rules = synthetic(lambda root: root, parameters={"root": "path.root"})
    assert evaluate({"rule": "X"}, settings_, rules) == {
        "rule": "X",
        "decision": None,
        "degraded": True,
        "missing": "path.root",
    }
    settings_ = resolve(project={"path": {"root": "/w"}}, parameters={"path.root": parameter})
    assert evaluate({"rule": "X"}, settings_, rules) == {"rule": "X", "decision": "/w"}


def test_a_breach_of_permission_is_an_error_object() -> None:
    def meddle() -> Decided:
        StateManager().write("forceHalt", True, "ReadStrategy")
        return True

    code, message = failure({"rule": "X"}, synthetic(meddle))
    assert code == "permission"
    assert "forceHalt" in message
    assert "ReadStrategy" in message


def test_a_defect_is_an_error_object() -> None:
    def broken() -> Decided:
        raise ZeroDivisionError("oops")

    code, message = failure({"rule": "X"}, synthetic(broken))
    assert code == "internal"
    assert "X: ZeroDivisionError: oops" in message


def test_what_stands_beside_a_decision_is_kept() -> None:
    rules = synthetic(lambda: Answer(False, {"source": "here"}))
    assert evaluate({"rule": "X"}, rules=rules) == {"rule": "X", "decision": False, "source": "here"}


def test_a_null_for_a_required_nullable_argument_is_given() -> None:
    seen: list[object] = []
    args = (Arg("value", ANYTHING, "", required=True), Arg("flag", FLAG, ""))
    rules = synthetic(lambda value, flag=True: seen.append((value, flag)) or True, args=args)  # type: ignore[func-returns-value]
    evaluate({"rule": "X", "args": {"value": None, "flag": None}}, rules=rules)
    assert seen == [(None, True)]
    assert failure({"rule": "X", "args": {}}, rules)[0] == Code.MISSING_ARGUMENT


def test_deep_nesting_is_an_error_object() -> None:
    deep: Json = 1
    for _ in range(100_000):
        deep = {"a": deep}
    request: dict[str, Json] = {
        "rule": "OnError",
        "args": {"tool": "t", "params": {"p": deep}, "result_empty": False},
    }
    code, message = failure(request)
    assert code == "bad_argument"
    assert "nested too deeply" in message


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def requests() -> st.SearchStrategy[dict[str, Json]]:
    """Requests that go wrong late: real names for rules, arguments, variables and parameters, any values."""

    def for_rule(rule: Rule) -> st.SearchStrategy[dict[str, Json]]:
        names = st.sampled_from([arg.name for arg in rule.args] or ["x"]) | st.text(max_size=4)
        plausible: list[Json] = [True, False, "valid", "invalid", "timeout", "loop_body", 0, 1]
        values = json_values | st.sampled_from(plausible)
        variables = st.sampled_from(rule.state or ("x",))
        keys = st.sampled_from([*rule.parameters.values(), "onerror", "read.small_bytes"])
        wanted: dict[str, st.SearchStrategy[Json]] = {
            "rule": st.just(rule.name),
            "args": st.dictionaries(names, values, max_size=9),
        }
        optional: dict[str, st.SearchStrategy[Json]] = {
            "state": st.dictionaries(variables, values, max_size=4),
            "config": st.dictionaries(keys, values, max_size=3),
            "phase": st.sampled_from(["P_plan", "P_exec_core"]),
            "current_scope": st.sampled_from([scope.value for scope in Scope]),
        }
        odd = {name: st.one_of(good, json_values) for name, good in optional.items()}
        return st.fixed_dictionaries(wanted, optional=odd)

    return st.sampled_from(RULES).flatmap(for_rule)


@settings(max_examples=1_500, deadline=None)
@given(requests() | st.dictionaries(st.sampled_from(["rule", "args", "state"]), json_values))
def test_any_json_is_answered(request: dict[str, Json]) -> None:
    before = json.dumps(request)
    answer = evaluate(request)
    json.dumps(answer)
    assert json.dumps(request) == before, "the request was changed"
    error = answer.get("error")
    if isinstance(error, dict):
        assert error["code"] in {"unknown_rule", "missing_argument", "bad_argument"}, error
    else:
        assert answer["rule"] == request["rule"]
        assert "decision" in answer


def test_the_default_settings_are_the_defaults() -> None:
    assert evaluate(READ, DEFAULTS) == evaluate(READ)
