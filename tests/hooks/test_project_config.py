"""project.md's front matter: what is read, and where a finding points."""

import sys
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulecore_hooks.project_config import parse_front_matter, read_project_config
from rulecore_kernel.values import Json


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("# prose only\n", {}),
        ("prose\n---\na: 1\n---\n", {}),
        ("---\n---\n", {}),
        ("---\n# a comment\n---\n", {}),
        ("---\na: 1\n---", {"a": 1}),
        ("---\na: 1\n---\nprose\n---\nb: 2\n---\n", {"a": 1}),
        ("\ufeff---\na: 1\n---\n", {"a": 1}),
        ("---\r\na: 1\r\nb: x\r\n---\r\nprose\r\n", {"a": 1, "b": "x"}),
        ("--- \na: 1\n---  \n", {"a": 1}),
        ("---\na: {b: [1, -2.5, true, null, x, '7', 1e3]}\n---\n",
         {"a": {"b": [1, -2.5, True, None, "x", "7", 1000.0]}}),
        ("---\nday: 2026-06-09\nat: 2026-06-09 10:00:00\n---\n", {"day": "2026-06-09", "at": "2026-06-09 10:00:00"}),
        ("---\na: yes\nb: off\nc: 10:30\nd: 010\ne: 0x1f\nf: 1_000\n---\n",
         {"a": "yes", "b": "off", "c": "10:30", "d": "010", "e": "0x1f", "f": "1_000"}),
        ("---\na: ~\nb:\nc: .inf\n---\n", {"a": None, "b": None, "c": ".inf"}),
        ("---\nn: " + "9" * 6000 + "\n---\n", {"n": "9" * 6000}),
        ("---\na.b: 1\nc: '---'\n---\n", {"a.b": 1, "c": "---"}),
        ("---\n键: 值\n---\n", {"键": "值"}),
    ],
)  # fmt: skip
def test_values(text: str, values: dict[str, Json]) -> None:
    assert parse_front_matter(text, "project.md") == (values, ())


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("---\na: 1\nb: 2\na: 3\n---\n", 4, 1, "the key `a` stands twice, first on line 2"),
        ("---\na:\n  b: 1\n  b: 2\n---\n", 4, 3, "the key `b` stands twice, first on line 3"),
        ("---\na: [1\n---\n", 3, 1, "expected ',' or ']', but got"),
        ("---\na: 1\n b: 2\n---\n", 3, 3, "mapping values are not allowed here"),
        ("---\na: &x 1\nb: *x\n---\n", 2, 4, "anchors are not allowed"),
        ("---\nb: *x\n---\n", 2, 4, "anchors are not allowed"),
        ("---\na: !!python/object:os.system x\n---\n", 2, 4, "tags are not allowed"),
        ("---\na: !x y\n---\n", 2, 4, "tags are not allowed"),
        ("---\n1: a\n---\n", 2, 1, "a key has to be text"),
        ("---\n? [a]\n: b\n---\n", 2, 3, "a key has to be text"),
        ("---\n- a\n---\n", 2, 1, "not a mapping"),
        ("---\njust text\n---\n", 2, 1, "not a mapping"),
        ("---\na: 1\n", 1, 1, "no closing `---` line"),
        ("\n\n---\na: 1\n---\n", 3, 1, "has to start on the first line"),
        ("---\na: \x00\n---\n", 2, 4, "U+0000 is not allowed"),
        ("---\na: " + "[" * 5000 + "\n---\n", 2, 1, "could not be read"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, line: int, column: int, message: str) -> None:
    values, (finding,) = parse_front_matter(text, "project.md")
    assert values == {}
    assert message in finding.message
    assert (finding.path, finding.line) == ("project.md", line)
    assert finding.column == column
    assert str(finding) == f"project.md:{finding.line}:{finding.column}: {finding.message}"


@given(st.text(alphabet="ab:-[]{}&*!?#'\"|>%@`, \n\t\r\x00\x85\ufeff0é", max_size=60))
def test_no_front_matter_raises(text: str) -> None:
    values, findings = parse_front_matter(f"---\n{text}\n---\n", "project.md")
    assert values == {} or findings == ()
    assert all(finding.line >= 1 and finding.column >= 1 for finding in findings)


def test_the_first_place_with_a_front_matter_counts(tmp_path: Path) -> None:
    assert read_project_config(tmp_path) == ({}, ())
    (tmp_path / ".clinerules").mkdir()
    (tmp_path / ".clinerules" / "project.md").write_text("---\na: 1\n---\n")
    assert read_project_config(tmp_path) == ({"a": 1}, ())
    (tmp_path / "project.md").write_text("prose only\n")
    assert read_project_config(tmp_path) == ({"a": 1}, ())
    (tmp_path / "project.md").write_text("---\nb: 2\n---\n")
    assert read_project_config(tmp_path) == ({"b": 2}, ())


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "project.md").mkdir()
    values, (finding,) = read_project_config(tmp_path)
    assert values == {}
    assert (finding.path, finding.line, finding.column) == ("project.md", 1, 1)
    assert finding.message.startswith("could not be read")


def test_a_file_that_is_no_utf8_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "project.md").write_bytes(b"---\na: caf\xe9\n---\n")
    _, (finding,) = read_project_config(tmp_path)
    assert (finding.line, finding.column) == (2, 7)
    assert "UTF-8" in finding.message


def test_yaml_is_imported_with_the_first_front_matter() -> None:
    code = (
        "import sys\nfrom rulecore_hooks.project_config import parse_front_matter as parse\n"
        "parse('prose', 'p'); assert 'yaml' not in sys.modules\n"
        "parse('---\\na: 1\\n---\\n', 'p'); assert 'yaml' in sys.modules\n"
    )
    run([sys.executable, "-c", code], check=True)
