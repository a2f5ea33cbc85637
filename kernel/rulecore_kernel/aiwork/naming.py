"""AW101 to AW107: names and numbers of an `.aiWork` memory, over a listing of paths.

spec: aiwork.md §1, §6 (what the base is), §7 (severities)
"""

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from .layout import (
    ARCHIVE,
    ASSETS,
    FOLDERS,
    GIT_FILES,
    NAME_FORM,
    ROOT,
    ROOT_FILES,
    DocumentName,
    Place,
    calendar_day,
    parse_name,
    place_of,
    shown,
)
from .rules import Finding, Severity

MIN_WORDS, MAX_WORDS = 3, 5

_STEPS = tuple(
    (re.compile(pattern, re.ASCII | re.DOTALL), problem)
    for pattern, problem in (
        (r"[\x00-\x7f]*", "the summary is not made of English words"),
        (r"\d{8}-.*", "it does not start with a date of eight digits and `-`"),
        (r"\d{8}-\d+-.*", "no number with a `-` on both sides follows the date"),
        (r"\d{8}-(?:0[1-9]|[1-9]\d+)-.*", "the number is not two digits or more, from 01, without further zeros"),
        (r"(?!)", "the rest is not words of a-z and 0-9 joined by single `-`, and `.md`"),
    )
)
"""What a name has to match so far, and what is wrong with the first that does not."""

_PARTS = re.compile(
    r"\A(?:(\d{4})-?(\d\d)-?(\d\d)(?!\d))?[-_ ]*(?:(\d+)[-_ ])?(.*)\.md\Z", re.ASCII | re.DOTALL | re.IGNORECASE
)
_ENGLISH = (
    " Choose the English words yourself; the original ones belong into `keywords: […]` of the front matter and into "
    "the H1, where they are found too."
)
_WORD = re.compile(r"[a-z0-9]+")


class Listing(NamedTuple):
    """Paths with `/`, relative to the repository's top.

    `now` is what is checked and `base` what has reached the shared history. `merged` are the paths that the parents of
    a merge in progress have, `taken` those of the default branch at the remote: their numbers are not free.
    """

    now: Collection[str]
    base: Collection[str] = ()
    merged: Collection[str] = ()
    taken: Collection[str] = ()


class _Document(NamedTuple):
    path: str
    folder: str
    file: str
    name: DocumentName | None


def check_names(listing: Listing, today: date) -> tuple[Finding, ...]:
    """Every finding about names and numbers, sorted by path and rule.

    `today` is the day in the project's time zone. A file that the base or a parent of the merge has already, at its
    path or before its move to or from archive/, is never an error but for a number that it takes twice.
    """
    known = _known(listing.now, {*listing.base, *listing.merged})
    at_base = _known(listing.now, set(listing.base))
    documents: list[_Document] = []
    findings: list[Finding] = []
    misspelled: dict[str, list[str]] = {}
    for path in sorted(listing.now):
        place = place_of(path)
        if place is None or place.inside[-1] in GIT_FILES:
            continue
        if wrong := _misspelled(place):
            misspelled.setdefault(wrong, []).append(path)
        elif document := _document(path, place):
            documents.append(document)
        elif problem := _misplaced(place):
            findings.append(_finding("AW106", path, problem, known))
    findings += (_spelling(wrong, paths, known) for wrong, paths in misspelled.items())
    used = _used_numbers(listing)
    findings += _duplicates(documents, at_base, used, listing.taken)
    for document in documents:
        findings += _form(document, known, used, today)
    return tuple(sorted(findings, key=lambda finding: (finding.path, finding.rule)))


def _known(now: Collection[str], before: set[str]) -> set[str]:
    """The paths of `now` that were there before: as they are, or on the other side of a move to or from archive/."""
    gone = before.difference(now)
    return {path for path in now if path in before or _other_side(path) in gone}


def _other_side(path: str) -> str:
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    return f"{above}/{name}" if last == ARCHIVE else f"{folder}/{ARCHIVE}/{name}"


def _finding(rule: str, path: str, message: str, known: Collection[str]) -> Finding:
    severity: Severity = "warning" if path in known else "error"
    return Finding(rule, severity, path, 1, 1, message)


def _document(path: str, place: Place) -> _Document | None:
    match place.inside:
        case (folder, name) | (folder, "archive", name) if folder in FOLDERS and name.lower().endswith(".md"):
            return _Document(path, f"{place.prefix}/{folder}", name, parse_name(name))
    return None


def _misspelled(place: Place) -> str:
    """The part of the path, from its start, that is a fixed name in other capitals; "" when there is none."""
    first, *rest = place.inside
    if place.spelled != ROOT:
        return place.prefix
    if _is_variant(first, (*FOLDERS, ASSETS) if rest else ROOT_FILES):
        return f"{place.prefix}/{first}"
    if len(rest) > 1 and first in FOLDERS and _is_variant(rest[0], (ARCHIVE,)):
        return f"{place.prefix}/{first}/{rest[0]}"
    return ""


def _is_variant(name: str, fixed: tuple[str, ...]) -> bool:
    return name not in fixed and name.casefold() in {right.casefold() for right in fixed}


def _spelling(wrong: str, paths: list[str], known: Collection[str]) -> Finding:
    """One finding for all files under a misspelled name, at the first new one."""
    above, _, last = wrong.rpartition("/")
    right = next(name for name in (ROOT, *FOLDERS, ASSETS, ARCHIVE, *ROOT_FILES) if name.casefold() == last.casefold())
    target = f"{above}/{right}" if above else right
    first = next((path for path in paths if path not in known), paths[0])
    return _finding("AW105", first, f"{shown(last)} has to be spelled {right}: rename it to {shown(target)}.", known)


