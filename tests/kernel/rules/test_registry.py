"""registry ⇔ functions ⇔ documentation ⇔ tests."""

import ast
import json
import re
from inspect import Parameter, signature
from pathlib import Path

import pytest

from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.rules.model import HEADINGS, Rule
from rulecore_kernel.rules.on_error import Limits
from rulecore_kernel.rules.registry import BY_NAME, RULES
from rulecore_kernel.state.parameters import BY_KEY
from rulecore_kernel.state.variables import BY_NAME as VARIABLES

ROOT = Path(__file__).parents[3]
EACH = pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in RULES])
LAWS = ("InternalConsistency", "ExternalConsistency", "HistoricalIntegrity")
"""They are parts of StateValidity and read in its name."""


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace(".", "_").lower()


def test_names_are_unique() -> None:
    assert list(BY_NAME) == [rule.name for rule in RULES]


def test_the_registry_values_are_those_of_the_specification() -> None:
    assert {rule.name: (rule.kind, rule.category, rule.layer, rule.scope) for rule in RULES} == {
        "ConfigInjection": ("SM", "axiom", "L0", "global"),
        "StateValidity": ("QA", "axiom", "L1", "global"),
        "InternalConsistency": ("QA", "axiom", "L1", "global"),
        "ExternalConsistency": ("QA", "axiom", "L1", "global"),
        "HistoricalIntegrity": ("QA", "axiom", "L1", "global"),
        "StateRecovery": ("SM", "strategy", "L1", "global"),
        "CompactDecision": ("CD", "strategy", "L1", "global"),
        "ReadStrategy": ("CD", "strategy", "L3", "global"),
        "IdempotencyCheck": ("QA", "strategy", "L3", "global"),
        "OnError": ("CD", "strategy", "L1", "loop_body"),
    }


@EACH
def test_a_row_says_where_each_argument_of_its_function_comes_from(rule: Rule) -> None:
    takes = signature(rule.function).parameters
    named = [name for name, parameter in takes.items() if parameter.kind is not Parameter.VAR_KEYWORD]
    limits = [] if len(named) == len(takes) else list(Limits._fields)
    given = [arg.name for arg in rule.args] + (["state"] if rule.state else []) + list(rule.parameters)
    assert sorted(given) == sorted(named + limits)


@EACH
def test_exactly_the_required_arguments_have_no_default(rule: Rule) -> None:
    for arg in rule.args:
        has_default = signature(rule.function).parameters[arg.name].default is not Parameter.empty
        assert has_default is not arg.required, arg.name


@EACH
def test_every_argument_of_a_function_has_a_type(rule: Rule) -> None:
    takes = signature(rule.function)
    assert all(parameter.annotation is not Parameter.empty for parameter in takes.parameters.values())
    assert takes.return_annotation is not Parameter.empty


@EACH
def test_a_function_whose_parameters_have_defaults_agrees_with_the_parameter_registry(rule: Rule) -> None:
    takes = signature(rule.function).parameters
    defaults = {name: takes[name].default for name in rule.parameters if name in takes} or Limits()._asdict()
    for name, key in rule.parameters.items():
        assert defaults[name] == BY_KEY[key].default
        assert rule.name in BY_KEY[key].reader


@EACH
def test_a_rule_may_read_its_state(rule: Rule) -> None:
    reader = "StateValidity" if rule.name in LAWS else rule.name
    assert [name for name in rule.state if reader not in VARIABLES[name].readers] == []


@EACH
def test_a_rule_is_documented_under_every_heading(rule: Rule) -> None:
    assert list(rule.documentation) == list(HEADINGS)
    assert all(rule.documentation.values())
    assert all(arg.meaning for arg in rule.args)


@EACH
def test_a_rules_example_is_what_it_answers(rule: Rule) -> None:
    text = rule.documentation["Example"]
    decoder = json.JSONDecoder()
    request, end = decoder.raw_decode(text)
    answer, rest = decoder.raw_decode(text[end:].lstrip())
    assert text[end:].lstrip()[rest:] == ""
    assert evaluate(request) == answer


@EACH
def test_a_rule_has_a_page(rule: Rule) -> None:
    page = (ROOT / "docs/rules" / f"{rule.name}.md").read_text(encoding="utf-8")
    assert f"\n# {rule.name}\n" in page


def test_every_page_is_of_a_rule() -> None:
    pages = {path.stem for path in (ROOT / "docs/rules").glob("*.md")}
    assert pages == {"README", *BY_NAME}


def test_every_rule_has_a_table_test() -> None:
    defined = {
        node.name
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert [rule.name for rule in RULES if f"test_{snake(rule.name)}_table" not in defined] == []
