"""What a rule is, and what it answers.

A rule is a function of typed keyword arguments; its registry row says where each comes from: ``args`` from the
caller, ``parameters`` from the configuration (``read.small_bytes`` arrives as ``small_bytes``), ``state`` as the
one argument ``state``. Decisions are values: a function returns its decision, or an :class:`Answer` when something
stands beside it, or a :class:`Problem` when it cannot decide on what it was given. Source: spec kernel.md section
1.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from rulecore_kernel.rules.table import Missing, Table
from rulecore_kernel.state.domain import Domain
from rulecore_kernel.state.model import EMPTY
from rulecore_kernel.values import Json, JsonObject


class Kind(StrEnum):
    """What sort of formula a rule is (the seeds' tags)."""

    AX = "AX"
    QA = "QA"
    CD = "CD"
    CM = "CM"
    CC = "CC"
    SM = "SM"
    CS = "CS"


class Category(StrEnum):
    """What a rule ranks as, highest first."""

    AXIOM = "axiom"
    STANDARD = "standard"
    STRATEGY = "strategy"
    PROCEDURE = "procedure"
    ANTIPATTERN = "antipattern"


class Layer(StrEnum):
    """The level of abstraction a rule speaks about, highest first: architecture, logic, code, syntax."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    L3 = "L3"


class Scope(StrEnum):
    """Where a rule applies."""

    GLOBAL = "global"
    LOOP_BODY = "loop_body"
    PROCEDURE = "procedure"
    SINGLE_CALL = "single_call"


class Code(StrEnum):
    """Why there is no decision."""

    BAD_JSON = "bad_json"
    UNKNOWN_RULE = "unknown_rule"
    MISSING_ARGUMENT = "missing_argument"
    BAD_ARGUMENT = "bad_argument"
    PERMISSION = "permission"
    OUTSIDE_ROOT = "outside_root"
    INTERNAL = "internal"


class Problem(NamedTuple):
    """A rule that cannot decide: which argument, what was given, what is allowed."""

    code: Code
    argument: str
    given: str
    allowed: str


class Answer(NamedTuple):
    """A decision with what stands beside it, and the state variables that changed, by wire name."""

    decision: Json
    beside: JsonObject = EMPTY
    state: JsonObject = EMPTY


Decided: TypeAlias = Json | Answer | Problem | Missing
"""What a rule function returns."""


class Arg(NamedTuple):
    """One argument. A required one must be given, though null counts when its domain is nullable; one that is not
    required may be left out or null, and a decision that turns out to need it says so."""

    name: str
    domain: Domain
    meaning: str
    required: bool = False


class Rule(NamedTuple):
    """One registry row."""

    name: str
    kind: Kind
    category: Category
    layer: Layer
    scope: Scope
    provides: str
    args: tuple[Arg, ...]
    function: Callable[..., Decided]
    table: Table[str] | Table[bool] | None = None
    parameters: Mapping[str, str] = {}
    """Argument → key."""
    state: tuple[str, ...] = ()

    @property
    def documentation(self) -> Mapping[str, str]:
        """The function's documentation block: heading → text, in the order of :data:`HEADINGS`."""
        return sections(self.function.__doc__ or "")


HEADINGS = ("What it decides", "Why", "Table", "Example", "Source")


def sections(docstring: str) -> dict[str, str]:
    """Split a documentation block at its headings; the texts lose the indentation that their first line has."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in docstring.splitlines():
        if line.strip() in HEADINGS:
            lines = found.setdefault(line.strip(), [])
        elif line.strip() or lines:
            lines.append(line)
    return {heading: _unindented(text) for heading, text in found.items()}


def _unindented(lines: list[str]) -> str:
    margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "\n".join(line[margin:].rstrip() for line in lines).strip()
