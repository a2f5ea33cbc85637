"""One parsed file as the rules see it: comments, classes and the ranges that did not parse."""

from bisect import bisect_right
from typing import NamedTuple

from tree_sitter import Node, QueryCursor, Tree

from .findings import Point
from .languages import LANGUAGES, LanguageRow, query


class Comment(NamedTuple):
    """One line of a comment: where it starts, its text, and whether nothing but blanks stands before it."""

    start_byte: int
    start: Point
    text: bytes
    alone: bool


class Broken(NamedTuple):
    """The disjoint ranges of bytes inside parse errors, in order."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def holds(self, offset: int) -> bool:
        """Whether the byte at `offset` is inside a parse error."""
        at = bisect_right(self.starts, offset) - 1
        return at >= 0 and offset < self.ends[at]


class Syntax(NamedTuple):
    """What one query over one tree gave. Nothing in it lies inside a parse error."""

    source: bytes
    row: LanguageRow
    comments: tuple[Comment, ...]
    classes: tuple[Node, ...]


def syntax_of(source: bytes, language: str, tree: Tree) -> Syntax:
    """Run the language's one query over a tree of exactly this source."""
    captures = QueryCursor(query(language)).captures(tree.root_node)
    broken = _broken(
        [node.byte_range for node in captures.get("error", [])]
        + [_open_string(node, source) for node in captures.get("open", [])]
    )
    comments: list[Comment] = []
    for node in captures.get("comment", []):
        if not broken.holds(node.start_byte):
            comments.extend(_lines(node, source))
    classes = tuple(node for node in captures.get("class", []) if not broken.holds(node.start_byte))
    return Syntax(source, LANGUAGES[language], tuple(comments), classes)


def _lines(node: Node, source: bytes) -> list[Comment]:
    start = node.start_byte
    row, column = node.start_point
    alone = not source[start - column : start].strip()
    lines: list[Comment] = []
    for text in source[start : node.end_byte].split(b"\n"):
        lines.append(Comment(start, Point(row, column), text.rstrip(), alone))
        start += len(text) + 1
        row, column, alone = row + 1, 0, True
    return lines


def _open_string(quote: Node, source: bytes) -> tuple[int, int]:
    """What a string without an end may hold: the rest of its line, or of the file after three quotes."""
    start, end = quote.byte_range
    triple = source[start:end].endswith((b'"""', b"'''"))
    line_end = -1 if triple else source.find(b"\n", end)
    return start, line_end if line_end >= 0 else len(source)


def _broken(ranges: list[tuple[int, int]]) -> Broken:
    starts: list[int] = []
    ends: list[int] = []
    for start, end in sorted(ranges):
        if ends and start <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return Broken(tuple(starts), tuple(ends))
