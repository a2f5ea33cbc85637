"""The analysis of one text, and of a text that changes.

spec: analysis.md
"""

import re
from itertools import chain

from tree_sitter import Tree

from .cohesion import cohesion_findings
from .findings import Config, Finding, Findings, Point
from .languages import LANGUAGES, parse
from .suppress import suppressed
from .syntax import Syntax, syntax_of
from .todo import todo_findings

MAX_BYTES = 1_048_576
MAX_LINES = 20_000
MAX_LINE_BYTES = 51_200

_GENERATED = re.compile(rb"@generated\b|\bDO NOT EDIT\b")
_HEAD_ROWS = 20
_DEFAULT = Config()


def analyse(source: bytes, language: str, tree: Tree | None = None, config: Config = _DEFAULT) -> Findings:
    """Every finding of one text, sorted by position.

    `tree` is a tree of exactly this source, if the caller has one. A language without a row, and generated
    code, have no findings; a text over a cap has one, "skipped (size)". No bytes raise.
    """
    if language not in LANGUAGES or config.path_class == "generated":
        return ()
    if limit := _over_cap(source):
        return (_skipped(limit),)
    syntax = syntax_of(source, language, tree or parse(source, language))
    if _is_generated(syntax):
        return ()
    found = todo_findings(syntax, config)
    if config.path_class != "test":
        found = chain(found, cohesion_findings(syntax, config))
    kept = (finding for finding in suppressed(found, syntax) if finding.rule not in config.allowed)
    return tuple(sorted(kept, key=lambda finding: (finding.start_byte, finding.rule)))


class Document:
    """An open text that keeps its tree, so that an edit costs what changed. Not for two threads at once."""

    __slots__ = ("_config", "_findings", "_language", "_source", "_tree")

    def __init__(self, source: bytes, language: str, config: Config = _DEFAULT) -> None:
        self._source = source
        self._language = language
        self._config = config
        self._tree: Tree | None = None
        self._findings: Findings | None = None

    @property
    def source(self) -> bytes:
        """The text as it is now."""
        return self._source

    @property
    def language(self) -> str:
        """The language that the text is analysed as."""
        return self._language

    def edit(self, start_byte: int, old_end_byte: int, new_text: bytes) -> None:
        """Replace `source[start_byte:old_end_byte]`. Raises ValueError when that is no range of the text."""
        old = self._source
        if not 0 <= start_byte <= old_end_byte <= len(old):
            raise ValueError(f"bytes {start_byte} to {old_end_byte} are not in a text of {len(old)} bytes")
        new = old[:start_byte] + new_text + old[old_end_byte:]
        new_end = start_byte + len(new_text)
        if self._tree is not None:
            self._tree.edit(
                start_byte,
                old_end_byte,
                new_end,
                _point(old, start_byte),
                _point(old, old_end_byte),
                _point(new, new_end),
            )
        self._source = new
        self._findings = None

    def replace(self, source: bytes) -> None:
        """Take a whole new text; what stands unchanged at both ends is not parsed again."""
        old = self._source
        start = _common_prefix(old, source)
        tail = _common_prefix(old[start:][::-1], source[start:][::-1])
        self.edit(start, len(old) - tail, source[start : len(source) - tail])

    def findings(self) -> Findings:
        """What `analyse(source)` answers; worked out again only after an edit."""
        if self._findings is None:
            self._tree = self._parsed()
            self._findings = analyse(self._source, self._language, self._tree, self._config)
        return self._findings

    def _parsed(self) -> Tree | None:
        if self._language not in LANGUAGES or _over_cap(self._source):
            return None
        if self._tree is None or self._tree.root_node.has_error:
            return parse(self._source, self._language)
        tree = parse(self._source, self._language, self._tree)
        if tree.root_node.has_error:
            # What an incremental parse makes of an error depends on the way there; a fresh one does not.
            return parse(self._source, self._language)
        return tree


def _over_cap(source: bytes) -> str:
    if len(source) > MAX_BYTES:
        return f"{MAX_BYTES:,} bytes"
    if source.count(b"\n") + (not source.endswith(b"\n")) > MAX_LINES:
        return f"{MAX_LINES:,} lines"
    if len(source) > MAX_LINE_BYTES and max(map(len, source.split(b"\n"))) > MAX_LINE_BYTES:
        return f"{MAX_LINE_BYTES:,} bytes in a line"
    return ""


def _skipped(limit: str) -> Finding:
    start = Point(0, 0)
    message = f"skipped (size): not analysed, the file has more than {limit}."
    return Finding("skipped", "information", 0, 0, start, start, message, {"limit": limit})


def _is_generated(syntax: Syntax) -> bool:
    head = (comment for comment in syntax.comments if comment.start.row < _HEAD_ROWS)
    return any(_GENERATED.search(comment.text) for comment in head)


def _point(source: bytes, offset: int) -> tuple[int, int]:
    return source.count(b"\n", 0, offset), offset - source.rfind(b"\n", 0, offset) - 1


def _common_prefix(a: bytes, b: bytes) -> int:
    """How many bytes `a` and `b` have in common from the start: bisected, since comparing slices is fast."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
