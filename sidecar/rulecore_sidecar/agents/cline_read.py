"""The text that Cline's ``read_files`` makes of a file, for the surface that does not hand it to hooks (VS Code).

Lines end at LF, CR LF or CR and nowhere else; each is prefixed with its number, right-aligned. A read stops at 2,000
lines or 48,000 characters and then says which lines it shows. Held to the real tool by the end-to-end tests.
Source: spec agents.md section 2.4.
"""

import re
from typing import NamedTuple

_MOST_LINES, _MOST_LINE_UNITS, _MOST_UNITS = 2_000, 2_000, 48_000
_LINE_END = re.compile(r"\r\n|\n|\r")


class _Line(NamedTuple):
    number: int
    text: str


def read_text(content: str, start: int | None, end: int | None) -> str:
    """What reading lines ``start``–``end`` (1-based, inclusive, None for "not named") of ``content`` returns."""
    lines = _LINE_END.split(content)
    if lines[-1] == "":
        lines.pop()
    first = max(start or 1, 1)
    last = min(len(lines), len(lines) if end is None else end)
    shown = _window(lines[first - 1 : last], first, end)
    if not shown:
        return ""
    width = len(str(shown[-1].number))
    text = "\n".join(f"{line.number:>{width}} | {line.text}" for line in shown)
    if shown[-1].number >= last:
        return text
    where = f"{first}-{shown[-1].number} of {last}"
    return f"{text}\n\n[Showing lines {where}. Use start_line/end_line to read other sections.]"


def _window(lines: list[str], first: int, end: int | None) -> list[_Line]:
    widest = first + _MOST_LINES - 1 if end is None else min(end, first + _MOST_LINES - 1)
    overhead = len(str(widest)) + len(" | ") + len("\n")
    shown: list[_Line] = []
    used = 0
    for number, text in enumerate(lines[:_MOST_LINES], first):
        line = text if _units(text) <= _MOST_LINE_UNITS else f"{_head(text)} [line truncated]"
        used += _units(line) + overhead
        if used > _MOST_UNITS and shown:
            break
        shown.append(_Line(number, line))
    return shown


def _units(text: str) -> int:
    """Length as JavaScript counts it: UTF-16 units."""
    return len(text) + sum(char > "\uffff" for char in text)


def _head(text: str) -> str:
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * _MOST_LINE_UNITS]
    return units.decode("utf-16-le", "surrogatepass")
