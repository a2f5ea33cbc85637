"""Generated paths in git's ``info/exclude`` of the common directory, inside a marked block that can be taken out again.

All worktrees of a repository share the file and the block, which names what any of them has installed.
The opening line notes what stood before it, so that taking the block out gives the file back byte for byte.
Source: spec agents.md section 3.
"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

_BEGIN = "# >>> rulecore agent install, generated, after {before} >>>"
_END = "# <<< rulecore agent install <<<"
_NO_FILE, _WHOLE_LINE, _OPEN_LINE = "no file", "a whole line", "an open line"
_BLOCK = re.compile(
    r"# >>> rulecore agent install, generated, after (no file|a whole line|an open line) >>>\n"
    r"(?:.*\n)*?# <<< rulecore agent install <<<\n"
)


def exclude_file(root: Path) -> Path | None:
    """Git's ``info/exclude`` for the work tree ``root``, None outside git."""
    found = _git(root, "rev-parse", "--git-path", "info/exclude")
    return None if found is None else root / found


def other_worktrees(root: Path) -> list[Path]:
    """The folder that ``root`` is, in the other work trees of its repository."""
    listed = _git(root, "worktree", "list", "--porcelain") or ""
    trees = [Path(line.removeprefix("worktree ")) for line in listed.split("\n") if line.startswith("worktree ")]
    places = [tree / _prefix(root) for tree in trees]
    return [place for place in places if place.is_dir() and place.resolve() != root.resolve()]


def is_tracked(root: Path, name: str) -> bool:
    """True when git tracks ``name`` or something in it."""
    return bool(_git(root, "ls-files", "-z", "--", name))


def with_block(text: str | None, root: Path, names: Iterable[str]) -> str:
    """``text`` (None: no file) with the block for ``names``, which are relative to ``root``."""
    before = without_block(text)
    kind = _NO_FILE if before is None else _OPEN_LINE if before and not before.endswith("\n") else _WHOLE_LINE
    prefix = _prefix(root)
    lines = [_BEGIN.format(before=kind), *(f"/{_escaped(prefix + name)}" for name in names), _END]
    return (before or "") + ("\n" if kind == _OPEN_LINE else "") + "\n".join(lines) + "\n"


def without_block(text: str | None) -> str | None:
    """``text`` as it was before; None when there was no file."""
    match = _BLOCK.search(text or "")
    if text is None or match is None:
        return text
    before, after = text[: match.start()], text[match.end() :]
    if match[1] == _OPEN_LINE and not after:
        before = before.removesuffix("\n")
    return None if match[1] == _NO_FILE and not before + after else before + after


def _prefix(root: Path) -> str:
    """Where ``root`` lies in its work tree: empty, or ending in a slash."""
    return _git(root, "rev-parse", "--show-prefix") or ""


def _escaped(name: str) -> str:
    return re.sub(r"([\\*?\[\]#! ])", r"\\\1", name)


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n") if done.returncode == 0 else None
