"""Cohesion: classes that have grown too far, rated by methods and lines.

spec: analysis.md; kernel.md §5 (CohesionCheck, CohesionLowStrategy)
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from tree_sitter import Node

from .findings import Config, Finding, Point, Severity
from .languages import LanguageRow
from .syntax import Syntax

RULE = "Cohesion"

Decision: TypeAlias = Literal["suggest_refactor+request_confirmation", "record_as_intent+keep_structure", "no_action"]


def cohesion_findings(syntax: Syntax, config: Config) -> Iterator[Finding]:
    """Rate each class; a High one gives nothing, a class with a parse error inside is not rated."""
    for node in syntax.classes:
        lines = node.end_point.row - node.start_point.row + 1
        if lines <= config.max_methods or node.has_error:  # a method takes a line at least
            continue
        methods = method_count(node, syntax.row)
        if methods > config.max_methods or lines > config.max_lines:
            yield _finding(node, methods, lines, config)


def method_count(scope: Node, row: LanguageRow) -> int:
    """Methods with a body, declared directly in a class; constructors and accessors count."""
    body = scope.child_by_field_name("body")
    return sum(_is_method(child, row) for child in body.named_children) if body else 0


def _is_method(node: Node, row: LanguageRow) -> bool:
    definition: Node | None = node
    if node.type == row.decorated_node:
        decorators = (child for child in node.named_children if child.type == "decorator")
        if any(_last_name(decorator) in row.signature_decorators for decorator in decorators):
            return False
        definition = node.child_by_field_name("definition")
    return definition is not None and definition.type in row.method_nodes and not _is_signature(definition)


def _last_name(decorator: Node) -> bytes:
    return (decorator.text or b"").lstrip(b"@").partition(b"(")[0].rpartition(b".")[2].strip()


def _is_signature(definition: Node) -> bool:
    """A body of `...` alone, or of a docstring and `...`."""
    body = definition.child_by_field_name("body")
    texts = [child.text or b"" for child in body.named_children if child.type != "comment"] if body else []
    return texts[-1:] == [b"..."] and all(text.endswith((b'"', b"'")) for text in texts[:-1])


def _verdict(methods: int, config: Config) -> tuple[Decision, Severity, str]:
    if methods > config.god_methods:
        return (
            "suggest_refactor+request_confirmation",
            "warning",
            f"over {config.god_methods} methods: split it by responsibility, after asking.",
        )
    if methods > config.max_methods:
        return (
            "record_as_intent+keep_structure",
            "information",
            f"over {config.max_methods} methods: record why it stays in one piece.",
        )
    return "no_action", "information", f"over {config.max_lines} lines: rated Low, nothing has to be done."


def _finding(node: Node, methods: int, lines: int, config: Config) -> Finding:
    anchor = node.child_by_field_name("name") or node
    name = (anchor.text or b"").decode("utf-8", "replace")
    decision, severity, advice = _verdict(methods, config)
    return Finding(
        RULE,
        severity,
        anchor.start_byte,
        anchor.end_byte,
        Point(*anchor.start_point),
        Point(*anchor.end_point),
        f"{name} has {methods} methods in {lines} lines, {advice}",
        {"name": name, "method_count": methods, "lines": lines, "decision": decision},
    )
