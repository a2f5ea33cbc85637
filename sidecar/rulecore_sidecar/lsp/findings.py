"""Findings of the kernel as the editor's diagnostics: from bytes to the client's units, from rules to codes.

Source: spec sidecar.md section 3, analysis.md.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from lsprotocol import types

from rulecore_kernel.analysis import Finding, Findings, Severity

from .positions import ByteIndex

SOURCE: Final = "rulecore"
"""What our diagnostics are said to come from."""

_SEVERITIES: Final[Mapping[Severity, types.DiagnosticSeverity]] = MappingProxyType(
    {
        "error": types.DiagnosticSeverity.Error,
        "warning": types.DiagnosticSeverity.Warning,
        "information": types.DiagnosticSeverity.Information,
    }
)


def to_diagnostics(findings: Findings, lines: Sequence[str], encoding: str, docs: str | None) -> list[types.Diagnostic]:
    """Diagnostics in the order of the findings.

    ``lines`` are those of the text that was looked at, ``encoding`` the unit of the client's positions, ``docs``
    the address that the page ``<rule>.md`` of each rule lies under, None when there is none.
    """
    if not findings:
        return []
    index = ByteIndex(lines, encoding)
    return [_to_diagnostic(finding, index, docs) for finding in findings]


def _to_diagnostic(finding: Finding, index: ByteIndex, docs: str | None) -> types.Diagnostic:
    return types.Diagnostic(
        range=index.range(finding.start_byte, finding.end_byte),
        message=finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.rule,
        code_description=None if docs is None else types.CodeDescription(f"{docs.rstrip('/')}/{finding.rule}.md"),
        source=SOURCE,
        data=dict(finding.data) or None,
    )
