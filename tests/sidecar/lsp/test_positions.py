"""Units, characters and bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind

from rulecore_sidecar.lsp.documents import split_lines
from rulecore_sidecar.lsp.positions import ByteIndex, index_at, to_bytes, units_before

UTF8, UTF16, UTF32 = PositionEncodingKind.Utf8, PositionEncodingKind.Utf16, PositionEncodingKind.Utf32
LINES = st.text(alphabet="aé汉😀\f\x85\u2028\ud800", max_size=12)
TEXTS = st.text(alphabet="aé汉😀\f\x85\u2028\r\n", max_size=20)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [(UTF8, [0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3]), (UTF16, [0, 1, 2, 2, 3]), (UTF32, [0, 1, 2, 3, 3])],
)
def test_units_of_a_line_with_wide_characters(encoding: str, expected: list[int]) -> None:
    assert [index_at("é汉😀", units, encoding) for units in range(len(expected))] == expected


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
@given(line=LINES, index=st.integers(0, 12))
def test_there_and_back(encoding: PositionEncodingKind, line: str, index: int) -> None:
    index = min(index, len(line))
    if line[:index].endswith("\ud800") and encoding == UTF16:
        return  # half a pair may be the start of the next character
    assert index_at(line, units_before(line, index, encoding), encoding) == index


@given(line=LINES, units=st.integers(0, 2**31 - 1))
@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
def test_never_outside(encoding: PositionEncodingKind, line: str, units: int) -> None:
    assert 0 <= index_at(line, units, encoding) <= len(line)


def test_an_unknown_encoding_counts_characters() -> None:
    assert index_at("é汉😀", 2, "utf-7") == 2


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
@given(text=TEXTS, at=st.integers(0, 20))
def test_bytes_become_positions(encoding: PositionEncodingKind, text: str, at: int) -> None:
    head = text[:at]
    if head.endswith("\r") and text[at : at + 1] == "\n":
        return  # inside a line end
    lines = split_lines(head)
    expected = Position(len(lines) - 1, units_before(lines[-1], len(lines[-1]), encoding))
    assert ByteIndex(split_lines(text), encoding).position(len(to_bytes(head))) == expected


def test_offsets_behind_the_end_are_the_end() -> None:
    assert ByteIndex(["ab\n", "c"], UTF16).position(99) == Position(1, 1)
