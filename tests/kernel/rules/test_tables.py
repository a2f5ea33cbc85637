"""Every decision table is total and has no row that never decides, over the full product of its columns."""

from collections.abc import Iterator
from itertools import product

import pytest

from rulecore_kernel.rules.registry import RULES
from rulecore_kernel.rules.table import Column, Missing, Row, Table
from rulecore_kernel.values import Json

TABLES = [pytest.param(rule.table, id=rule.name) for rule in RULES if rule.table]


def combinations(table: Table[str]) -> Iterator[dict[str, Json]]:
    names = [column.name for column in table.columns]
    for values in product(*(column.values for column in table.columns)):
        yield dict(zip(names, values, strict=True))


def fitting(table: Table[str], given: dict[str, Json]) -> list[int]:
    return [i for i, row in enumerate(table.rows) if all(given[name] == value for name, value in row.when.items())]


@pytest.mark.parametrize("table", TABLES)
def test_total(table: Table[str]) -> None:
    for given in combinations(table):
        assert fitting(table, given), given


@pytest.mark.parametrize("table", TABLES)
def test_no_shadowed_row(table: Table[str]) -> None:
    deciding = {fitting(table, given)[0] for given in combinations(table)}
    assert deciding == set(range(len(table.rows)))


@pytest.mark.parametrize("table", TABLES)
def test_the_first_fitting_row_decides(table: Table[str]) -> None:
    for given in combinations(table):
        assert table.look_up(**given) == table.rows[fitting(table, given)[0]].result


@pytest.mark.parametrize("table", TABLES)
def test_rows_only_name_values_of_their_columns(table: Table[str]) -> None:
    values = {column.name: column.values for column in table.columns}
    for row in table.rows:
        assert all(value in values[name] for name, value in row.when.items())


ROAD = Table(
    (Column("light", ("red", "green", None)), Column("free")),
    (Row("go", {"light": "green", "free": True}), Row("look", {"light": None}), Row("stop")),
)


@pytest.mark.parametrize(
    ("light", "free", "decision"),
    [
        ("green", True, "go"),
        ("green", None, Missing("free")),
        ("red", None, "stop"),  # whatever "free" is
        (None, None, "look"),  # null is a value of this column
        (None, True, "look"),
    ],
)
def test_an_unknown_value_matters_only_to_a_row_that_needs_it(
    light: str | None, free: bool | None, decision: str | Missing
) -> None:
    assert ROAD.decide(light=light, free=free) == decision


def test_a_look_up_needs_every_value() -> None:
    with pytest.raises(ValueError, match="free is not known"):
        ROAD.look_up(light="green", free=None)


def test_a_value_of_no_row_is_an_error() -> None:
    table = Table((Column("light", ("red",)),), (Row("stop", {"light": "red"}),))
    with pytest.raises(ValueError, match="no row fits"):
        table.look_up(light="blue")
