"""No bytes raise: random ones and mutated real files; the caps; an edited text reads as a fresh one."""

import ast
import json
import tokenize
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulecore_kernel.analysis import (
    MAX_BYTES,
    MAX_LINE_BYTES,
    MAX_LINES,
    Config,
    Document,
    analyse,
)

SMALL = Config(max_methods=1, god_methods=2)
REAL = [Path(module.__file__ or "").read_bytes() for module in (ast, json, tokenize)]
PIECES = st.sampled_from(
    [
        b"# TODO: a\n",
        b"# rulecore: allow todoFIXME",
        b"class A:\n    def a(self): return 1\n",
        b"    def b(self): ...\n",
        b"@overload\n",
        b'"""',
        b"'",
        b"f'{",
        b"(",
        b")",
        b"\\",
        b"\n",
        b"\r",
        b"    ",
        b"\xff\xfe",
        b"\x00",
        "订单".encode(),
        b"",
    ]
)
TEXTS = st.one_of(st.binary(max_size=400), st.lists(PIECES, max_size=40).map(b"".join), st.sampled_from(REAL))
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 60), PIECES), max_size=12)


def assert_sound(source: bytes) -> None:
    findings = analyse(source, "python", config=SMALL)
    assert list(findings) == sorted(findings, key=lambda f: (f.start_byte, f.rule))
    for finding in findings:
        assert 0 <= finding.start_byte < finding.end_byte <= len(source)
        for offset, point in ((finding.start_byte, finding.start), (finding.end_byte, finding.end)):
            before = source[:offset]
            assert point == (before.count(b"\n"), len(before.rpartition(b"\n")[2]))


@given(TEXTS)
def test_any_bytes_have_sound_findings(source: bytes) -> None:
    assert_sound(source)


@given(st.sampled_from(REAL), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=60)
def test_a_truncated_real_file_has_sound_findings(source: bytes, start: float, end: float) -> None:
    assert_sound(source[int(start * len(source)) : int(end * len(source))])


@given(TEXTS, EDITS)
@settings(max_examples=150, deadline=None)
def test_an_edited_document_reads_as_a_fresh_one(source: bytes, edits: list[tuple[float, int, bytes]]) -> None:
    document = Document(source, "python", SMALL)
    for count, (place, removed, text) in enumerate(edits):
        start = int(place * len(source))
        end = min(start + removed, len(source))
        source = source[:start] + text + source[end:]
        document.edit(start, end, text)
        assert document.source == source
        if count % 2:  # two edits between two looks, now and then
            assert document.findings() == analyse(source, "python", config=SMALL)
    assert document.findings() == analyse(source, "python", config=SMALL)


@given(TEXTS, TEXTS)
@settings(max_examples=60, deadline=None)
def test_a_replaced_document_reads_as_a_fresh_one(before: bytes, after: bytes) -> None:
    document = Document(before, "python", SMALL)
    document.findings()
    document.replace(after)
    assert document.source == after
    assert document.findings() == analyse(after, "python", config=SMALL)


def test_findings_are_kept_until_the_next_edit() -> None:
    document = Document(b"# TODO: a\n", "python")
    first = document.findings()
    assert document.findings() is first
    document.edit(0, 0, b"\n")
    assert [finding.start.row for finding in document.findings()] == [1]


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (2, 1), (0, 99)])
def test_an_edit_outside_the_text_is_refused(start: int, end: int) -> None:
    document = Document(b"# TODO: a\n", "python")
    with pytest.raises(ValueError, match="are not in a text of 10 bytes"):
        document.edit(start, end, b"")
    assert len(document.findings()) == 1


TODO = b"# TODO: a\n"


@pytest.mark.parametrize(
    ("at_cap", "over", "limit"),
    [
        (TODO + b"\n" * (MAX_LINES - 2) + b"x", b"\nx", "20,000 lines"),
        (TODO + b"#" * MAX_LINE_BYTES, b"#", "51,200 bytes in a line"),
        (TODO + (b"#" * 1023 + b"\n") * 1023 + b"#" * (1024 - len(TODO)), b"#", "1,048,576 bytes"),
    ],
)
def test_a_file_over_a_cap_is_skipped_and_says_so(at_cap: bytes, over: bytes, limit: str) -> None:
    assert [f.rule for f in analyse(at_cap, "python")] == ["todoFIXME"]
    (finding,) = analyse(at_cap + over, "python")
    assert (finding.rule, finding.severity, finding.data) == ("skipped", "information", {"limit": limit})
    assert finding.message.startswith("skipped (size)")


def test_a_document_over_a_cap_comes_back_when_it_shrinks() -> None:
    document = Document(TODO, "python")
    document.findings()
    document.edit(len(TODO), len(TODO), b"\n" * MAX_LINES)
    assert [f.rule for f in document.findings()] == ["skipped"]
    document.replace(TODO)
    assert [f.rule for f in document.findings()] == ["todoFIXME"]
    assert len(document.source) < MAX_BYTES


def test_an_unknown_language_has_no_findings() -> None:
    assert analyse(TODO, "cobol") == ()
    assert Document(TODO, "cobol").findings() == ()


@pytest.mark.parametrize("head", [b"# @generated by a tool\n", b"# Code generated by x. DO NOT EDIT.\n"])
def test_generated_code_has_no_findings(head: bytes) -> None:
    assert analyse(head + TODO, "python") == ()
    assert analyse(b"x = '@generated'\n" + TODO, "python") != ()
    assert analyse(b"\n" * 20 + head + TODO, "python") != ()
