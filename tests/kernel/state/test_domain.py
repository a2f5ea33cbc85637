"""Which values belong, and how that is said."""

import pytest

from rulecore_kernel.state.domain import (
    ANYTHING,
    COUNT,
    FLAG,
    OBJECT,
    TEXT,
    Domain,
    Type,
    map_of,
    one_of,
    record,
    shown,
)

SHARE = Domain(Type.NUMBER, minimum=0, maximum=1)
ID = Domain(Type.ID, nullable=True)
NAMES = Domain(Type.LIST, items=TEXT)
COUNTS = record(tools=map_of(COUNT))


@pytest.mark.parametrize(
    ("domain", "good", "bad"),
    [
        (ANYTHING, [None, True, 1, 1.5, "", [], {}], []),
        (FLAG, [True, False], [None, 0, 1, "true"]),
        (COUNT, [0, 1, 10**400], [None, True, False, -1, 1.0, "1"]),
        (SHARE, [0, 0.5, 1], [True, 1.1, -0.1, float("nan"), float("inf"), 10**400, "0.5"]),
        (TEXT, ["", "x"], [None, 1, ["x"]]),
        (one_of("a", "b"), ["a", "b"], ["c", "", None, 1]),
        (ID, [None, "x", 7], [True, 1.5, [], {}]),
        (OBJECT, [{}, {"a": 1}], [None, [], "{}"]),
        (NAMES, [[], ["a"], ("a", "b")], ["a", [1], [None], {"a": 1}]),
        (map_of(COUNT), [{}, {"a": 0}], [{"a": -1}, {"a": None}, []]),
        (COUNTS, [{}, {"tools": {"a": 1}}, {"other": "x"}], [{"tools": {"a": "1"}}, {"tools": None}]),
    ],
)
def test_which_values_belong(domain: Domain, good: list[object], bad: list[object]) -> None:
    assert [value for value in good if domain.mismatch(value)] == []
    assert [value for value in bad if not domain.mismatch(value)] == []


@pytest.mark.parametrize(
    ("domain", "value", "path"),
    [
        (COUNTS, {"tools": {"a": 1, "b": -1}}, ".tools.b"),
        (NAMES, ["a", 2], "[1]"),
        (COUNT, -1, ""),
    ],
)
def test_a_mismatch_names_the_place(domain: Domain, value: object, path: str) -> None:
    mismatch = domain.mismatch(value)
    assert mismatch is not None
    assert mismatch.path == path


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (ANYTHING, "any value"),
        (FLAG, "true or false"),
        (COUNT, "an integer ≥ 0"),
        (SHARE, "a number from 0 to 1"),
        (one_of("a", "b"), "one of a, b"),
        (Domain(Type.TEXT, ("a",), nullable=True), "one of a or null"),
        (NAMES, "a list of which each is a string"),
        (map_of(COUNT), "an object whose values are each an integer ≥ 0"),
        (COUNTS, "an object with tools"),
    ],
)
def test_what_is_allowed_is_said_in_words(domain: Domain, text: str) -> None:
    assert domain.describe() == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ("x", '"x"'),
        (1.5, "1.5"),
        ({"a": 1}, "an object with 1 field"),
        ([1, 2], "a list of 2"),
        ("x" * 200, '"' + "x" * 79 + '…"'),
    ],
)
def test_values_are_shown_shortly(value: object, text: str) -> None:
    assert shown(value) == text
