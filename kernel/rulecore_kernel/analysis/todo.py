"""todoFIXME: a note of unfinished work in a comment.

spec: analysis.md (block rules)
"""

import re
from collections.abc import Iterator

from .findings import Config, Finding, Point
from .syntax import Comment, Syntax

RULE = "todoFIXME"

_TAGS = rb"TODO|FIXME|XXX|HACK|BUG|STOPSHIP"
_FIRST_WORD = re.compile(rb"[\s/*#\-!;<]*(" + _TAGS + rb")(?!\w)", re.IGNORECASE)
_IN_CAPITALS = re.compile(
    rb"#[ \t]*(" + _TAGS + rb")(?!\w)"  # a second comment inside the first
    rb"|(?<!\w)(" + _TAGS + rb")(?=[:(]|" + "：".encode() + rb"|" + "（".encode() + rb")"
)
_REFERENCE = re.compile(rb"\([^()]*(?:#\d+|\b[A-Z][A-Z0-9]*-\d+\b|https?://[^()\s]+)[^()]*\)")


def todo_findings(syntax: Syntax, config: Config) -> Iterator[Finding]:
    """Find tags as the first word of a comment line in any case, or in capitals behind a `#` or before `:` or `(`.

    Strings, docstrings and words that merely contain a tag ("AutoDown", "todos") are not comments' tags.
    """
    for comment in syntax.comments:
        found = _FIRST_WORD.match(comment.text) or _IN_CAPITALS.search(comment.text)
        if found:
            yield _finding(comment, found, config)


def _finding(comment: Comment, found: re.Match[bytes], config: Config) -> Finding:
    start, end = found.span(found.lastindex or 0)
    row, column = comment.start
    tag = found[found.lastindex or 0].decode("ascii").upper()
    referenced = config.allow_with_reference and _REFERENCE.match(comment.text, end)
    return Finding(
        RULE,
        "information" if referenced else "error",
        comment.start_byte + start,
        comment.start_byte + end,
        Point(row, column + start),
        Point(row, column + end),
        f"{tag} in a comment: do it now, or open an issue and remove the note.",
        {"tag": tag},
    )
