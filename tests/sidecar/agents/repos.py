"""Repositories for the tests of agent carriers."""

import subprocess
from pathlib import Path


def new_repo(root: Path) -> Path:
    """A git repository with one commit; its resolved path."""
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "README.md").write_text("x\n")
    git(root, "add", "-A")
    git(root, "-c", "user.name=t", "-c", "user.email=t@x.invalid", "commit", "-q", "-m", "one")
    return root.resolve()


def git(root: Path, *args: str) -> str:
    """Run git in ``root``; its output."""
    done = subprocess.run(["git", "-C", str(root), *args], capture_output=True, text=True, check=True)
    return done.stdout
