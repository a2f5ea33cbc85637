"""A workspace cannot replace our code: what it holds is data."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLANTED = "raise SystemExit('PWNED by the workspace')\n"
NAMES = ["rulecore_kernel", "rulecore_hooks", "yaml", "typer", "json", "asyncio", "sqlite3", "xxhash", "git", "kernel"]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(PLANTED)
    (tmp_path / "sitecustomize.py").write_text(PLANTED)
    (tmp_path / "rulecore_sidecar.py").write_text(PLANTED)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        pytest.param([str(BIN / "rulecore"), "kernel", "list"], id="console script"),
        pytest.param([str(BIN / "rulecore-aiwork-naming")], id="hook"),
        pytest.param([sys.executable, "-I", "-m", "rulecore_sidecar", "kernel", "list"], id="as editors start it"),
    ],
)
def test_modules_planted_in_the_workspace_are_not_imported(hostile, command):
    done = subprocess.run(command, cwd=hostile, capture_output=True, text=True, timeout=60)
    assert "PWNED" not in done.stdout + done.stderr and done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", ["rulecore", "rulecore-aiwork-naming"])
def test_pythonpath_does_not_bring_them_in(hostile, script):
    (hostile / "rulecore_sidecar.py").unlink()  # the one name that PYTHONPATH can still shadow: a stated limit
    (hostile / "sitecustomize.py").unlink()  # Python's own: it runs before any program
    for name in ("json", "rulecore_hooks"):  # imported by the interpreter's start or before our first line
        (hostile / name / "__init__.py").unlink()
        (hostile / name).rmdir()
    arguments = ["kernel", "list"] if script == "rulecore" else []
    environment = {**os.environ, "PYTHONPATH": str(hostile)}
    done = subprocess.run(
        [str(BIN / script), *arguments], cwd=hostile, env=environment, capture_output=True, text=True, timeout=60
    )
    assert "PWNED" not in done.stdout + done.stderr and done.returncode == 0, done.stderr
