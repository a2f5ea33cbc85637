"""Hooking Cline up in a repository and taking the hooks out again."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sidecar.agents.repos import git, new_repo

from rulecore_sidecar.agents import exclude, install
from rulecore_sidecar.agents.carrier import MARK
from rulecore_sidecar.agents.cline_carriers import EVENTS, HOOKS, PLUGIN, carriers
from rulecore_sidecar.agents.files import RefusedError, sha256
from rulecore_sidecar.agents.install import Report

HOOK = f"{HOOKS}/PreToolUse"
NAMES = [PLUGIN, *(f"{HOOKS}/{event}" for event in EVENTS)]
Tree = dict[str, tuple[int, bytes | str | None]]


def tree(root: Path) -> Tree:
    """Everything below ``root`` but git's objects; git's exclude file is in it."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith(".git/") and name != ".git/info/exclude":
            continue
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[name] = (stat.S_IMODE(path.lstat().st_mode), content)
    return found


def put(root: Path, name: str, text: str, mode: int = 0o644) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def up(root: Path, *, dry_run: bool = False) -> Report:
    (report,) = install.install(root, ["cline"], dry_run)
    return report


def down(root: Path, *, dry_run: bool = False) -> Report:
    (report,) = install.uninstall(root, ["cline"], dry_run)
    return report


def kinds(report: Report) -> dict[str, str]:
    return {change.name: change.kind for change in report.changes}


# -- the plain way


def test_install_makes_the_files_and_git_does_not_see_them(repo: Path) -> None:
    report = up(repo)
    assert report.ok and kinds(report) == dict.fromkeys(NAMES, "created")
    assert git(repo, "status", "--porcelain", "--untracked-files=all") == ""
    assert all(stat.S_IMODE((repo / name).stat().st_mode) == (0o644 if name == PLUGIN else 0o755) for name in NAMES)


def test_uninstall_gives_everything_back(repo: Path) -> None:
    before = tree(repo)
    up(repo)
    report = down(repo)
    assert report.ok and kinds(report) == dict.fromkeys(NAMES, "removed")
    assert tree(repo) == before


def test_twice_changes_nothing_more(repo: Path) -> None:
    up(repo)
    once = tree(repo)
    again = up(repo)
    assert kinds(again) == dict.fromkeys(NAMES, "unchanged") and again.diff == "" and tree(repo) == once
    down(repo)
    assert down(repo) == Report("cline", ())


def test_a_dry_run_shows_and_does_nothing(repo: Path) -> None:
    before = tree(repo)
    report = up(repo, dry_run=True)
    assert tree(repo) == before
    assert all(f"+++ b/{name}\n" in report.diff for name in (*NAMES, ".rulecore/agents.json"))
    assert f"+/{PLUGIN}\n" in report.diff
    up(repo)
    installed = tree(repo)
    report = down(repo, dry_run=True)
    assert tree(repo) == installed and f"--- a/{PLUGIN}\n+++ /dev/null\n" in report.diff


