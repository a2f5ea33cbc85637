"""``rulecore kernel list | explain | eval`` as a person calls them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rulecore_kernel.rules.registry import RULES
from rulecore_sidecar.docgen import rule_page
from rulecore_sidecar.kernel_cmd import app

RUN = CliRunner()


def test_list_has_a_row_for_each_rule() -> None:
    done = RUN.invoke(app, ["list"])
    assert done.exit_code == 0
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["name", "kind", "category", "layer", "scope", "provides"]
    assert [row.split()[:5] for row in rows] == [[r.name, r.kind, r.category, r.layer, r.scope] for r in RULES]


def test_list_as_json() -> None:
    rows = json.loads(RUN.invoke(app, ["list", "--json"]).stdout)
    row = next(row for row in rows if row["name"] == "ReadStrategy")
    assert row["parameters"] == ["read.small_bytes", "read.large_bytes"]
    assert row["args"][0] == {
        "name": "size",
        "allowed": "an integer ≥ 0",
        "required": False,
        "nullable": False,
        "meaning": "bytes",
    }
    assert [row["name"] for row in rows] == [rule.name for rule in RULES]


@pytest.mark.parametrize(
    ("options", "inactive"),
    [
        (["--phase", "P_plan"], set()),
        (["--phase", "P_exec_core", "--scope", "loop_body"],
         {"ConfigInjection", "InternalConsistency", "ExternalConsistency", "HistoricalIntegrity"}),
        (["--scope", "procedure"], set()),
    ],
)  # fmt: skip
def test_list_shows_what_is_active(options: list[str], inactive: set[str]) -> None:
    rows = json.loads(RUN.invoke(app, ["list", "--json", *options]).stdout)
    assert {row["name"] for row in rows} == {rule.name for rule in RULES} - inactive


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["list", "--phase", "P_exec_cor"], "did you mean P_exec_core?"),
        (["list", "--scope", "loop"], "loop_body"),
        (["explain", "onerror"], "did you mean OnError?"),
        (["explain", "Nothing"], "known: ConfigInjection"),
    ],
)
def test_a_name_that_is_not_known_is_answered_with_the_nearest(args: list[str], hint: str) -> None:
    done = RUN.invoke(app, args)
    assert done.exit_code == 2
    assert hint in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_explain_prints_the_rules_page(rule: object) -> None:
    (known,) = [known for known in RULES if known is rule]
    done = RUN.invoke(app, ["explain", known.name])
    assert done.exit_code == 0
    assert done.stdout == rule_page(known)


def test_eval_takes_parameters_from_project_md_and_says_what_is_wrong_there(tmp_path: Path) -> None:
    text = "---\nread:\n  small_bytes: 10\n  large_bytes: big\n---\n"
    (tmp_path / "project.md").write_text(text, encoding="utf-8")
    requests = [
        {"rule": "ReadStrategy", "args": {"size": 20, "validity": "valid"}},
        {"rule": "ReadStrategy", "args": {"size": 20, "validity": "valid"}, "config": {"read.small_bytes": 30}},
    ]
    done = subprocess.run(
        [sys.executable, "-I", "-c", "from rulecore_sidecar.kernel_cmd import app; app()", "eval", "--root", tmp_path],
        input="".join(f"{json.dumps(request)}\n" for request in requests),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0
    assert [json.loads(line)["decision"] for line in done.stdout.splitlines()] == ["process", "direct"]
    assert "project.md: read.large_bytes" in done.stderr
    assert "Traceback" not in done.stderr
