"""The hook on real repositories, run by git itself: what passes, what is blocked, and against what it is compared."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hooks.gitwork import BAD, GOOD, GOOD_2, Run, Work

OTHER = "src/order.py"


def test_a_good_name_passes_and_says_nothing(work: Work) -> None:
    work.seed(OTHER)
    work.stage(GOOD, ".aiWork/todo.md", ".aiWork/readme.md", ".aiWork/assets/Any Picture.png")
    run = work.commit()
    assert (run.code, run.output) == (0, "")


def test_a_bad_name_is_blocked_with_what_to_do(work: Work) -> None:
    work.seed(OTHER)
    work.stage(BAD)
    run = work.commit()
    assert run.code == 1
    assert f"{BAD}:1:1: error AW101 Order Refund.md is not YYYYMMDD-NN-summary.md" in run.output
    today = datetime.now().astimezone().date()
    proposals = [f"Rename it to {day:%Y%m%d}-01-order-refund.md" for day in (today, today - timedelta(days=1))]
    assert any(proposal in run.output for proposal in proposals)
    assert "\x1b" not in run.output


def test_the_first_commit_is_checked_as_all_new(work: Work) -> None:
    work.stage(BAD)
    assert "AW101" in work.commit().output
    work.git("mv", BAD, GOOD)
    assert work.commit()


def test_a_name_at_the_base_only_warns(work: Work) -> None:
    work.seed(BAD)
    work.stage(GOOD)
    run = work.commit()
    assert run.code == 0
    assert f"{BAD}:1:1: warning AW101" in run.output


def test_amending_checks_against_what_is_shared(work: Work) -> None:
    work.seed(GOOD)
    work.git("update-ref", "refs/remotes/origin/main", "HEAD")
    work.seed(BAD)
    assert "error AW101" in work.commit("--amend").output


@pytest.mark.parametrize(
    "name",
    ["订单退款.md", "20260601-01-订单退款.md", "a b c.md", "a\tb.md", "a\nb.md", 'quote".md', "é.md", "-x.md", "*.md"],
)
def test_any_name_is_read_and_shown_on_one_line(work: Work, name: str) -> None:
    work.stage(f".aiWork/drafts/{name}")
    run = work.commit()
    findings = [line for line in run.output.splitlines() if "AW101" in line]
    assert run.code == 1
    assert len(findings) == 1
    assert findings[0].startswith(".aiWork/drafts/" + name.replace("\t", "\\t").replace("\n", "\\n") + ":1:1: error")


@pytest.mark.skipif(os.name != "posix", reason="only there can a name be any bytes")
def test_a_name_that_is_no_utf8_is_read(work: Work) -> None:
    path = os.fsencode(work.top) + b"/.aiWork/drafts/caf\xe9.md"
    os.makedirs(os.path.dirname(path))
    Path(os.fsdecode(path)).write_text("x")
    work.git("add", ".")
    assert ".aiWork/drafts/caf\\udce9.md:1:1: error AW101" in work.commit().output
    report = json.loads(work.hook("--json").output)
    assert report["findings"][0]["path"] == ".aiWork/drafts/caf\udce9.md"


def test_a_duplicate_number_is_blocked_for_the_new_file(work: Work) -> None:
    work.seed(GOOD, GOOD_2)
    work.stage(".aiWork/requirements/20260603-02-another-new-rule.md")
    run = work.commit()
    assert run.code == 1
    assert f"AW107 number 02 of .aiWork/requirements is taken by {GOOD_2}: the next free one is 03" in run.output


def test_the_index_is_judged_not_the_working_tree(work: Work) -> None:
    work.seed(OTHER)
    work.stage(GOOD)
    work.write(BAD)
    assert work.commit(), "an untracked bad name is no part of the commit"
    work.stage(BAD)
    (work.top / BAD).unlink()
    assert "AW101" in work.commit().output, "a staged bad name is, whatever became of the file"


def test_a_commit_of_named_files_is_judged_by_its_own_index(work: Work) -> None:
    work.seed(GOOD)
    work.stage(BAD)
    work.write(GOOD, "changed\n")
    assert work.commit(GOOD), "git commit FILE leaves the staged bad name out"
    assert "AW101" in work.commit(BAD).output


def test_a_commit_of_everything_sees_deletions(work: Work) -> None:
    work.seed(OTHER)
    work.stage(BAD)
    (work.top / BAD).unlink()
    work.write(OTHER, "changed\n")
    assert work.commit("-a")


def test_a_move_to_the_archive_keeps_the_number(work: Work) -> None:
    work.seed(GOOD, BAD)
    for path in (GOOD, BAD):
        target = path.replace("requirements/", "requirements/archive/")
        (work.top / target).parent.mkdir(exist_ok=True)
        work.git("mv", path, target)
    run = work.commit()
    assert run.code == 0
    assert "warning AW101" in run.output


def test_renames_that_change_only_capitals(work: Work) -> None:
    work.seed(GOOD.replace("order", "Order"))
    work.git("mv", GOOD.replace("order", "Order"), GOOD)
    assert work.commit(), "towards the rule"
    work.git("mv", GOOD, GOOD.replace("order", "Order"))
    assert "error AW101" in work.commit().output, "away from it"


def test_a_folder_in_other_capitals_is_blocked(work: Work) -> None:
    work.stage(GOOD.replace(".aiWork", ".AIWORK"))
    assert "AW105 .AIWORK has to be spelled .aiWork" in work.commit().output


class TestBase:
    """Where the base comes from."""

    def shared(self, work: Work, ref: str = "origin/main") -> None:
        work.git("update-ref", f"refs/remotes/{ref}", "HEAD")

    def test_without_a_remote_it_is_head(self, work: Work) -> None:
        work.seed(BAD)
        work.stage(GOOD)
        assert work.commit()

    @pytest.mark.parametrize("ref", ["origin/main", "origin/master"])
    def test_what_is_not_shared_is_new(self, work: Work, ref: str) -> None:
        work.seed(OTHER)
        self.shared(work, ref)
        work.seed(BAD)
        work.stage(GOOD)
        assert "error AW101" in work.commit().output

    def test_the_remotes_head_comes_before_main(self, work: Work) -> None:
        work.seed(OTHER)
        self.shared(work, "origin/main")
        work.seed(BAD)
        self.shared(work, "origin/develop")
        work.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")
        work.stage(GOOD)
        assert work.commit()

    @pytest.mark.parametrize("name", ["develop", "origin/develop", "upstream/develop"])
    def test_the_configured_branch_comes_first(self, work: Work, name: str) -> None:
        work.seed(OTHER)
        self.shared(work, "origin/main")
        work.seed(BAD)
        self.shared(work, name if "/" in name else f"origin/{name}")
        work.stage(GOOD)
        assert not work.commit()
        work.write("project.md", f"---\naiwork:\n  default_branch: {name}\n---\n")
        assert work.commit()

    def test_it_can_be_set_in_the_environment(self, work: Work) -> None:
        work.seed(BAD)
        self.shared(work, "origin/develop")
        work.stage(GOOD)
        assert work.hook(RULECORE_AIWORK_DEFAULT_BRANCH="develop")

    def test_an_unrelated_history_has_none(self, work: Work) -> None:
        work.seed(BAD)
        self.shared(work)
        work.git("checkout", "-q", "--orphan", "other")
        assert "error AW101" in work.commit().output

    def test_a_shallow_history_that_ends_too_soon_cannot_be_checked(self, work: Work, tmp_path: Path) -> None:
        work.seed(GOOD)
        work.seed(OTHER)
        work.git("checkout", "-q", "-b", "feature", "HEAD~1")
        work.seed("a")
        work.git("checkout", "-q", "main")
        work.git("clone", "-q", "--depth=1", "--no-single-branch", work.top.as_uri(), str(tmp_path / "clone"))
        clone = work.at(tmp_path / "clone")
        clone.git("checkout", "-q", "feature")
        clone.stage(GOOD)
        run = clone.hook()
        assert run.code == 2
        assert "the history is shallow" in run.output
        assert "git fetch --unshallow" in run.output


class TestMerge:
    """Merges, in which the base is what the result has in common with the shared branch."""

    TAKEN = ".aiWork/requirements/20260605-02-taken-in-main.md"
    OURS = ".aiWork/requirements/20260606-02-taken-on-branch.md"

    def diverge(self, work: Work, main: str, branch: str, *, conflict: bool) -> Run:
        work.seed(GOOD, OTHER)
        work.git("checkout", "-q", "-b", "feature")
        if conflict:
            work.write(OTHER, "feature\n")
            work.git("add", OTHER)
        work.seed(branch)
        work.git("checkout", "-q", "main")
        if conflict:
            work.write(OTHER, "main\n")
            work.git("add", OTHER)
        work.seed(main)
        work.git("update-ref", "refs/remotes/origin/main", "main")
        work.git("checkout", "-q", "feature")
        merge = work.run("git", "merge", "-q", "--no-edit", "main")
        if conflict:
            assert "CONFLICT" in merge.output
            work.stage(OTHER)
        return merge

    def test_a_bad_name_that_the_other_side_has_only_warns(self, work: Work) -> None:
        self.diverge(work, main=BAD, branch=GOOD_2, conflict=True)
        run = work.commit()
        assert run.code == 0
        assert "warning AW101" in run.output

    def test_a_bad_name_of_our_side_only_warns_in_the_merge(self, work: Work) -> None:
        self.diverge(work, main=GOOD_2, branch=BAD, conflict=True)
        assert "warning AW101" in work.commit().output

    def test_a_bad_name_that_the_merge_adds_is_blocked(self, work: Work) -> None:
        self.diverge(work, main=GOOD_2, branch="x", conflict=True)
        work.stage(BAD)
        assert "error AW101" in work.commit().output

    def test_a_number_taken_on_both_sides_is_blocked(self, work: Work) -> None:
        self.diverge(work, main=self.TAKEN, branch=self.OURS, conflict=True)
        run = work.commit()
        assert run.code == 1
        assert f"{self.OURS}:1:1: error AW107" in run.output
        assert f"taken by {self.TAKEN}" in run.output

    def test_a_merge_without_conflicts_is_checked_as_well(self, work: Work) -> None:
        merge = self.diverge(work, main=self.TAKEN, branch=self.OURS, conflict=False)
        assert f"{self.OURS}:1:1: error AW107" in merge.output
        assert work.run("git", "rev-parse", "--quiet", "--verify", "feature^2").code == 1, "no merge was made"

    def test_a_bad_name_of_the_other_side_passes_without_conflicts(self, work: Work) -> None:
        merge = self.diverge(work, main=BAD, branch=GOOD_2, conflict=False)
        assert "warning AW101" in merge.output
        assert work.git("rev-parse", "feature^2") == work.git("rev-parse", "main")


class TestPlaces:
    """Other shapes of a repository."""

    def test_a_linked_work_tree(self, work: Work) -> None:
        work.seed(BAD)
        work.git("worktree", "add", "-q", "-b", "other", "../linked")
        linked = work.at("../linked")
        linked.stage(GOOD)
        assert "warning AW101" in linked.commit().output
        linked.stage(".aiWork/drafts/x.md")
        run = linked.commit()
        assert run.code == 1
        assert ".aiWork/drafts/x.md:1:1: error AW101" in run.output

    def test_a_submodule_is_a_repository_of_its_own(self, work: Work, tmp_path: Path) -> None:
        library = Work.create(tmp_path / "library", tmp_path)
        library.seed(GOOD)
        work.seed(OTHER)
        work.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.top), "lib")
        assert work.commit(), "the outer repository does not look into it"
        inner = work.at("lib")
        inner.install_hooks("pre-commit")
        inner.stage(BAD)
        assert "error AW101" in inner.commit().output

    def test_a_detached_head(self, work: Work) -> None:
        work.seed(BAD)
        work.git("checkout", "-q", "--detach")
        work.stage(GOOD)
        assert "warning AW101" in work.commit().output
        work.stage(".aiWork/drafts/x.md")
        assert not work.commit()

    def test_several_memories_number_for_themselves(self, work: Work) -> None:
        work.stage(GOOD, f"packages/a/{GOOD}", f"packages/b/{GOOD_2}")
        assert work.commit()

    def test_a_subfolder_sees_the_whole_repository(self, work: Work) -> None:
        work.stage(BAD, "src/deep/x.py")
        assert "error AW101" in work.at("src/deep").hook().output

    def test_a_cherry_pick_and_a_rebase(self, work: Work) -> None:
        work.seed(OTHER)
        work.git("update-ref", "refs/remotes/origin/main", "HEAD")
        work.git("checkout", "-q", "-b", "feature")
        work.stage(GOOD)
        assert work.commit()
        work.git("checkout", "-q", "main")
        work.seed("x")
        work.git("cherry-pick", "feature")
        work.git("checkout", "-q", "feature")
        work.git("rebase", "-q", "main")

    def test_a_named_root_is_read_without_the_hooks_variables(self, work: Work, tmp_path: Path) -> None:
        work.stage(BAD)
        other = Work.create(tmp_path / "other", tmp_path)
        other.stage(GOOD)
        git = other.top / ".git"
        foreign = {"GIT_DIR": str(git), "GIT_INDEX_FILE": str(git / "index"), "GIT_WORK_TREE": str(other.top)}
        assert "error AW101" in other.hook("--root", work.top, **foreign).output
        push = {"PRE_COMMIT_REMOTE_NAME": "origin", "PRE_COMMIT_TO_REF": "HEAD"}
        assert "error AW101" in other.hook("--root", work.top, **push).output


class TestPush:
    """The stage pre-push, which pre-commit tells of in its variables."""

    LATE = ".aiWork/requirements/20260604-02-came-later-elsewhere.md"

    @pytest.fixture
    def clone(self, work: Work, tmp_path: Path) -> Work:
        work.seed(GOOD)
        work.git("clone", "-q", str(work.top), str(tmp_path / "clone"))
        return work.at(tmp_path / "clone")

    def push(self, clone: Work, branch: str = "feature") -> tuple[int, str]:
        run = clone.hook(
            PRE_COMMIT_REMOTE_NAME="origin",
            PRE_COMMIT_REMOTE_BRANCH=f"refs/heads/{branch}",
            PRE_COMMIT_LOCAL_BRANCH="HEAD",
            PRE_COMMIT_TO_REF=clone.git("rev-parse", "HEAD"),
        )
        return run.code, run.output

    def test_the_pushed_commit_is_judged_not_the_index(self, clone: Work) -> None:
        clone.seed(GOOD_2)
        clone.stage(BAD)
        assert self.push(clone) == (0, "")
        clone.seed(".aiWork/drafts/x.md")
        clone.git("rm", "-q", ".aiWork/drafts/x.md")
        assert "x.md:1:1: error AW101" in self.push(clone)[1]

    def test_a_number_that_the_default_branch_took_meanwhile(self, work: Work, clone: Work) -> None:
        clone.seed(GOOD_2)
        work.seed(self.LATE)
        clone.git("fetch", "-q")
        code, output = self.push(clone)
        assert code == 1
        assert f"is taken by {self.LATE.rpartition('/')[2]} on the remote's default branch" in output
        assert "the next free one is 03" in output

    def test_what_the_remote_branch_has_already_only_warns(self, clone: Work) -> None:
        clone.seed(BAD)
        assert self.push(clone)[0] == 1
        clone.git("update-ref", "refs/remotes/origin/feature", "HEAD")
        assert self.push(clone)[0] == 0
        assert self.push(clone, "another")[0] == 1

    def test_what_the_default_branch_has_already_only_warns(self, clone: Work) -> None:
        clone.seed(BAD)
        clone.git("update-ref", "refs/remotes/origin/main", "HEAD")
        clone.seed(GOOD_2)
        code, output = self.push(clone)
        assert code == 0
        assert "warning AW101" in output

    def test_the_first_push_of_all(self, tmp_path: Path) -> None:
        fresh = Work.create(tmp_path / "fresh", tmp_path)
        fresh.seed(BAD)
        assert self.push(fresh)[0] == 1


class TestOutput:
    """What is printed, and how it ends."""

    def test_json(self, work: Work) -> None:
        work.stage(BAD, ".aiWork/drafts/20260601-01-two-words.md")
        run = work.hook("--json")
        report = json.loads(run.output)
        assert run.code == 1
        assert {key: report[key] for key in ("version", "skipped", "summary")} == {
            "version": 1,
            "skipped": [],
            "summary": {"error": 1, "warning": 1, "information": 0},
        }
        assert [(found["rule"], found["severity"], found["path"]) for found in report["findings"]] == [
            ("AW104", "warning", ".aiWork/drafts/20260601-01-two-words.md"),
            ("AW101", "error", BAD),
        ]
        keys = {"rule", "severity", "path", "line", "column", "end_line", "end_column", "message", "fix"}
        assert set(report["findings"][0]) == keys

    def test_json_of_nothing_found(self, work: Work) -> None:
        assert json.loads(work.hook("--json").output)["findings"] == []

    def test_quiet_prints_errors_only(self, work: Work) -> None:
        work.stage(".aiWork/drafts/20260601-01-two-words.md")
        assert "warning AW104" in work.hook().output
        assert work.hook("--quiet").output == ""
        work.stage(BAD)
        assert "AW104" not in work.hook("--quiet").output
        assert work.hook("--quiet").output.endswith("found 1 error\n")

    def test_files_that_do_not_concern_it(self, work: Work) -> None:
        work.stage(BAD)
        assert work.hook(OTHER)
        assert not work.hook(OTHER, BAD)

    @pytest.mark.parametrize("arguments", [("--nonsense",), ("--root",)])
    def test_bad_usage(self, work: Work, arguments: tuple[str, ...]) -> None:
        run = work.hook(*arguments)
        assert run.code == 2
        assert "usage: rulecore-aiwork-naming" in run.output

    def test_no_repository_cannot_be_checked(self, work: Work, tmp_path: Path) -> None:
        for folder, reason in (("nowhere", "is no folder"), (str(tmp_path), "not a git repository")):
            run = work.hook("--root", folder)
            assert run.code == 2
            assert run.output.startswith("aiwork-naming: could not check: ")
            assert reason in run.output
            assert "--root" in run.output
            assert run.output.count("\n") == 1

    def test_a_bare_repository_cannot_be_checked(self, tmp_path: Path) -> None:
        bare = Work.create(tmp_path / "bare.git", tmp_path, "--bare")
        run = bare.hook()
        assert run.code == 2
        assert "must be run in a work tree" in run.output

    def test_a_damaged_repository_cannot_be_checked(self, work: Work) -> None:
        work.seed(GOOD)
        work.git("update-ref", "refs/remotes/origin/main", "HEAD")
        (work.top / ".git" / "index").write_bytes(b"nonsense")
        run = work.hook()
        assert run.code == 2
        assert "index" in run.output
        assert "Traceback" not in run.output

    def test_no_git_cannot_be_checked(self, work: Work, tmp_path: Path) -> None:
        run = work.hook(PATH=str(tmp_path))
        assert (run.code, run.output) == (
            2,
            "aiwork-naming: could not check: git could not be started: install it and put it on PATH.\n",
        )

    def test_nothing_is_written(self, work: Work) -> None:
        work.seed(GOOD, OTHER)
        work.stage(BAD)
        work.write(OTHER, "touched\n")
        before = {path: path.stat().st_mtime_ns for path in work.top.rglob("*")}
        assert not work.hook()
        assert {path: path.stat().st_mtime_ns for path in work.top.rglob("*")} == before


class TestSettings:
    """project.md and the time zone."""

    def tomorrow_and_one(self, offset: int) -> str:
        """A path dated two days after the day at UTC+`offset`."""
        day = (datetime.now(UTC) + timedelta(hours=offset)).date() + timedelta(days=2)
        return f".aiWork/drafts/{day:%Y%m%d}-01-one-two-three.md"

    def test_a_broken_project_file_is_named_and_does_not_stop_the_check(self, work: Work) -> None:
        work.write("project.md", "---\naiwork: [\n---\n")
        work.stage(GOOD)
        run = work.hook()
        assert run.code == 0
        assert run.output.startswith("warning: project.md:")
        work.stage(BAD)
        assert work.hook().code == 1

    def test_a_wrong_value_is_named(self, work: Work) -> None:
        work.write("project.md", "---\naiwork.default_branch: 7\n---\n")
        work.stage(GOOD)
        run = work.hook()
        assert run.code == 0
        assert "warning: project.md: aiwork.default_branch" in run.output

    def test_the_day_is_that_of_the_readmes_time_zone(self, work: Work) -> None:
        ahead, behind = self.tomorrow_and_one(14), self.tomorrow_and_one(-12)
        assert ahead != behind, "the two zones never share a day"
        work.stage(ahead)
        work.write(".aiWork/readme.md", "---\ntimezone: UTC-12\n---\n")
        assert "AW103" in work.hook().output
        work.git("reset", "-q")
        work.stage(behind)
        assert "AW103" in work.hook().output
        work.write(".aiWork/readme.md", "---\ntimezone: UTC+14\n---\n")
        assert "AW103" not in work.hook().output

    def test_an_unknown_time_zone_is_named(self, work: Work) -> None:
        work.stage(GOOD)
        work.write(".aiWork/readme.md", "---\ntimezone: Mars/Olympus\n---\n")
        run = work.hook()
        assert run.code == 0
        assert "warning: 'Mars/Olympus' is no time zone" in run.output