def test_another_version_is_brought_up_to_date(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    up(repo)
    new = tuple(carrier._replace(text=f"{carrier.text}// newer\n") for carrier in carriers(repo))
    monkeypatch.setitem(install.CARRIERS, "cline", lambda _root: new)
    assert kinds(install.status(repo, ["cline"])[0]) == dict.fromkeys(NAMES, "updated")
    assert up(repo).ok and (repo / PLUGIN).read_text().endswith("// newer\n")
    assert down(repo).ok and not (repo / PLUGIN).exists()


def test_outside_git(tmp_path: Path) -> None:
    root = (tmp_path / "plain").resolve()
    root.mkdir()
    assert up(root).ok and down(root).ok
    assert tree(root) == {}


@pytest.mark.parametrize("windows", [False, True])
def test_every_blank_is_filled_in(repo: Path, windows: bool) -> None:
    found = carriers(repo, windows)
    assert all("@@" not in carrier.text and MARK in carrier.data for carrier in found)
    assert [c.name.endswith(".ps1") for c in found] == [False, windows, windows, windows]


# -- what belongs to somebody else


@pytest.mark.parametrize("mode", [0o755, 0o640])
def test_a_foreign_hook_is_kept_beside_ours_and_comes_back(repo: Path, mode: int) -> None:
    put(repo, HOOK, "#!/bin/sh\necho mine\n", mode)
    before = tree(repo)
    report = up(repo)
    assert report.ok and kinds(report)[HOOK] == "chained"
    assert (repo / f"{HOOK}.rulecore-orig").read_text() == "#!/bin/sh\necho mine\n"
    assert kinds(up(repo))[HOOK] == "unchanged"
    assert kinds(down(repo))[HOOK] == "restored"
    assert tree(repo) == before


def test_a_tracked_hook_is_left_alone(repo: Path) -> None:
    put(repo, HOOK, "#!/bin/sh\n", 0o755)
    git(repo, "add", "-f", HOOK)
    before = tree(repo)
    report = up(repo)
    assert not report.ok and kinds(report)[HOOK] == "refused" and "tracks" in report.changes[1].why
    assert (repo / HOOK).read_text() == "#!/bin/sh\n" and (repo / PLUGIN).exists()
    down(repo)
    assert tree(repo) == before


def test_a_foreign_plugin_of_our_name_is_left_alone(repo: Path) -> None:
    put(repo, PLUGIN, "export default {}\n")
    report = up(repo)
    assert kinds(report)[PLUGIN] == "refused" and (repo / PLUGIN).read_text() == "export default {}\n"
    down(repo)
    assert (repo / PLUGIN).read_text() == "export default {}\n"


def test_a_generated_file_that_was_changed_is_reported_not_removed(repo: Path) -> None:
    up(repo)
    changed = (repo / PLUGIN).read_text() + "// my own line\n"
    (repo / PLUGIN).write_text(changed)
    assert kinds(up(repo))[PLUGIN] == "left"
    report = down(repo)
    assert not report.ok and kinds(report)[PLUGIN] == "left" and (repo / PLUGIN).read_text() == changed
    assert not (repo / HOOK).exists()
    (repo / PLUGIN).unlink()
    assert down(repo).ok
    assert not (repo / ".cline").exists() and not (repo / ".rulecore").exists()


def test_a_missing_file_is_no_obstacle(repo: Path) -> None:
    up(repo)
    (repo / PLUGIN).unlink()
    assert kinds(install.status(repo, ["cline"])[0])[PLUGIN] == "created"
    assert kinds(down(repo))[PLUGIN] == "missing"


def test_rules_in_a_single_file_leave_no_place_for_hooks(repo: Path) -> None:
    put(repo, ".clinerules", "be nice\n")
    before = tree(repo)
    report = up(repo)
    assert kinds(report) == {PLUGIN: "created", **dict.fromkeys(NAMES[1:], "refused")}
    down(repo)
    assert tree(repo) == before


def test_a_folder_that_leads_out_of_the_repository_is_not_written_through(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / ".cline").symlink_to(outside)
    report = up(repo)
    assert kinds(report)[PLUGIN] == "refused" and "leaves" in report.changes[0].why
    assert list(outside.iterdir()) == []


def test_a_symbolic_link_in_place_of_the_file_is_not_followed(repo: Path, tmp_path: Path) -> None:
    target = put(tmp_path, "target", "mine\n")
    (repo / PLUGIN).parent.mkdir(parents=True)
    (repo / PLUGIN).symlink_to(target)
    assert kinds(up(repo))[PLUGIN] == "refused" and target.read_text() == "mine\n"


def test_folders_that_were_there_stay(repo: Path) -> None:
    (repo / ".cline").mkdir()
    up(repo)
    put(repo, ".clinerules/style.md", "be nice\n")
    down(repo)
    assert (repo / ".cline").is_dir() and not (repo / ".cline/plugins").exists()
    assert (repo / ".clinerules/style.md").exists() and not (repo / HOOKS).exists()


# -- the manifest


def test_the_manifest_lists_every_file_with_its_hash(repo: Path) -> None:
    up(repo)
    plain = json.loads((repo / ".rulecore/agents.json").read_text())
    assert plain["version"] == 1 and sorted(plain["agents"]["cline"]["files"]) == sorted(NAMES)


def test_a_manifest_that_came_with_a_clone_is_not_believed(repo: Path) -> None:
    victim = put(repo, "src/a.py", "Generated by `rulecore agent install`\n")
    files = {"src/a.py": sha256(victim.read_bytes())}
    put(repo, ".rulecore/agents.json", json.dumps({"agents": {"cline": {"files": files, "kept": [], "folders": []}}}))
    git(repo, "add", "-f", ".rulecore")
    with pytest.raises(RefusedError, match="came with a clone"):
        down(repo)
    assert victim.exists()


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/../../b", "src/a.py"])
def test_a_manifest_cannot_name_what_is_not_ours(repo: Path, name: str) -> None:
    victim = put(repo.parent, "a", "x") if name == "../a" else put(repo, "src/a.py", "x")
    files = {name: sha256(b"x")}
    put(repo, ".rulecore/agents.json", json.dumps({"agents": {"cline": {"files": files, "kept": [], "folders": []}}}))
    assert kinds(down(repo))[name] == "left" and victim.read_text() == "x"


@pytest.mark.parametrize("text", ["", "[]", '{"agents": 5}', '{"agents": {"cline": {}}}', "\udc80"])
def test_a_broken_manifest_is_said(repo: Path, text: str) -> None:
    put(repo, ".rulecore/agents.json", "").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RefusedError, match="not a manifest of ours"):
        up(repo)


@pytest.mark.parametrize("again", [False, True], ids=["uninstall", "install, uninstall"])
def test_without_the_manifest_the_mark_tells_what_is_ours(repo: Path, again: bool) -> None:
    put(repo, HOOK, "#!/bin/sh\necho mine\n", 0o750)
    put(repo, f"{HOOKS}/TaskStart", "#!/bin/sh\n", 0o755)
    before = tree(repo)
    up(repo)
    shutil.rmtree(repo / ".rulecore")
    assert set(kinds(install.status(repo, ["cline"])[0]).values()) == {"unchanged"}
    if again:
        up(repo)
        plain = json.loads((repo / ".rulecore/agents.json").read_text())
        assert plain["agents"]["cline"]["kept"] == [f"{HOOK}.rulecore-orig"]
    assert kinds(down(repo)) == {**dict.fromkeys(NAMES, "removed"), HOOK: "restored"}
    assert tree(repo) == before


