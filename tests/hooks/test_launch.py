"""How the console script starts and ends: isolation, internal errors, the start-up budget."""

import sys
from pathlib import Path

import pytest
from hooks.gitwork import BAD, GOOD, SCRIPT, Run, Work

NEVER = {
    "asyncio",
    "lsprotocol",
    "numpy",
    "pkg_resources",
    "pydantic",
    "pygls",
    "rich",
    "rulecore_sidecar",
    "setuptools",
    "sqlalchemy",
    "tree_sitter",
    "typer",
    "watchfiles",
    "xxhash",
}
"""Top-level modules that no run of a hook imports."""

HEAVY = {
    "dataclasses",
    "datetime",
    "git",
    "gitdb",
    "inspect",
    "json",
    "logging",
    "rulecore_kernel",
    "smmap",
    "tempfile",
    "yaml",
}
"""What a hook with nothing to do does not import either."""


@pytest.fixture
def quiet(tmp_path: Path) -> Work:
    """A repository with a memory in its history and no hooks."""
    repository = Work.create(tmp_path / "work", tmp_path)
    repository.seed(GOOD)
    return repository


def imported(work: Work, *arguments: str) -> set[str]:
    """The top-level modules that a run of the script imports."""
    run = work.run(sys.executable, "-X", "importtime", SCRIPT, *arguments)
    assert run.code == 0, run.output
    lines = (line for line in run.output.splitlines() if line.startswith("import time:"))
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert "rulecore_hooks" in names
    return names


def test_nothing_to_do_imports_nothing_heavy(quiet: Work) -> None:
    quiet.stage("src/order.py")
    for arguments in (("--hook",), ("src/order.py",)):
        assert not imported(quiet, *arguments) & (NEVER | HEAVY)


def test_a_check_imports_git_and_nothing_of_the_sidecar(quiet: Work) -> None:
    names = imported(quiet)
    assert not names & NEVER
    assert "git" in names
    assert "yaml" not in names, "there is no front matter to read"


def test_the_hook_checks_only_commits_that_concern_it(quiet: Work) -> None:
    quiet.seed(BAD)
    quiet.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    assert quiet.hook("--hook"), "nothing is staged"
    assert not quiet.hook(), "asked for outright, everything is checked"
    quiet.stage(GOOD.replace("-01-", "-02-"))
    assert not quiet.hook("--hook")


def test_a_hook_outside_of_a_repository_says_so(quiet: Work, tmp_path: Path) -> None:
    run = quiet.at(tmp_path).hook("--hook")
    assert run.code == 2
    assert "not a git repository" in run.output


@pytest.mark.parametrize("pythonpath", [".", "", "{top}", "nowhere:."])
def test_the_workspace_cannot_replace_a_module(quiet: Work, pythonpath: str) -> None:
    for trap in ("argparse.py", "git.py", "yaml.py", "typing.py", "subprocess.py", "rulecore_kernel/__init__.py"):
        quiet.write(trap, "raise SystemExit('replaced')\n")
    quiet.write(".aiWork/readme.md", "---\ntimezone: UTC\n---\n")
    quiet.stage(BAD)
    run = quiet.hook("--hook", PYTHONPATH=pythonpath.format(top=quiet.top))
    assert run.code == 1
    assert "error AW101" in run.output


def crash(work: Work, message: str = "boom", **environment: str) -> Run:
    return failing(work, f"KeyError({message!r})", **environment)


def failing(work: Work, error: str, **environment: str) -> Run:
    code = f"""
from rulecore_hooks.launch import run_hook
def main():
    raise {error}
raise SystemExit(run_hook("demo", main))
"""
    return work.run(sys.executable, "-c", code, **environment)


def test_an_internal_error_is_one_line_and_a_log(quiet: Work, tmp_path: Path) -> None:
    run = crash(quiet, "boom\nnext")
    log = tmp_path / "state" / "rulecore" / "hooks.log"
    assert run.code == 3
    assert run.output == f"demo: internal error, KeyError: 'boom\\nnext'; the details are in {log}\n"
    assert "Traceback (most recent call last)" in log.read_text("utf-8")
    crash(quiet)
    assert log.read_text("utf-8").count("Traceback") == 2


def test_a_log_that_cannot_be_written_goes_to_the_folder_for_temporary_files(quiet: Work, tmp_path: Path) -> None:
    blocker = tmp_path / "blocker"
    blocker.write_text("a file where a folder should be")
    run = crash(quiet, XDG_STATE_HOME=str(blocker), TMPDIR=str(tmp_path))
    assert run.output.endswith(f"the details are in {tmp_path / 'rulecore' / 'hooks.log'}\n")
    assert (tmp_path / "rulecore" / "hooks.log").exists()


def test_an_interrupt_is_no_error_of_ours(quiet: Work) -> None:
    assert failing(quiet, "KeyboardInterrupt") == Run(130, "")
