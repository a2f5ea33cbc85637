"""Markers in comments that allow a finding: our own, with a reason, and those of the peers' matching rules.

spec: analysis.md (suppression)
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .cohesion import RULE as COHESION
from .findings import Finding, Point
from .syntax import Comment, Syntax
from .todo import RULE as TODO

RULE = "allowWithoutReason"

_OURS = re.compile(
    rb"rulecore:[ \t]*allow[ \t]+(?P<rules>\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*"
    rb"(?:(?:" + "—".encode() + rb"|" + "–".encode() + rb"|--?|:)[ \t]*(?P<reason>\S.*)?)?"
)
_NOQA = re.compile(rb"#[ \t]*noqa(?P<codes>[ \t]*:[ \t]*[A-Z]+[0-9]+(?:[, \t]+[A-Z]+[0-9]+)*)?", re.IGNORECASE)
_PYLINT = re.compile(rb"pylint:[ \t]*disable=(?P<codes>[\w, \t-]+)")
_NOSONAR = re.compile(rb"#[ \t]*NOSONAR\b")
_CODE = re.compile(rb"[\w-]+")

PEER_CODES: Mapping[str, frozenset[bytes]] = MappingProxyType(
    {
        TODO: frozenset({b"FIX001", b"FIX002", b"FIX003", b"FIX004", b"W0511", b"fixme"}),
        COHESION: frozenset({b"PLR0904", b"R0904", b"too-many-public-methods"}),
    }
)


class Allowance(NamedTuple):
    """The rules that a row's findings are allowed; `every` stands for all of them."""

    rules: frozenset[str]
    every: bool = False


def suppressed(findings: Iterable[Finding], syntax: Syntax) -> Iterator[Finding]:
    """Pass on what no marker allows, and a warning for each marker of ours that gives no reason.

    A marker stands on the finding's line, or alone on the line above it (above the decorators, for a class).
    """
    allowed: dict[int, list[Allowance]] = {}
    for comment in syntax.comments:
        ours = _OURS.search(comment.text)
        if ours:
            names = frozenset(name.decode("ascii") for name in _CODE.findall(ours["rules"]))
            for row in _rows(comment):
                allowed.setdefault(row, []).append(Allowance(names))
            if not ours["reason"]:
                yield _without_reason(comment, ours, names)
        elif peers := _peers(comment.text):
            allowed.setdefault(comment.start.row, []).append(peers)
    tops = _class_tops(syntax)
    for finding in findings:
        rows = (finding.start.row, tops.get(finding.start.row, finding.start.row))
        markers = (marker for row in rows for marker in allowed.get(row, ()))
        if not any(marker.every or finding.rule in marker.rules for marker in markers):
            yield finding


def _rows(comment: Comment) -> tuple[int, ...]:
    row = comment.start.row
    return (row, row + 1) if comment.alone else (row,)


def _peers(text: bytes) -> Allowance | None:
    noqa = _NOQA.search(text)
    if _NOSONAR.search(text) or (noqa and not noqa["codes"]):
        return Allowance(frozenset(), every=True)
    marker = noqa or _PYLINT.search(text)
    if marker is None:
        return None
    codes = frozenset(_CODE.findall(marker["codes"]))
    return Allowance(frozenset(rule for rule, peers in PEER_CODES.items() if codes & peers))


def _class_tops(syntax: Syntax) -> dict[int, int]:
    """The first row of each decorated class by the row of its name."""
    tops: dict[int, int] = {}
    for node in syntax.classes:
        outer = node.parent
        if outer is not None and outer.type == syntax.row.decorated_node:
            tops[node.start_point.row] = outer.start_point.row
    return tops


def _without_reason(comment: Comment, found: re.Match[bytes], names: frozenset[str]) -> Finding:
    start, end = found.span()
    row, column = comment.start
    rules = ", ".join(sorted(names))
    return Finding(
        RULE,
        "warning",
        comment.start_byte + start,
        comment.start_byte + end,
        Point(row, column + start),
        Point(row, column + end),
        f"The marker allows {rules} without a reason: write `rulecore: allow {rules} — why`.",
        {"rules": rules},
    )
