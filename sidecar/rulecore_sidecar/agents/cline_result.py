"""What of a Cline tool result reached the model.

Cline shows the model every string of a result only up to 8,000 UTF-16 units: a head and a tail of equal length around
``...[truncated N chars]...``. A file read has one line per line of the file, prefixed ``N | ``; lines over 2,000
characters and files over 2,000 lines or 48,000 characters are cut before that. A line counts as delivered only when the
whole of it was shown, so both lines at a cut are left out.

Success is read from the entries themselves (``success``, ``error``): the flag beside them is true for failed edits,
commands with an exit code and missing files. Source: spec agents.md sections 2.1 and 2.4.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rulecore_kernel.values import Json

SHOWN_UNITS = 8_000
"""UTF-16 units of one string that the model is shown unless the user changed the limit."""

LineRange = tuple[int, int | None]
"""1-based, inclusive; an end of None is the last line."""

_ENTRY_FIELDS = {"result", "text", "error", "success"}
_LINE_LIMIT_MARK = " [line truncated]"
_LINE = re.compile(r" *(\d{1,9}) \| (.*)", re.DOTALL)
_WINDOW = re.compile(r"\n\n\[Showing lines \d+-\d+ of [^\n]*\]\Z")
_CUT = re.compile(r"\n\n\.\.\.\[truncated \d+ chars\]\.\.\.\n\n")
_OWN_CUTS = ("[... output truncated: ", "[... search output truncated: ", "[Content truncated: ")
_EXIT = re.compile(r"\ACommand exited with code (-?\d+)|\A\[Command exited with code (-?\d+)\]")


class Shown(NamedTuple):
    """A result as the model saw it. ``error`` joins the failing entries; ``exit_code`` is a command's."""

    text: str | None
    empty: bool
    truncated: bool
    error: str | None
    exit_code: int | None


class Entry(NamedTuple):
    """One ``{query, result, error, success}`` of a result."""

    text: str
    failed: bool
    error: str
    exit_code: int | None


def cut_middle(text: str, limit: int) -> str:
    """``text`` as Cline shows it under a limit of ``limit`` UTF-16 units."""
    units = text.encode("utf-16-le", "surrogatepass")
    size = len(units) // 2
    if size <= limit:
        return text
    kept = max(0, (limit - len(_marker(size - limit))) // 2)
    marker = _marker(max(0, size - kept * 2))
    kept = max(0, (limit - len(marker)) // 2)
    head, tail = units[: kept * 2], units[len(units) - kept * 2 :]
    return head.decode("utf-16-le", "replace") + marker + tail.decode("utf-16-le", "replace")


def _marker(dropped: int) -> str:
    return f"\n\n...[truncated {dropped} chars]...\n\n"


def entries(output: Json, limit: int) -> list[Entry]:
    """The entries of a result, whatever its shape; a value that is not an entry counts as one that succeeded."""
    values: Sequence[Json] = output if isinstance(output, list) else [output]
    return [_entry(value, limit) for value in values]


def _entry(value: Json, limit: int) -> Entry:
    if isinstance(value, str):
        return Entry(cut_middle(value, limit), False, "", None)
    if not isinstance(value, dict):
        return Entry("", False, "", None)
    error = value.get("error")
    if not value.keys() & _ENTRY_FIELDS:
        return Entry(cut_middle(json.dumps(value, sort_keys=True, ensure_ascii=False), limit), False, "", None)
    text = _text(value.get("result", value.get("text")), limit)
    words = cut_middle(error, limit) if isinstance(error, str) else ""
    failed = value.get("success") is False or bool(words)
    match = _EXIT.match(words) or (_EXIT.match(text) if failed else None)
    code = int(match[1] or match[2]) if match else None
    return Entry(text, failed, words, code)


def _text(value: Json, limit: int) -> str:
    if isinstance(value, str):
        return cut_middle(value, limit)
    if isinstance(value, list):
        return "\n".join(_text(part.get("text"), limit) for part in value if isinstance(part, dict))
    return ""


def shown(found: Sequence[Entry], *, thrown: bool) -> Shown:
    """Sum up ``found``. ``thrown`` says that Cline itself marks the call as failed."""
    failing = [entry for entry in found if entry.failed]
    if thrown and not failing:
        failing = list(found)
    error = "\n".join(part for entry in failing for part in (entry.error, entry.text) if part)
    text = "\n".join(entry.text for entry in found if entry.text)
    codes = [entry.exit_code for entry in failing if entry.exit_code is not None]
    return Shown(
        text=text or (None if failing else ""),
        empty=not text and not failing,
        truncated=any(_was_cut(entry.text) for entry in found),
        error=(error or "failed without a message") if failing else None,
        exit_code=codes[-1] if codes else None,
    )


def _was_cut(text: str) -> bool:
    return bool(_CUT.search(text) or _WINDOW.search(text)) or any(mark in text for mark in _OWN_CUTS)


def delivered(text: str, start: int | None, end: int | None) -> list[LineRange]:
    """Lines of a file that a read's shown ``text`` holds in full.

    Arguments: ``start`` and ``end`` are the requested lines, None where the request named none. A read that reached
    the end of the file is open-ended: ``(1, None)`` for a whole file.
    """
    windowed = _WINDOW.search(text)
    parts = _CUT.split(text[: windowed.start()] if windowed else text)
    if parts == [""]:
        return [(1, None)] if start is None and end is None else []
    whole: list[str] = []
    numbers: list[int] = []
    for index, part in enumerate(parts):
        cut_after = index < len(parts) - 1
        whole = part.split("\n")[1 if index else 0 : -1 if cut_after else None]
        numbers.extend(_numbers(whole))
    found = _ranges(numbers)
    last_line_shown = bool(whole) and bool(_numbers(whole[-1:]))
    if found and last_line_shown and not windowed and (end is None or numbers[-1] < end):
        found[-1] = (found[-1][0], None)
    return found


def _numbers(lines: Iterable[str]) -> list[int]:
    matches = (_LINE.fullmatch(line) for line in lines)
    return [int(match[1]) for match in matches if match and not match[2].endswith(_LINE_LIMIT_MARK)]


def _ranges(numbers: Iterable[int]) -> list[LineRange]:
    found: list[LineRange] = []
    for number in numbers:
        if number < 1:
            continue
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
