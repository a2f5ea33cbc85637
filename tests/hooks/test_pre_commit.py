"""The hook as users get it: installed by the real pre-commit from a commit of this project, run by real git."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from filelock import FileLock
from hooks.gitwork import BAD, GOOD, GOOD_2, Run, Work

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PROJECT = Path(__file__).parents[2]
PRE_COMMIT = Path(sys.executable).with_name("pre-commit")
SHIPPED = ("kernel", "hooks", "sidecar", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
STAGES = ("pre-commit", "pre-merge-commit", "pre-push")
OTHER = "src/order.py"


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> tuple[Path, str, Path]:
    """This project's files as one commit, its id, and a home of pre-commit: shared by all workers, installed once."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    folder = shared / "rulecore"
    with FileLock(shared / "rulecore.lock"):
        if not folder.exists():
            copy = Work.create(shared / "rulecore-copy", shared)
            skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
            for name in SHIPPED:
                source = PROJECT / name
                if source.is_dir():
                    shutil.copytree(source, copy.top / name, ignore=skipped)
                else:
                    shutil.copy(source, copy.top / name)
            copy.git("add", "-A")
            copy.git("commit", "-q", "-m", "release")
            copy.top.rename(folder)
    return folder, Work.create(folder, shared).git("rev-parse", "HEAD"), shared / "pre-commit"


@pytest.fixture
def hooked(released: tuple[Path, str, Path]) -> Callable[[Work], Work]:
    """Give a repository a configuration that names the hook, and `pre-commit install` it."""
    source, revision, home = released

    def install(work: Work) -> Work:
        work.environment["PRE_COMMIT_HOME"] = str(home)
        config = {"repos": [{"repo": str(source), "rev": revision, "hooks": [{"id": "aiwork-naming"}]}]}
        work.write(".pre-commit-config.yaml", yaml.safe_dump(config))
        work.git("add", ".pre-commit-config.yaml")
        types = [argument for stage in STAGES for argument in ("--hook-type", stage)]
        installed = work.run(PRE_COMMIT, "install", "--install-hooks", *types)
        assert installed, installed.output
        return work

    return install


@pytest.fixture
def work(tmp_path: Path, hooked: Callable[[Work], Work]) -> Work:
    """A repository with the hook installed by pre-commit and no commit yet."""
    return hooked(Work.create(tmp_path / "work", tmp_path))


def blocked(run: Run, rule: str) -> bool:
    """Whether pre-commit failed with an error of this rule, and without any trouble of ours."""
    return run.code == 1 and f"error {rule} " in run.output and "Traceback" not in run.output


def test_good_names_pass_and_bad_ones_are_blocked(work: Work) -> None:
    work.stage(GOOD)
    first = work.commit()
    assert first, f"the first commit: {first.output}"
    assert "Passed" in first.output
    work.stage(BAD)
    run = work.commit()
    assert blocked(run, "AW101")
    assert f"{BAD}:1:1: error AW101 Order Refund.md is not YYYYMMDD-NN-summary.md" in run.output
    assert "Rename it to " in run.output


def test_the_first_commit_with_a_bad_name_is_blocked(work: Work) -> None:
    work.stage(BAD)
    assert blocked(work.commit(), "AW101")


def test_a_commit_elsewhere_is_not_bothered(work: Work) -> None:
    work.seed(BAD)
    work.stage(OTHER)
    run = work.commit()
    assert run
    assert "AW101" not in run.output
    assert "AW101" not in work.run(PRE_COMMIT, "run", "--verbose", "--files", OTHER).output


def test_a_name_at_the_base_only_warns(work: Work) -> None:
    work.seed(BAD)
    work.stage(GOOD)
    run = work.run(PRE_COMMIT, "run", "--verbose")
    assert run.code == 0
    assert work.commit()
    assert f"{BAD}:1:1: warning AW101" in run.output


def test_a_duplicate_number_is_blocked(work: Work) -> None:
    work.seed(GOOD)
    work.stage(GOOD.replace("order-refund-flow", "another-new-rule"))
    assert blocked(work.commit(), "AW107")


@pytest.mark.parametrize("name", ["订单退款.md", "with blank.md", "new\nline.md"])
def test_any_name_goes_through_pre_commit(work: Work, name: str) -> None:
    work.stage(f".aiWork/drafts/{name}")
    assert blocked(work.commit(), "AW101")


def test_partial_staging(work: Work) -> None:
    work.seed(OTHER)
    work.stage(GOOD)
    work.write(GOOD, "not staged\n")
    work.write(BAD)
    assert work.commit()
    assert (work.top / GOOD).read_text() == "not staged\n"
    assert (work.top / BAD).exists()


