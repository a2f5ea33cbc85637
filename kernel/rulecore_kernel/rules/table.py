"""Decision tables as data: rows are tried from the top, the first that fits decides.

Every table is total and has no row that never decides; the tests check both over the full product of the columns'
values. Source: spec architecture.md, invariant 4.
"""

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

from rulecore_kernel.values import Json

R = TypeVar("R", bound=str | bool)


class Column(NamedTuple):
    """One input and the values that the table tells apart. With None among them null is a value, else it means not
    known."""

    name: str
    values: tuple[Json, ...] = (True, False)


class Missing(NamedTuple):
    """No decision yet: it depends on a column whose value is not known."""

    column: str


class Row(NamedTuple, Generic[R]):
    """``result`` when every column named in ``when`` has that value; the others may have any."""

    result: R
    when: Mapping[str, Json] = {}


class Table(Generic[R]):
    """Columns and rows, and the look-up."""

    __slots__ = ("_null_is_a_value", "_tests", "columns", "rows")

    def __init__(self, columns: tuple[Column, ...], rows: tuple[Row[R], ...]) -> None:
        self.columns = columns
        self.rows = rows
        self._tests = tuple((row.result, tuple(row.when.items())) for row in rows)
        self._null_is_a_value = frozenset(column.name for column in columns if None in column.values)

    def decide(self, **given: Json) -> R | Missing:
        """The result of the first row that fits ``given``, which has a value (or None: not known) for every column.

        Answers :class:`Missing` when a row can neither fit nor be ruled out. Raises ``ValueError`` for a value that
        no row and no column knows.
        """
        for result, tests in self._tests:
            unknown: str | None = None
            for column, wanted in tests:
                value = given[column]
                if value == wanted:
                    continue
                if value is not None or column in self._null_is_a_value:
                    break
                unknown = unknown or column
            else:
                return result if unknown is None else Missing(unknown)
        raise ValueError(f"no row fits {given}")

    def look_up(self, **given: Json) -> R:
        """:meth:`decide` for inputs that are all known. Raises ``ValueError`` when one is not."""
        result = self.decide(**given)
        if isinstance(result, Missing):
            raise ValueError(f"{result.column} is not known")
        return result
