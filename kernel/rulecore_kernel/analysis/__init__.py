"""Source text -> findings (CodeStandard, Cohesion). Pure; the only place that may import tree-sitter.

    analyse(source: bytes, language: str, tree: Tree | None = None, config: Config = Config()) -> Findings
    Document(source: bytes, language: str, config: Config = Config())
        .source: bytes   .language: str
        .edit(start_byte: int, old_end_byte: int, new_text: bytes) -> None     one change, offsets in .source
        .replace(source: bytes) -> None                                        a whole new text
        .findings() -> Findings                                                what analyse(.source) answers
    language_of(path: str) -> str | None      by file name: "python", or None for no analysis
    path_class(path: str) -> "code" | "test" | "script" | "generated"          path relative to the root

    Findings = tuple[Finding, ...], sorted by position
    Finding(rule, severity, start_byte, end_byte, start, end, message, data)
        rule        "todoFIXME" | "Cohesion" | "allowWithoutReason" | "skipped"
        severity    "error" (block rules) | "warning" (warn rules) | "information"
        start, end  Point(row, column): both from 0, the column in bytes; end is exclusive
        data        todoFIXME {"tag"}; Cohesion {"name", "method_count", "lines", "decision"};
                    allowWithoutReason {"rules"}; skipped {"limit"}
    Config(allowed=frozenset(), allow_with_reference=False, path_class="code",
           max_methods=30, god_methods=40, max_lines=1000)

An unknown language has no findings. No input bytes raise.

spec: analysis.md
"""

from .core import MAX_BYTES, MAX_LINE_BYTES, MAX_LINES, Document, analyse
from .findings import Config, Finding, Findings, PathClass, Point, Severity
from .paths import language_of, path_class

__all__ = [
    "MAX_BYTES",
    "MAX_LINES",
    "MAX_LINE_BYTES",
    "Config",
    "Document",
    "Finding",
    "Findings",
    "PathClass",
    "Point",
    "Severity",
    "analyse",
    "language_of",
    "path_class",
]