def _misplaced(place: Place) -> str:
    """Why nothing belongs where the file stands; "" for a root file or an asset."""
    first, *rest = place.inside
    if (first == ASSETS and rest) or (first in ROOT_FILES and not rest):
        return ""
    if first in FOLDERS and rest:
        if rest[:-1] in ([], [ARCHIVE]):
            return f"a document is a .md file: move other files to {ROOT}/{ASSETS}/."
        return (
            f"{first}/ has no folder but {ARCHIVE}/: move a document up to {first}/, other files to {ROOT}/{ASSETS}/."
        )
    folders = ", ".join(f"{folder}/" for folder in FOLDERS)
    return f"this is no place of {ROOT}: move a document to one of {folders} and other files to {ASSETS}/."


def _form(document: _Document, known: Collection[str], used: dict[str, set[int]], today: date) -> Iterator[Finding]:
    """AW101 to AW104: at most one of the first three, about the form and the date; then the number of words."""
    path, name = document.path, document.name
    tomorrow = today + timedelta(days=1)
    if name is None:
        yield _finding("AW101", path, _wrong_form(document, used, today), known)
        return
    digits = document.file[:8]
    if name.day is None:
        yield _finding("AW102", path, f"{digits} is no day of the calendar: write the day as YYYYMMDD.", known)
    elif name.day > tomorrow:
        message = f"{digits} lies after tomorrow, {tomorrow:%Y%m%d}: write the day on which the document was made."
        yield _finding("AW103", path, message, known)
    if not MIN_WORDS <= len(name.words) <= MAX_WORDS:
        count = f"{len(name.words)} word{'s' if len(name.words) > 1 else ''}"
        message = f"the summary has {count}: {MIN_WORDS} to {MAX_WORDS} are easiest to choose a document by."
        yield Finding("AW104", "warning", path, 1, 1, message)


def _wrong_form(document: _Document, used: dict[str, set[int]], today: date) -> str:
    problem = next(text for pattern, text in _STEPS if not pattern.fullmatch(document.file))
    proposal = _proposal(document, used, today)
    hint = "" if document.file.isascii() else _ENGLISH
    return f"{shown(document.file)} is not {NAME_FORM}: {problem}. Rename it to {proposal}.{hint}"


def _proposal(document: _Document, used: dict[str, set[int]], today: date) -> str:
    """A name that keeps what is right of the old one; words that are not English are left to the author."""
    ((year, month, day_of_month, number, rest),) = _PARTS.findall(document.file)
    digits = year + month + day_of_month
    day = calendar_day(digits) if digits else None
    if day is None or day > today:
        digits = f"{today:%Y%m%d}"
    words = "-".join(_WORD.findall(rest.lower())) if document.file.isascii() else ""
    free = _take(used[document.folder], int(number) if 0 < len(number) < 4 else 0)
    return f"{digits}-{free:02d}-{words or '<3 to 5 English words>'}.md"


def _documents(paths: Iterable[str]) -> Iterator[_Document]:
    for path in paths:
        place = place_of(path)
        document = _document(path, place) if place else None
        if document:
            yield document


def _used_numbers(listing: Listing) -> dict[str, set[int]]:
    """The numbers of each folder, its archive included, now, at the base and where they are taken."""
    used: dict[str, set[int]] = {}
    for document in _documents((*listing.now, *listing.base, *listing.merged, *listing.taken)):
        numbers = used.setdefault(document.folder, set())
        if document.name and document.name.day:
            numbers.add(document.name.number)
    return used


def _take(used: set[int], wanted: int = 0) -> int:
    """Occupy `wanted` when it is a free number, else the next one."""
    number = wanted if wanted and wanted not in used else max(used, default=0) + 1
    used.add(number)
    return number


def _duplicates(
    documents: list[_Document], at_base: Collection[str], used: dict[str, set[int]], taken: Collection[str]
) -> Iterator[Finding]:
    """AW107: who came first keeps the number: what is at the base or the remote, else the earlier date and name."""
    groups: dict[tuple[str, int], list[_Document]] = {}
    for document in documents:
        if document.name and document.name.day:
            groups.setdefault((document.folder, document.name.number), []).append(document)
    holders = _holders(taken)
    for (folder, number), members in groups.items():
        members.sort(key=lambda member: (member.path not in at_base, member.file, member.path))
        holder, *later = members
        elsewhere = holders.get((folder, number), set()) - {holder.file}
        if elsewhere and holder.path not in at_base:
            first, later = f"{min(elsewhere)} on the remote's default branch", members
        else:
            first = holder.path
        for member in later:
            message = f"number {number:02d} of {shown(folder)} is taken by {shown(first)}"
            if member.path in at_base:
                message += "; both are history and stay: refer to them by their full names."
            else:
                message += f": the next free one is {_take(used[folder]):02d}."
            yield _finding("AW107", member.path, message, at_base)


def _holders(paths: Collection[str]) -> dict[tuple[str, int], set[str]]:
    """The file names that hold each number of each folder."""
    holders: dict[tuple[str, int], set[str]] = {}
    for document in _documents(paths):
        if document.name:
            holders.setdefault((document.folder, document.name.number), set()).add(document.file)
    return holders
