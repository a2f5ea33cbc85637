"""Generated pages are what the registries say."""

from pathlib import Path

import pytest

from rulecore_kernel.rules.registry import RULES
from rulecore_kernel.state.parameters import PARAMETERS
from rulecore_kernel.state.variables import VARIABLES
from rulecore_sidecar.docgen import main, pages

DOCS = Path(__file__).parents[3] / "docs"


def test_the_projects_pages_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", str(DOCS)]) == 0, capsys.readouterr().out


def test_what_is_written_is_fresh_and_what_is_edited_is_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path), "--check"]) == 1
    assert main([str(tmp_path)]) == 0
    assert main([str(tmp_path), "--check"]) == 0
    capsys.readouterr()
    page = tmp_path / "rules/OnError.md"
    page.write_text(page.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    assert main([str(tmp_path), "--check"]) == 1
    assert "OnError.md: stale" in capsys.readouterr().out
    assert main([str(tmp_path)]) == 0
    (tmp_path / "rules/Gone.md").write_text("old", encoding="utf-8")
    assert main([str(tmp_path), "--check"]) == 1
    assert "Gone.md: stale" in capsys.readouterr().out
    assert main([str(tmp_path)]) == 0
    assert main([str(tmp_path), "--check"]) == 0
    assert not (tmp_path / "rules/Gone.md").exists()


def test_a_folder_that_is_not_there_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_every_row_is_on_a_page() -> None:
    text = pages()
    assert all(f"| `{row.key}`" in text["parameters.md"] for row in PARAMETERS)
    assert all(f"| `{row.name}` |" in text["state.md"] for row in VARIABLES)
    assert all(f"[{rule.name}]({rule.name}.md)" in text["rules/README.md"] for rule in RULES)


def test_a_table_is_printed_row_by_row() -> None:
    page = pages()["rules/ReadStrategy.md"]
    assert "| validity | size | decision |\n| --- | --- | --- |\n| `invalid` | any | `recover_first` |" in page
    assert "| `size` | an integer ≥ 0 | when a row needs it | bytes |" in page
