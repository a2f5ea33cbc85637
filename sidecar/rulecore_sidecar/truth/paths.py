"""One key for one file. A path is normalised once, here; everything else compares keys.

The key is the real path of the parent plus the original last component, relative to the root, in ``/`` form. What
leaves the root (``..``, elsewhere, a parent that is a symlink out of it) or cannot exist (NUL) is *outside*.

Guarantee: every parent directory below the root was seen not to be a symlink when the place was located.
Limits: the root's own ancestors are resolved once, when :class:`Paths` is made. Case sensitivity is probed once per
root; a tree that mixes both kinds is treated as the root is. Two names that differ only by full case folding
(``ß``/``ss``) share a key on a case-insensitive file system. Source: spec sidecar.md §2.
"""

# pathlib is several times slower on this path, and hides components that must be seen.
# ruff: noqa: PTH115, PTH119, PTH120

import os
import stat
import sys
import unicodedata
from itertools import islice
from typing import NamedTuple

PROBED_NAMES = 200
"""Names of the root folder that the case probe looks through for one with letters."""
SPELLINGS_KEPT = 100_000
_WINDOWS = os.name == "nt"


class Place(NamedTuple):
    """Where a path lies. ``key`` names it, ``path`` (absolute) opens it."""

    key: str
    path: str
    inside: bool


class Paths:
    """Normalises the paths of one workspace."""

    def __init__(self, root: str | os.PathLike[str], case_insensitive: bool | None = None) -> None:
        """``case_insensitive`` None probes the file system; give a value to skip that. The root need not exist."""
        self.root = os.path.realpath(root)
        self._prefix = self.root.rstrip(os.sep) + os.sep
        self.case_insensitive = _probe(self.root) if case_insensitive is None else case_insensitive
        self._spellings: dict[str, str] = {}

    def locate(self, path: str, checked: set[str] | None = None) -> Place:
        """The place of an absolute path, a root-relative path, or a key. Never raises.

        ``checked`` collects parent folders that were found in order, so that a batch looks at each only once.
        """
        try:
            rel = self._relative(path, checked)
        except (OSError, ValueError):
            rel = None
        if rel is None:
            return Place(path, path, False)
        if not self.case_insensitive:
            return Place(rel, self.absolute(rel), True)
        key = _fold(rel)
        return Place(key, self.absolute(self._spellings.get(key, rel)), True)

    def target(self, place: Place) -> Place:
        """Where the symlink at ``place`` points to; an outside place when it can no longer be read."""
        try:
            target = os.readlink(place.path)
        except (OSError, ValueError):
            return Place(place.path, place.path, False)
        return self.locate(os.path.join(os.path.dirname(place.path), target))

    def absolute(self, rel: str) -> str:
        """The absolute path of a root-relative ``/`` path."""
        if rel == ".":
            return self.root
        return self._prefix + (rel.replace("/", "\\") if _WINDOWS else rel)

    def spelling(self, place: Place) -> str:
        """The root-relative name under which ``place`` is opened: its key, but in the disk's own case."""
        return place.path[len(self._prefix) :].replace(os.sep, "/")

    def learn_spelling(self, rel: str) -> None:
        """Remember how the disk spells ``rel``. Does nothing on a case-sensitive file system."""
        if not self.case_insensitive:
            return
        key = _fold(rel)
        if key == rel:
            self._spellings.pop(key, None)
        elif key in self._spellings or len(self._spellings) < SPELLINGS_KEPT:
            self._spellings[key] = rel

    def _relative(self, path: str, checked: set[str] | None) -> str | None:
        if "\0" in path:
            return None
        if not _WINDOWS:
            rel = path.removeprefix(self._prefix)
            if _is_plain(rel) and self._parents_are_real(rel, checked):
                return rel
        full = os.path.join(self.root, path)
        head, tail = os.path.split(full.rstrip("/\\" if _WINDOWS else "/"))
        has_name = tail not in ("", ".", "..")
        resolved = os.path.join(os.path.realpath(head), tail) if has_name else os.path.realpath(full)
        if os.path.normcase(resolved) == os.path.normcase(self.root):
            return "."
        if not os.path.normcase(resolved).startswith(os.path.normcase(self._prefix)):
            return None
        rel = resolved[len(self._prefix) :].replace(os.sep, "/")
        return rel if self._parents_are_real(rel, checked) else None

    def _parents_are_real(self, rel: str, checked: set[str] | None) -> bool:
        """No folder from the root down to the parent of ``rel`` is a symlink."""
        end = rel.rfind("/") + 1
        if checked is not None and rel[:end] in checked:
            return True
        upto = 0
        try:
            while True:
                folder = rel[:upto]
                if checked is None or folder not in checked:
                    if stat.S_ISLNK(os.lstat(self._prefix + folder[:-1] if folder else self.root).st_mode):
                        return False
                    if checked is not None:
                        checked.add(folder)
                if upto == end:
                    return True
                upto = rel.index("/", upto) + 1
        except OSError:
            return True  # what is not there cannot lead out; the look at the file itself says what is wrong


def _is_plain(rel: str) -> bool:
    """No component is empty, ``.`` or ``..``."""
    framed = f"/{rel}/"
    return "//" not in framed and "/./" not in framed and "/../" not in framed


def _fold(rel: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", rel).casefold())


def _probe(root: str) -> bool:
    """True when the root's file system ignores case: an existing name answers to its other case too."""
    try:
        with os.scandir(root) as found:
            names = {entry.name for entry in islice(found, PROBED_NAMES)}
    except OSError:
        names = set()
    candidates = [os.path.join(root, name) for name in names if name.swapcase() not in names | {name}]
    base = os.path.basename(root)
    if base.swapcase() != base:
        candidates.append(root)
    for path in candidates:
        other = os.path.join(os.path.dirname(path), os.path.basename(path).swapcase())
        try:
            return os.path.samestat(os.lstat(path), os.lstat(other))
        except FileNotFoundError:
            if os.path.lexists(path):
                return False
        except OSError:
            continue
    return sys.platform in ("win32", "darwin")
