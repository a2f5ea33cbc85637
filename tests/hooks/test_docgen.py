"""The rules' pages: written from the table, checked in, and compared."""

from pathlib import Path

import pytest

from rulecore_hooks.docgen import main
from rulecore_kernel.aiwork.rules import NAMING_RULES

PROJECT = Path(__file__).parents[2]


def test_the_pages_in_the_repository_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", "--folder", str(PROJECT / "docs" / "aiwork")]) == 0, capsys.readouterr().err


def test_check_finds_a_page_missing_changed_or_left_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "pages"
    assert main(["--check", "--folder", str(folder)]) == 1
    assert main(["--folder", str(folder)]) == 0
    assert {path.stem for path in folder.iterdir()} == {rule.id for rule in NAMING_RULES}
    assert main(["--check", "--folder", str(folder)]) == 0
    (folder / "AW101.md").write_text("changed")
    (folder / "AW199.md").write_text("left over")
    (folder / "README.md").write_text("not a rule's page")
    capsys.readouterr()
    assert main(["--check", "--folder", str(folder)]) == 1
    assert [line.partition(" ")[0].rpartition("/")[2] for line in capsys.readouterr().err.splitlines()] == [
        "AW101.md",
        "AW199.md",
    ]
    assert main(["--folder", str(folder)]) == 0
    assert main(["--check", "--folder", str(folder)]) == 0
    assert (folder / "README.md").exists()