def test_without_the_manifest_what_quotes_the_mark_is_not_ours(repo: Path) -> None:
    text = "#!/bin/sh\n#\n#\n# Generated by `rulecore agent install cline`?\n"
    put(repo, HOOK, text)
    assert down(repo) == Report("cline", ()) and (repo / HOOK).read_text() == text


def test_without_manifest_and_files_the_exclude_file_is_cleaned(repo: Path) -> None:
    before = (repo / ".git/info/exclude").read_bytes()
    up(repo)
    for name in (".rulecore", ".cline", ".clinerules"):
        shutil.rmtree(repo / name)
    assert down(repo).changes == () and (repo / ".git/info/exclude").read_bytes() == before


def test_a_workspace_whose_path_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    root = new_repo(Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff")))
    with pytest.raises(RefusedError, match="not UTF-8"):
        up(root)


# -- git's exclude file


@pytest.mark.parametrize("text", [None, "", "*.log\n", "*.log", "a\n\n\nb", "# 说明\r\n*.log\r\n", "\n\n"])
def test_the_exclude_file_comes_back_byte_for_byte(repo: Path, text: str | None) -> None:
    path = repo / ".git/info/exclude"
    path.unlink()
    if text is not None:
        path.write_bytes(text.encode())
    up(repo)
    assert f"/{PLUGIN}\n" in path.read_text()
    down(repo)
    assert path.exists() == (text is not None) and (text is None or path.read_bytes() == text.encode())


def test_lines_that_a_person_adds_meanwhile_stay(repo: Path) -> None:
    path = repo / ".git/info/exclude"
    path.write_text("one")
    up(repo)
    path.write_text(path.read_text() + "two\n")
    up(repo)
    down(repo)
    assert path.read_text() == "one\ntwo\n"


def test_worktrees_share_the_block_until_the_last_one_goes(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    second = (tmp_path / "second").resolve()
    before = (repo / ".git/info/exclude").read_bytes()
    up(repo)
    up(second)
    assert git(second, "status", "--porcelain", "--untracked-files=all") == ""
    down(second)
    assert git(repo, "status", "--porcelain", "--untracked-files=all") == ""
    down(repo)
    assert (repo / ".git/info/exclude").read_bytes() == before


def test_the_block_names_what_any_worktree_has_installed(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    second = (tmp_path / "second").resolve()
    before = (repo / ".git/info/exclude").read_bytes()
    put(repo, HOOK, "#!/bin/sh\n", 0o755)
    up(repo)
    kept = f"/{HOOK}.rulecore-orig\n"
    assert kept in (repo / ".git/info/exclude").read_text()
    up(second)
    assert git(repo, "status", "--porcelain", "--untracked-files=all") == ""
    down(repo)
    assert kept not in (repo / ".git/info/exclude").read_text()
    assert git(second, "status", "--porcelain", "--untracked-files=all") == ""
    down(second)
    assert (repo / ".git/info/exclude").read_bytes() == before


def test_the_diff_names_the_exclude_file_by_its_path(repo: Path, tmp_path: Path) -> None:
    assert "+++ b/.git/info/exclude\n" in up(repo, dry_run=True).diff
    git(repo, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    second = (tmp_path / "second").resolve()
    assert f"+++ b/../{repo.name}/.git/info/exclude\n" in up(second, dry_run=True).diff


@settings(max_examples=100, deadline=None)
@given(
    text=st.none() | st.text(st.sampled_from("ab#\n /"), max_size=30),
    names=st.lists(st.just("x/y"), min_size=1, max_size=2),
)
def test_any_exclude_file_comes_back(text: str | None, names: list[str]) -> None:
    outside = Path("/nonexistent")
    once = exclude.with_block(text, outside, names)
    assert exclude.with_block(once, outside, names) == once
    assert exclude.without_block(once) == text


# -- any repository

CONTENT = st.sampled_from(["", "x\n", "#!/bin/sh\necho '{}'\n"])
PLACES = st.sampled_from(
    [PLUGIN, HOOK, f"{HOOKS}/PostToolUse", ".cline/x", ".clinerules/a.md", f"{HOOKS}/other", "src/a.py"]
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(PLACES, st.tuples(CONTENT, st.sampled_from([0o644, 0o755, 0o600])), max_size=5))
def test_in_any_repository_uninstall_undoes_install(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, tuple[str, int]]
) -> None:
    root = new_repo(tmp_path_factory.mktemp("r") / "repo")
    for name, (text, mode) in files.items():
        put(root, name, text, mode)
    before = tree(root)
    up(root)
    up(root)
    down(root)
    assert tree(root) == before
