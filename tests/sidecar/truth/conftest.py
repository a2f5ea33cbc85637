"""A workspace folder, a clock that tests move, and git that ignores the user's own configuration."""

import subprocess
from pathlib import Path

import pytest
from sidecar.truth.support import Clock, Git

from rulecore_sidecar.truth import FileTruth


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
