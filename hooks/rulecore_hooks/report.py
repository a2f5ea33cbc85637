"""Findings as text for people and as JSON for programs.

spec: analysis.md (the JSON shape), aiwork.md §7
"""

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from rulecore_kernel.aiwork.layout import shown
from rulecore_kernel.aiwork.rules import Finding

_COLOURS = {"error": "31", "warning": "33", "information": "36"}


def wants_colour(stream: TextIO) -> bool:
    """Colour is for a terminal, and not where NO_COLOR is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def as_text(findings: Sequence[Finding], colour: bool) -> str:
    """One line a finding, `path:line:column: severity rule message`, and a line that counts them."""
    if not findings:
        return ""
    lines = [
        f"{shown(finding.path)}:{finding.line}:{finding.column}: {_painted(finding.severity, colour)} "
        f"{finding.rule} {finding.message}"
        for finding in findings
    ]
    counts = (f"{count} {name}" for name, count in _summary(findings).items() if count)
    return "\n".join((*lines, "found " + ", ".join(counts)))


def as_json(findings: Sequence[Finding]) -> str:
    """The shape that all of rulecore's checks have, version 1."""
    import json

    return json.dumps(
        {
            "version": 1,
            "findings": [
                {
                    **finding._asdict(),
                    "end_line": finding.line,
                    "end_column": finding.column,
                    "fix": None,
                }
                for finding in findings
            ],
            "skipped": [],
            "summary": _summary(findings),
        },
        ensure_ascii=False,
        indent=2,
    )


def _summary(findings: Sequence[Finding]) -> Mapping[str, int]:
    severities = [finding.severity for finding in findings]
    return {name: severities.count(name) for name in ("error", "warning", "information")}


def _painted(severity: str, colour: bool) -> str:
    return f"\x1b[{_COLOURS[severity]}m{severity}\x1b[0m" if colour else severity
