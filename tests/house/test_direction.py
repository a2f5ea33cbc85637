"""The house stands as ARCHITECTURE.md says: direction, style, types, start-up budgets."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["lint-imports", "--no-cache"], id="direction of imports"),
        pytest.param(["ruff", "format", "--check", "."], id="one formatter"),
        pytest.param(["ruff", "check", "."], id="ruff"),
        pytest.param(["mypy"], id="strict types"),
    ],
)
def test_the_house_rules(command):
    done = run(str(Path(sys.executable).parent / command[0]), *command[1:])
    assert done.returncode == 0, done.stdout + done.stderr


def imported(module: str) -> set[str]:
    """Every module that a bare interpreter has loaded after importing ``module``."""
    code = f"import sys; before = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - before))"
    done = run(sys.executable, "-I", "-c", code)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


HEAVY = {"pygls", "lsprotocol", "sqlalchemy", "typer", "rich", "click", "git", "tree_sitter", "yaml"}


@pytest.mark.parametrize(
    ("module", "never"),
    [
        ("rulecore_kernel", {"dataclasses", "re", "json", "typing", "asyncio"} | HEAVY),
        ("rulecore_kernel.rules.evaluate", {"dataclasses", "asyncio", "difflib"} | HEAVY),
        ("rulecore_kernel.rules.guards.decide", {"dataclasses", "asyncio", "difflib"} | HEAVY),
        ("rulecore_hooks.aiwork_naming", {"asyncio", "dataclasses", "rulecore_sidecar"} | HEAVY),
        ("rulecore_sidecar.entry", {"asyncio", "sqlite3"} | HEAVY),
        ("rulecore_sidecar.client", {"asyncio", "sqlite3"} | HEAVY),
        ("rulecore_sidecar.sidecar", HEAVY),
    ],
)
def test_what_a_start_up_may_not_import(module, never):
    assert not imported(module) & never


@pytest.mark.parametrize("folder", ["kernel", "hooks", "sidecar"])
def test_each_top_folder_holds_one_package_and_a_readme(folder):
    inside = sorted(
        p.name for p in (ROOT / folder).iterdir() if not p.name.endswith(".egg-info") and p.name != "__pycache__"
    )
    assert inside == ["README.md", f"rulecore_{folder}"]
    assert (ROOT / folder / f"rulecore_{folder}" / "py.typed").exists()


@pytest.mark.parametrize("folder", ["kernel", "hooks", "sidecar"])
def test_no_file_is_overgrown(folder):
    """The standard's "a file over ~400 lines asks for another look", held with some air."""
    long = {p.name: n for p in (ROOT / folder).rglob("*.py") if (n := len(p.read_text("utf-8").splitlines())) > 450}
    assert not long
