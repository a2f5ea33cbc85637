"""What an analysis answers with, and what it may be told."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "information"]
PathClass: TypeAlias = Literal["code", "test", "script", "generated"]


class Point(NamedTuple):
    """A place in a file: both counted from 0, the column in bytes."""

    row: int
    column: int


class Finding(NamedTuple):
    """One finding. `end_byte` and `end` are exclusive; `data` holds the facts that the message is made of."""

    rule: str
    severity: Severity
    start_byte: int
    end_byte: int
    start: Point
    end: Point
    message: str
    data: Mapping[str, str | int]


Findings: TypeAlias = tuple[Finding, ...]


class Config(NamedTuple):
    """Thresholds and switches of one analysis; the defaults are those of the parameter table.

    spec: kernel.md §2 (`code_standard.allowed`, `cohesion.*`), analysis.md
    """

    allowed: frozenset[str] = frozenset()
    """Rules that the project allows: they give no findings."""
    allow_with_reference: bool = False
    """A tag that names an issue, as `TODO(#12)`, is information instead of an error."""
    path_class: PathClass = "code"
    max_methods: int = 30
    god_methods: int = 40
    max_lines: int = 1000
