"""One hook, one id: the manifest, the module, the console script, the README's row and the test file agree."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from pre_commit.clientlib import load_manifest

PROJECT = Path(__file__).parents[2]
MANIFEST = PROJECT / ".pre-commit-hooks.yaml"
HOOKS = {hook["id"]: hook for hook in yaml.safe_load(MANIFEST.read_text("utf-8"))}


def module_of(hook: str) -> str:
    return hook.replace("-", "_")


def test_the_manifest_is_what_pre_commit_wants() -> None:
    assert [hook["id"] for hook in load_manifest(str(MANIFEST))] == list(HOOKS)


@pytest.mark.parametrize("hook", HOOKS)
def test_module_script_and_test_of_each_hook(hook: str) -> None:
    scripts = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    module = importlib.import_module(f"rulecore_hooks.{module_of(hook)}")
    assert hook == module.NAME
    assert callable(module.main)
    assert scripts[f"rulecore-{hook}"] == f"rulecore_hooks.{module_of(hook)}:entry"
    assert HOOKS[hook]["entry"].split()[0] == f"rulecore-{hook}"
    assert (Path(__file__).parent / f"test_{module_of(hook)}.py").is_file()


def test_no_script_without_a_hook() -> None:
    scripts = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert {name for name, target in scripts.items() if "rulecore_hooks" in target} == {
        f"rulecore-{hook}" for hook in HOOKS
    }


def test_the_readme_has_a_row_for_each_hook_and_no_other() -> None:
    readme = (PROJECT / "hooks" / "README.md").read_text("utf-8").partition("## Hooks")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| ([a-z, -]+) \|", readme, re.MULTILINE)
    assert {name: stages.split(", ") for name, stages in rows} == {hook: HOOKS[hook]["stages"] for hook in HOOKS}