def test_a_commit_of_named_files(work: Work) -> None:
    work.seed(GOOD)
    work.stage(BAD)
    work.write(GOOD, "changed\n")
    assert work.commit(GOOD)
    assert blocked(work.commit(BAD), "AW101")


def test_a_case_only_rename(work: Work) -> None:
    work.seed(GOOD)
    work.git("mv", GOOD, GOOD.replace("order", "Order"))
    assert blocked(work.commit(), "AW101")


def test_merges_with_and_without_conflicts(work: Work) -> None:
    taken, ours = (GOOD_2.replace("order-refund", word) for word in ("taken-main", "taken-branch"))
    work.seed(GOOD, OTHER)
    work.git("checkout", "-q", "-b", "feature")
    work.seed(ours)
    work.git("checkout", "-q", "main")
    work.seed(taken)
    work.git("update-ref", "refs/remotes/origin/main", "main")
    work.git("checkout", "-q", "feature")
    clean = work.run("git", "merge", "--no-edit", "main")
    assert blocked(clean, "AW107"), clean.output
    work.git("merge", "--abort")
    work.write(OTHER, "feature\n")
    work.git("commit", "-q", "-a", "--no-verify", "-m", "feature")
    work.git("checkout", "-q", "main")
    work.write(OTHER, "main\n")
    work.git("commit", "-q", "-a", "--no-verify", "-m", "main")
    work.git("update-ref", "refs/remotes/origin/main", "main")
    work.git("checkout", "-q", "feature")
    assert "CONFLICT" in work.run("git", "merge", "main").output
    work.stage(OTHER)
    assert blocked(work.commit(), "AW107")
    work.git("mv", ours, ours.replace("-02-", "-03-"))
    assert work.commit()


def test_a_linked_work_tree_and_a_detached_head(work: Work) -> None:
    work.seed(GOOD)
    work.git("worktree", "add", "-q", "--detach", "../linked")
    linked = work.at("../linked")
    linked.stage(BAD)
    assert blocked(linked.commit(), "AW101")
    linked.git("mv", BAD, GOOD_2)
    assert linked.commit()


def test_a_submodule(work: Work, tmp_path: Path, hooked: Callable[[Work], Work]) -> None:
    library = Work.create(tmp_path / "library", tmp_path)
    library.seed(GOOD)
    work.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.top), "lib")
    assert work.commit()
    inner = hooked(work.at("lib"))
    inner.stage(BAD)
    assert blocked(inner.commit(), "AW101")
    inner.git("mv", BAD, GOOD_2)
    assert inner.commit()


def test_a_push_is_checked_against_the_remote(work: Work, tmp_path: Path) -> None:
    remote = Work.create(tmp_path / "remote.git", tmp_path, "--bare")
    work.git("remote", "add", "origin", str(remote.top))
    work.seed(BAD)
    assert blocked(work.run("git", "push", "-q", "origin", "main"), "AW101"), "the first push of all"
    work.git("push", "-q", "--no-verify", "origin", "main")
    work.git("checkout", "-q", "-b", "feature")
    work.seed(GOOD)
    assert work.run("git", "push", "-q", "origin", "feature")
    work.git("checkout", "-q", "main")
    work.seed(GOOD.replace("order-refund-flow", "came-later-elsewhere"))
    work.git("push", "-q", "--no-verify", "origin", "main")
    work.git("checkout", "-q", "feature")
    work.seed(GOOD_2)
    work.git("branch", "-q", "-m", "renamed")
    assert blocked(work.run("git", "push", "-q", "origin", "renamed"), "AW107")


def test_the_manual_stage_over_all_files(work: Work) -> None:
    work.stage(BAD)
    run = work.run(PRE_COMMIT, "run", "--hook-stage", "manual", "--all-files", "aiwork-naming")
    assert blocked(run, "AW101")


def test_arguments_reach_the_hook(work: Work) -> None:
    config = work.top / ".pre-commit-config.yaml"
    values = yaml.safe_load(config.read_text())
    values["repos"][0]["hooks"][0]["args"] = ["--json"]
    config.write_text(yaml.safe_dump(values))
    work.git("add", config.name)
    work.stage(BAD)
    output = work.commit().output
    assert json.loads(output[output.index("{") : output.rindex("}") + 1])["summary"]["error"] == 1


def test_try_repo(work: Work, released: tuple[Path, str, Path]) -> None:
    source, revision, _ = released
    work.stage(BAD)
    run = work.run(PRE_COMMIT, "try-repo", str(source), "aiwork-naming", "--ref", revision, "--verbose")
    assert blocked(run, "AW101")
