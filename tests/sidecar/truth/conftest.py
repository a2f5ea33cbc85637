"""A workspace folder, a clock that tests move, and git that ignores the user's own configuration."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rulecore_sidecar.truth import FileTruth

Git = Callable[..., str]


class Clock:
    """The wall clock, ``ahead`` seconds fast."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> int:
        return time.time_ns() + int(self.ahead * 1e9)

    def settle(self) -> None:
        """Let the file system's clock tick, then pass the racy window: what was written until now is old."""
        time.sleep(0.02)
        self.ahead = 3.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def truth(root: Path, clock: Clock) -> FileTruth:
    return FileTruth(root, clock)


@pytest.fixture
def git(root: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def run(*arguments: str, at: Path = root) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        done = subprocess.run(["git", "-C", str(at), *identity, *arguments], check=True, capture_output=True, text=True)
        return done.stdout

    run("init", "-q", "-b", "main")
    return run
