"""Which files belong to a workspace, and whether its git HEAD has moved.

In a repository ``git ls-files`` lists them (tracked, and untracked but not ignored). Elsewhere, without git, or where
git finds nothing, the folder is walked: everything but SKIPPED folders; ignore files are not read there. ``.aiWork``
counts whatever is ignored. Symlinks are listed, never followed.

Limits: LISTED_BYTES of names and LISTED_FILES files; beyond, the listing is cut and says so. The contents of a nested
repository are not listed. An ignored ``.aiWork`` is looked for in the root and in every folder on the way to a listed
file. Everything here is a function of the disk and safe to run in another thread. Source: spec sidecar.md §2.
"""

# Names are bytes of the file system, handled as os gives them.
# ruff: noqa: PTH112, PTH114, PTH120, PTH123

import os
import subprocess
import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from rulecore_sidecar.truth.disk import MAX_ENTRIES
from rulecore_sidecar.truth.values import signature_fields

AIWORK = ".aiWork"
SKIPPED = frozenset({".git", ".rulecore", ".venv", "__pycache__", "node_modules"})
GIT_TIMEOUT_SECONDS = 10.0
LISTED_FILES = MAX_ENTRIES
LISTED_BYTES = 64 * 1024 * 1024
_GITDIR_FILE_BYTES = 4_096
_Names = tuple[list[str], bool]
"""Paths, and whether a limit cut them."""


class Listing(NamedTuple):
    """The files found: root-relative ``/`` paths, undecodable bytes as surrogate escapes."""

    paths: tuple[str, ...]
    source: str
    """``git`` or ``walk``."""
    cut: bool = False
    """A limit was reached: there are more files."""
    root_missing: bool = False


def list_files(root: str, under: Sequence[str] = ()) -> Listing:
    """List the files of ``root``, or only those at or below the given root-relative paths. Never raises.

    Blocks for as long as git takes, GIT_TIMEOUT_SECONDS at most.
    """
    if not os.path.isdir(root):
        return Listing((), "walk", root_missing=True)
    source = "git"
    found = _ls_files(root, under) if find_git_dir(root) else None
    if found is None or not (found[0] or under):
        source = "walk"
        found = _walk(root, under or ("",))
    names, cut = found
    memory, _ = _walk(root, _aiwork_folders(root, names, under))
    paths = dict.fromkeys([*names, *memory])
    return Listing(tuple(islice(paths, LISTED_FILES)), source, cut or len(paths) > LISTED_FILES)


def find_git_dir(root: str) -> str | None:
    """The git directory that governs ``root`` (of the worktree, where it is one), None outside a repository."""
    folder = root
    while True:
        path = os.path.join(folder, ".git")
        if os.path.isdir(path):
            return path
        try:
            with open(path, "rb") as link:
                content = os.fsdecode(link.read(_GITDIR_FILE_BYTES))
            if content.startswith("gitdir:"):
                return os.path.normpath(os.path.join(folder, content.removeprefix("gitdir:").strip()))
        except (OSError, ValueError):
            pass
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def head_signature(root: str) -> tuple[tuple[int, ...] | None, ...]:
    """Changes when HEAD is switched, or its branch moves by commit, reset, merge or pull (by its reflog)."""
    git_dir = find_git_dir(root)
    signatures: list[tuple[int, ...] | None] = []
    for name in ("HEAD", "logs/HEAD") if git_dir else ():
        try:
            signatures.append(signature_fields(os.lstat(os.path.join(git_dir or "", name))))
        except OSError:
            signatures.append(None)
    return tuple(signatures)


def _ls_files(root: str, under: Iterable[str]) -> _Names | None:
    """What git lists; None when it cannot. Nothing of the caller's GIT_* environment or of fsmonitor hooks runs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    command = ["git", "-C", root, "--literal-pathspecs", "-c", "core.fsmonitor=false"]
    command += ["ls-files", "-z", "-co", "--exclude-standard", "--", *under]
    quiet = subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, env=environment)
    except (OSError, ValueError):
        return None
    with process:
        timer = threading.Timer(GIT_TIMEOUT_SECONDS, process.kill)
        timer.start()
        assert process.stdout is not None
        data = process.stdout.read(LISTED_BYTES + 1)
        cut = len(data) > LISTED_BYTES
        if cut:
            process.kill()
        process.wait()
        timer.cancel()
    if process.returncode and not cut:
        return None
    names = os.fsdecode(data).split("\0")
    names.pop()  # what follows the last NUL: nothing, or a name that was cut
    return [name for name in names if not name.endswith("/")], cut


def _walk(root: str, places: Iterable[str]) -> _Names:
    """Files and symlinks at or below ``places``, without SKIPPED folders. What cannot be read is left out."""
    names: list[str] = []
    pending = [place for place in places if SKIPPED.isdisjoint(place.split("/"))]
    while pending and len(names) <= LISTED_FILES:
        place = pending.pop()
        path = os.path.join(root, place)
        try:
            if os.path.islink(path) or not os.path.isdir(path):
                names += [place] if os.path.lexists(path) else []
                continue
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except (OSError, ValueError):
            continue
        for entry in entries:
            name = f"{place}/{entry.name}" if place else entry.name
            if not entry.is_dir(follow_symlinks=False):
                names.append(name)
            elif entry.name not in SKIPPED:
                pending.append(name)
    return names[:LISTED_FILES], len(names) > LISTED_FILES


def _aiwork_folders(root: str, names: Iterable[str], under: Sequence[str]) -> list[str]:
    """The ``.aiWork`` folders whose files are to be listed whether ignored or not."""
    if under:
        inside = [place for place in under if AIWORK in place.split("/")]
        return inside + [f"{place}/{AIWORK}" for place in under]
    folders = {""}
    for name in names:
        folder = name.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    candidates = (f"{folder}/{AIWORK}" if folder else AIWORK for folder in folders)
    return [folder for folder in candidates if os.path.lexists(os.path.join(root, folder))]
