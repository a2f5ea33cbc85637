"""Where a path stands in an `.aiWork` memory, and what its file name says.

spec: aiwork.md §1
"""

import re
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

ROOT = ".aiWork"
FOLDERS = ("requirements", "drafts", "decision", "concepts")
ARCHIVE = "archive"
ASSETS = "assets"
ROOT_FILES = ("todo.md", "readme.md", "waivers.yml")
GIT_FILES = frozenset({".gitkeep", ".gitignore", ".gitattributes"})
"""git's own files: they hold an empty folder in a repository or speak to git, and are no documents."""

NAME_FORM = "YYYYMMDD-NN-summary.md"
LONGEST_NAME = 255
"""What the common file systems allow; git itself stores longer ones."""

_NAME = re.compile(r"(\d{8})-(0[1-9]|[1-9]\d+)-([a-z0-9]+(?:-[a-z0-9]+)*)\.md", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class DocumentName(NamedTuple):
    """The parts of a file name that has the form of the naming rule; `day` is None for no date of the calendar."""

    day: date | None
    number: int
    words: tuple[str, ...]


class Place(NamedTuple):
    """A path taken apart: `root` is the folder that holds `.aiWork` ("" for the top), `inside` the parts below it."""

    root: str
    spelled: str
    inside: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """The path of the memory itself, as it is spelled."""
        return f"{self.root}/{self.spelled}" if self.root else self.spelled


def place_of(path: str) -> Place | None:
    """The place of a path with `/` in the nearest `.aiWork` above it, in any spelling; None outside of one."""
    *folders, name = path.split("/")
    for index in range(len(folders) - 1, -1, -1):
        if folders[index].casefold() == ROOT.casefold():
            return Place("/".join(folders[:index]), folders[index], (*folders[index + 1 :], name))
    return None


def parse_name(name: str) -> DocumentName | None:
    """The parts of `YYYYMMDD-NN-summary.md`, or None when the name has another form."""
    match = _NAME.fullmatch(name)
    if match is None or len(name) > LONGEST_NAME:
        return None
    return DocumentName(calendar_day(match[1]), int(match[2]), tuple(match[3].split("-")))


def calendar_day(digits: str) -> date | None:
    """The day that eight digits name, or None when the calendar has no such day."""
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return None


def next_number(names: Iterable[str]) -> int:
    """The number after the highest among a folder's file names, its archive's included; others do not count."""
    documents = (parse_name(name) for name in names)
    return max((found.number for found in documents if found and found.day), default=0) + 1


def shown(text: str) -> str:
    """A path or name for one line of output: control characters are written as escapes."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
