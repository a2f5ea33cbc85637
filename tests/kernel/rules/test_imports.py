"""Imports are a budget: hooks and guards start with the rule library."""

import subprocess
import sys

HEAVY = ("asyncio", "dataclasses", "difflib", "inspect", "logging", "pathlib", "subprocess", "yaml", "tree_sitter")


def test_the_rule_library_imports_nothing_heavy() -> None:
    probe = (
        "import sys; before = set(sys.modules); import rulecore_kernel.rules.evaluate, rulecore_kernel.state.merge;"
        f"print([name for name in {HEAVY} if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
