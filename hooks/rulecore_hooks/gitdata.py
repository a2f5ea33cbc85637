"""What git knows, read through GitPython: paths of the index and of commits, and the base of a change.

Nothing here writes to the index, the refs or the tree. Names are read with `-z` and may be any bytes: what is no UTF-8
is kept as surrogate escapes. GIT_DIR and GIT_INDEX_FILE, as git sets them for a hook, are left to git, so that a commit
of named files is judged by its temporary index. GitPython takes longer to import than everything else and
is imported with the first repository only.

spec: aiwork.md §6, hooks.md §1
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

FOREIGN_ENVIRONMENT = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
)
"""What git sets for the hooks of one repository and what would lead astray in another."""

_MEMORY = re.compile(rb"(?:^|/)\.aiwork/", re.IGNORECASE)
_MERGED_HEAD = re.compile(r"GITHEAD_([0-9a-f]{40}|[0-9a-f]{64})")


def memory_is_staged() -> bool:
    """Whether the next commit changes anything inside of an `.aiWork` folder.

    Asked of git itself: importing GitPython would take longer than the answer. True as well when git cannot answer: the
    check that follows says why.
    """
    from subprocess import DEVNULL, PIPE, run

    command = ("git", "diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-relative")
    try:
        result = run(command, stdout=PIPE, stderr=DEVNULL, check=False)
    except OSError:
        return True
    return result.returncode != 0 or bool(_memory_paths(result.stdout))


class CannotCheck(Exception):
    """The hook cannot judge: the message says what, why and what to do. Ends as exit code 2."""


class Push(NamedTuple):
    """A push that pre-commit told about in its environment: what is sent, and where to."""

    commit: str
    remote: str
    branch: str

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Push | None":
        """The push under way, or None outside of the pre-push stage."""
        remote = environ.get("PRE_COMMIT_REMOTE_NAME")
        commit = environ.get("PRE_COMMIT_TO_REF") or environ.get("PRE_COMMIT_LOCAL_BRANCH")
        if not remote or not commit:
            return None
        return cls(commit, remote, environ.get("PRE_COMMIT_REMOTE_BRANCH", "").removeprefix("refs/heads/"))


class Repository:
    """One work tree. Every method raises CannotCheck when git cannot answer."""

    def __init__(self, folder: str) -> None:
        if not Path(folder).is_dir():
            raise CannotCheck(f"{folder} is no folder: name the work tree with --root.")
        try:
            import git
        except ImportError as error:  # GitPython's way to say that there is no git
            raise CannotCheck("git could not be started: install it and put it on PATH.") from error
        self.top = folder
        self._cmd = git.Git(folder)
        self.top = os.fsdecode(self._run("rev-parse", "--show-toplevel").removesuffix(b"\n"))
        self._cmd = git.Git(self.top)

    def index_paths(self) -> tuple[str, ...]:
        """The paths inside of `.aiWork` folders, in any spelling, as the next commit has them."""
        return _memory_paths(self._run("ls-files", "-z"))

    def commit_paths(self, commit: str, folders: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The same of a commit, below `folders` or everywhere."""
        return _memory_paths(self._run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *folders))

    def commit(self, name: str) -> str | None:
        """The id of the commit that `name` stands for, or None when there is none."""
        return self._id("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")

    def heads(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The parents of the next commit: none before the first one, several while a merge is under way."""
        head = self.commit("HEAD")
        if head is None:
            return ()
        named = [match[1] for match in map(_MERGED_HEAD.fullmatch, environ) if match]  # a merge without conflicts
        return (head, *dict.fromkeys((*self._merge_heads(), *named)))

    def default_tip(self, default_branch: str | None, remote: str = "origin") -> str | None:
        """The tip of the default branch at the remote: the configured one, else HEAD, main, master there."""
        names = [f"{remote}/{name}" for name in ("HEAD", "main", "master")]
        if default_branch:
            names[:0] = [f"{remote}/{default_branch}", default_branch]
        refs = [f"refs/remotes/{name}" for name in names]
        lines = self._run("for-each-ref", "--format=%(refname) %(objectname)", *refs).decode("utf-8", "replace")
        tips = dict(line.split(" ", 1) for line in lines.splitlines())
        return next((tips[ref] for ref in refs if ref in tips), None)

    def merge_base(self, tip: str, heads: tuple[str, ...]) -> str | None:
        """Where the next commit, with the parents `heads`, leaves the history of `tip`; None for no common history."""
        base = self._id("merge-base", tip, *heads)
        if base is None and self._run("rev-parse", "--is-shallow-repository").strip() == b"true":
            raise CannotCheck(
                "the history is shallow and ends before the branch leaves the default branch: "
                "fetch the full history with `git fetch --unshallow`."
            )
        return base

    def _merge_heads(self) -> tuple[str, ...]:
        path = os.fsdecode(self._run("rev-parse", "--git-path", "MERGE_HEAD").removesuffix(b"\n"))
        try:
            return tuple(Path(self.top, path).read_text("ascii").split())
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise CannotCheck(f"{path} could not be read: {error}") from error

    def _id(self, *arguments: str) -> str | None:
        """One object id, or None when git exits with 1: there is none."""
        return self._run(*arguments, none_is=1).decode("ascii").strip() or None

    def _run(self, *arguments: str, none_is: int = 0) -> bytes:
        status, output, complaint = self._cmd.execute(
            [self._cmd.GIT_PYTHON_GIT_EXECUTABLE or "git", *arguments],
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
        )
        if status not in {0, none_is}:
            raise CannotCheck(_explained(arguments[0], status, complaint, self.top))
        return output if status == 0 else b""


def _memory_paths(listing: bytes) -> tuple[str, ...]:
    """The paths of a `-z` listing that are inside a memory, without repetition."""
    names = dict.fromkeys(name for name in listing.split(b"\0") if _MEMORY.search(name))
    return tuple(name.decode("utf-8", "surrogateescape") for name in names)


def _explained(command: str, status: int, complaint: str, folder: str) -> str:
    reason = " ".join(complaint.split()) or f"exit code {status}"
    return f"git {command} failed in {folder}: {reason}. Run it inside a work tree, or name one with --root."
