"""Which files count, and when HEAD has moved. git is the real one."""

import os
from pathlib import Path

import pytest
from sidecar.truth.support import Git

from rulecore_sidecar.truth import FileTruth, Listing, list_files, listing
from rulecore_sidecar.truth.listing import find_git_dir


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def listed(root: Path, *under: str) -> set[str]:
    return set(list_files(str(root), under).paths)


def test_git_lists_tracked_and_untracked_but_not_ignored(root: Path, git: Git) -> None:
    write(root, "tracked", "ignored.log", "build/out", "sub/untracked", "sub/new\nline", "ünï")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    git("add", "tracked")
    found = list_files(str(root))
    assert found.source == "git"
    assert set(found.paths) == {".gitignore", "tracked", "sub/untracked", "sub/new\nline", "ünï"}
    assert listed(root, "sub", "tracked", "build", "ignored.log") == {"tracked", "sub/untracked", "sub/new\nline"}
    assert listed(root / "sub") == {"untracked", "new\nline"}


def test_aiwork_counts_even_when_ignored(root: Path, git: Git) -> None:
    memory = {".aiWork/decisions/01.md", ".aiWork/todo.md"}
    nested = {"apps/one/.aiWork/todo.md"}
    code = {".gitignore", "apps/one/src/main.py"}
    write(root, *memory, *nested, *code)
    (root / ".gitignore").write_text(".aiWork\n")
    assert listed(root) == memory | nested | code
    assert listed(root, ".aiWork") == memory
    assert listed(root, ".aiWork/todo.md") == {".aiWork/todo.md"}
    assert listed(root, "apps/one") == nested | {"apps/one/src/main.py"}


def test_links_are_listed_and_not_followed(root: Path, git: Git) -> None:
    write(root, "src/file")
    (root / "link").symlink_to("src")
    (root / ".aiWork").symlink_to("src")
    assert listed(root) == {"src/file", "link", ".aiWork"}


def test_without_git_everything_but_the_skipped_folders(root: Path) -> None:
    write(root, "a", "src/b", ".git-like/c", "node_modules/x/y", ".venv/z", "src/__pycache__/p", ".rulecore/db")
    (root / ".gitignore").write_text("a\n")
    (root / "link").symlink_to("src")
    found = list_files(str(root))
    assert found.source == "walk"
    assert set(found.paths) == {"a", "src/b", ".git-like/c", ".gitignore", "link"}
    assert listed(root, "src", "a", "node_modules/x", "absent") == {"src/b", "a"}


def test_a_folder_that_its_repository_ignores_is_walked(root: Path, git: Git) -> None:
    (root / ".gitignore").write_text("scratch\n")
    write(root, "scratch/file")
    assert list_files(str(root / "scratch")) == Listing(("file",), "walk")


@pytest.mark.parametrize("program", ["exit 1", "sleep 60"], ids=["fails", "hangs"])
def test_a_git_that_fails_or_hangs_is_done_without(
    root: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    write(root, "file")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(
        f"#!/bin/sh\nexec {program}\n" if "sleep" in program else f"#!/bin/sh\n{program}\n"
    )
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(listing, "GIT_TIMEOUT_SECONDS", 0.1)
    assert list_files(str(root)) == Listing(("file",), "walk")


def test_no_git_at_all(root: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "file")
    monkeypatch.setenv("PATH", str(root))
    assert list_files(str(root)) == Listing(("file",), "walk")


def test_a_workspace_cannot_make_git_run_a_program_or_write(
    root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "file")
    git("add", "file")
    git("config", "core.fsmonitor", f"touch {root}/ran; false")
    monkeypatch.setenv("GIT_DIR", str(root / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(root / "nowhere"))
    before = {path: path.stat() for path in (root / ".git").rglob("*")}
    assert list_files(str(root)) == Listing(("file",), "git")
    assert not (root / "ran").exists()
    after = {path: path.stat() for path in (root / ".git").rglob("*")}
    assert {path: status.st_mtime_ns for path, status in after.items()} == {
        path: status.st_mtime_ns for path, status in before.items()
    }


def test_a_path_is_never_a_pattern(root: Path, git: Git) -> None:
    write(root, "a", "*", ":(glob)x")
    assert listed(root, "*") == {"*"}
    assert listed(root, ":(glob)x") == {":(glob)x"}


def test_limits(root: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, *(f"file{number}" for number in range(9)))
    monkeypatch.setattr(listing, "LISTED_FILES", 5)
    assert (len(list_files(str(root)).paths), list_files(str(root)).cut) == (5, True)
    monkeypatch.setattr(listing, "LISTED_BYTES", 20)
    assert list_files(str(root)) == Listing(("file0", "file1", "file2"), "git", cut=True)
    monkeypatch.setattr(listing, "find_git_dir", lambda root: None)
    assert (len(list_files(str(root)).paths), list_files(str(root)).cut) == (5, True)


def test_a_root_that_is_gone(tmp_path: Path) -> None:
    assert list_files(str(tmp_path / "gone")).root_missing


def test_git_dir(root: Path, git: Git, tmp_path: Path) -> None:
    write(root, "sub/file")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert find_git_dir(str(root / "sub")) == str(root / ".git")
    assert find_git_dir(str(tmp_path / "tree")) == str(root / ".git" / "worktrees" / "tree")
    assert find_git_dir(str(tmp_path)) is None


@pytest.mark.parametrize("worktree", [False, True])
def test_head_moves(root: Path, git: Git, tmp_path: Path, worktree: bool) -> None:
    write(root, "file")
    git("add", "-A")
    git("commit", "-qm", "one")
    place = root
    if worktree:
        place = tmp_path / "tree"
        git("worktree", "add", "-q", str(place))
    truth = FileTruth(place)
    truth.refresh()
    assert not truth.poll_head()
    for command in (
        ["switch", "-qc", "other"],
        ["commit", "-q", "--allow-empty", "-m", "two"],
        ["reset", "-q", "HEAD~"],
    ):
        git(*command, at=place)
        assert truth.poll_head(), command
        assert truth.needs_sweep
        assert not truth.poll_head()
    git("status", at=place)
    assert not truth.poll_head()


def test_a_repository_that_appears_later(root: Path, truth: FileTruth, request: pytest.FixtureRequest) -> None:
    assert not truth.poll_head()
    request.getfixturevalue("git")
    assert truth.poll_head()
