"""A real git repository for a test, apart from the configuration of whoever runs it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("rulecore-aiwork-naming")
GOOD = ".aiWork/requirements/20260601-01-order-refund-flow.md"
GOOD_2 = ".aiWork/requirements/20260602-02-order-refund-limits.md"
BAD = ".aiWork/requirements/Order Refund.md"


def git_environment(home: Path, **more: str) -> dict[str, str]:
    """The process's environment without anything of a git that runs us, with a fixed author and no user's settings."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT", "RULECORE_"))
    }
    return {
        **kept,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.com",
        "GIT_MERGE_AUTOEDIT": "no",
        "GIT_EDITOR": "true",
        **more,
    }


@dataclass(frozen=True)
class Run:
    """How a command ended, its two outputs in one text."""

    code: int
    output: str

    def __bool__(self) -> bool:
        return self.code == 0


@dataclass(frozen=True)
class Work:
    """A work tree and the environment that its commands run in."""

    top: Path
    environment: dict[str, str]

    @classmethod
    def create(cls, top: Path, home: Path, *init: str, **environment: str) -> "Work":
        """A new repository with the branch main."""
        top.mkdir(parents=True, exist_ok=True)
        work = cls(top, git_environment(home, **environment))
        work.git("init", "-q", "-b", "main", *init)
        return work

    def at(self, folder: str | Path) -> "Work":
        """The same environment in another folder, such as a clone's or a linked work tree's."""
        return Work(self.top / folder, self.environment)

    def run(self, *command: str | Path, **environment: str) -> Run:
        """Run a command in the work tree, whatever it ends with."""
        result = subprocess.run(
            [str(part) for part in command],
            cwd=self.top,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return Run(result.returncode, result.stdout.decode("utf-8", "surrogateescape"))

    def git(self, *arguments: str) -> str:
        """Run git and insist that it works."""
        result = self.run("git", *arguments)
        assert result, f"git {arguments}: {result.output}"
        return result.output.strip()

    def hook(self, *arguments: str | Path, **environment: str) -> Run:
        """Run the console script of the hook as it is installed for the tests."""
        return self.run(SCRIPT, *arguments, **environment)

    def write(self, path: str, text: str = "text\n") -> str:
        """Write a file of the work tree; the path comes back."""
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return path

    def stage(self, *paths: str) -> None:
        """Write files and add them to the index."""
        for path in paths:
            self.write(path, f"{path}\n")
        self.git("add", "--", *paths)

    def commit(self, *options: str) -> Run:
        """`git commit` with its hooks."""
        return self.run("git", "commit", "-q", "-m", "message", *options)

    def seed(self, *paths: str) -> None:
        """Commit files past the hooks, as history that was there before."""
        self.stage(*paths)
        self.git("commit", "-q", "--no-verify", "-m", "seed")

    def install_hooks(self, *names: str) -> None:
        """Plain git hooks that run the console script."""
        folder = self.top / self.git("rev-parse", "--git-path", "hooks")
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            file = folder / name
            file.write_text(f'#!/bin/sh\nexec "{SCRIPT}"\n', "utf-8")
            file.chmod(0o755)
