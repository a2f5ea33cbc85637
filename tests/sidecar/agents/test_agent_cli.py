"""``rulecore agent``: what a person sees, exit codes, and the doctor against a live sidecar."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sidecar.agents.repos import git, new_repo
from typer.testing import CliRunner

from rulecore_sidecar import client
from rulecore_sidecar.agents import doctor
from rulecore_sidecar.agents.cli import app
from rulecore_sidecar.agents.cline_carriers import HOOKS, PLUGIN


def run(root: Path, *args: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*args, "--root", str(root)])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.output


def test_install_status_uninstall(repo: Path, runtime: Path) -> None:
    assert run(repo, "status")[0] == 1
    code, text = run(repo, "install", "cline")
    assert code == 0 and f"cline: created {PLUGIN}\n" in text
    assert run(repo, "status") == (0, run(repo, "status", "cline")[1])
    code, text = run(repo, "uninstall")
    assert code == 0 and f"cline: removed {PLUGIN}\n" in text
    assert run(repo, "uninstall") == (0, f"workspace {repo}\ncline: not installed\n")


def test_a_dry_run_prints_the_diff(repo: Path, runtime: Path) -> None:
    code, text = run(repo, "install", "--dry-run")
    assert code == 0 and f"--- /dev/null\n+++ b/{PLUGIN}\n@@" in text and not (repo / PLUGIN).exists()
    run(repo, "install")
    assert run(repo, "install", "--dry-run") == (0, "nothing to change\n")


def test_json(repo: Path, runtime: Path) -> None:
    code, text = run(repo, "install", "--json")
    (report,) = json.loads(text)
    assert code == 0 and report["ok"] and report["changes"][0] == {"name": PLUGIN, "kind": "created", "why": ""}


def test_something_left_alone_is_exit_code_1(repo: Path, runtime: Path) -> None:
    (repo / PLUGIN).parent.mkdir(parents=True)
    (repo / PLUGIN).write_text("mine")
    code, text = run(repo, "install")
    assert code == 1 and f"refused {PLUGIN}: a file of that name is not ours" in text


@pytest.mark.parametrize("args", [("install", "emacs"), ("status", "--root", "/nonexistent/x")])
def test_bad_usage_is_exit_code_2(repo: Path, args: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*args] if "--root" in args else [*args, "--root", str(repo)])
    assert done.exit_code == 2 and done.stderr.startswith("rulecore agent: ")


def test_install_says_where(repo: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "deep").mkdir()
    monkeypatch.chdir(repo / "deep")
    assert CliRunner().invoke(app, ["install"]).output.startswith(f"workspace {repo}\n")


def test_a_current_folder_that_is_gone_is_exit_code_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for command in ("install", "uninstall", "status", "doctor"):
        done = CliRunner().invoke(app, [command])
        assert done.exit_code == 2 and "does not exist any more" in done.stderr


def test_a_workspace_whose_path_is_not_utf_8_is_exit_code_2(tmp_path: Path) -> None:
    root = new_repo(Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff")))
    for command in ("install", "uninstall", "status", "doctor"):
        done = subprocess.run(
            [sys.executable, "-I", "-m", "rulecore_sidecar", "agent", command, "--root", root],
            capture_output=True,
            check=False,
        )
        assert done.returncode == 2 and b"is not UTF-8" in done.stderr and b"Traceback" not in done.stderr


def test_a_manifest_that_came_with_a_clone_is_exit_code_2(repo: Path, runtime: Path) -> None:
    (repo / ".rulecore").mkdir()
    (repo / ".rulecore/agents.json").write_text("nonsense")
    assert run(repo, "install")[0] == 2


def test_help_has_an_example(repo: Path) -> None:
    for command in ("install", "uninstall", "status", "doctor"):
        done = CliRunner().invoke(app, [command, "--help"])
        assert done.exit_code == 0 and "Example: rulecore agent" in done.output


# -- doctor


def test_the_doctor_tries_every_carrier(served: Path) -> None:
    run(served, "install")
    code, text = run(served, "doctor")
    assert code == 0, text
    for name in (PLUGIN, f"{HOOKS}/PreToolUse", f"{HOOKS}/PostToolUse", f"{HOOKS}/UserPromptSubmit"):
        assert f"✓ {name} (tried): its call reached the sidecar" in text
    assert "without asking" in text
    assert client.call(served, "rulecore/halt/get", {}) == {"halts": []}


def test_the_doctor_says_what_is_not_installed(served: Path) -> None:
    code, text = run(served, "doctor")
    assert code == 1 and f"✗ {PLUGIN}: not installed\n    rulecore agent install" in text


def test_the_doctor_finds_carriers_that_do_not_reach_the_sidecar(served: Path) -> None:
    run(served, "install")
    for name, old, new in ((PLUGIN, '"sockname"', '"no-such-command"'), (f"{HOOKS}/PreToolUse", "relay.py", "gone.py")):
        path = served / name
        path.write_text(path.read_text().replace(old, new))
    checks, _ = doctor.doctor(served, ("cline",))
    broken = {check.name for check in checks if check.problem}
    assert broken >= {f"{PLUGIN} (tried)", f"{HOOKS}/PreToolUse (tried)"}
    assert f"{HOOKS}/PostToolUse (tried)" not in broken


def test_the_doctor_does_not_run_what_is_not_ours(served: Path) -> None:
    hook = served / HOOKS / "PreToolUse"
    hook.parent.mkdir(parents=True)
    hook.write_text("#!/bin/sh\n: > ran\n")
    hook.chmod(0o755)
    git(served, "add", "-f", str(hook))
    run(served, "install")
    code, text = run(served, "doctor")
    assert code == 1 and f"✗ {HOOKS}/PreToolUse: not ours" in text and f"{HOOKS}/PreToolUse (tried)" not in text
    assert not (served / "ran").exists()


def test_the_doctor_hands_on_what_the_sidecar_complains_of(served: Path) -> None:
    (served / "project.md").write_text("---\nguard:\n  mode: sometimes\n---\n")
    run(served, "install")
    code, text = run(served, "doctor")
    assert code == 1 and "✗ sidecar: gives notice\n    " in text and "sometimes" in text
    (served / "project.md").unlink()
    assert run(served, "doctor")[0] == 0


@pytest.mark.parametrize(("version", "noted"), [("3.0.65", False), ("9.9.9", True)])
def test_an_untried_version_is_noted(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, noted: bool
) -> None:
    program = tmp_path / "bin" / "cline"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    assert ("has not been tried" in run(served, "doctor")[1]) is noted
