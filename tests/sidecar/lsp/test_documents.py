"""Our text is the client's text, whatever is typed and wherever."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import PositionCodec

from rulecore_sidecar.lsp.documents import Document, EditorWorkspace, split_lines

UNITS: dict[types.PositionEncodingKind, Callable[[str], int]] = {
    types.PositionEncodingKind.Utf8: lambda character: len(character.encode()),
    types.PositionEncodingKind.Utf16: lambda character: 1 + (ord(character) > 0xFFFF),
    types.PositionEncodingKind.Utf32: lambda character: 1,
}
UTF16 = types.PositionEncodingKind.Utf16
EXOTIC = [
    "\r",
    "\n",
    "\r\n",
    "\f",
    "\v",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2029",
    "a",
    "é",
    "汉",
    "😀",
    "\t",
    "\0",
    "\ufeff",
]
TEXTS = st.lists(st.sampled_from(EXOTIC), max_size=12).map("".join)
PLACES = st.tuples(st.integers(0, 12), st.one_of(st.integers(0, 14), st.just(2**31 - 1)))
EDITS = st.one_of(st.tuples(PLACES, PLACES, TEXTS), TEXTS)
URI = "file:///w/a.py"


def offset(text: str, line: int, units: int, encoding: types.PositionEncodingKind) -> int:
    """Where an editor puts a position: written down from the specification, one character at a time."""
    at = 0
    for _ in range(line):
        while at < len(text) and text[at] not in "\r\n":
            at += 1
        if at == len(text):
            return at
        at += 2 if text.startswith("\r\n", at) else 1
    while at < len(text) and text[at] not in "\r\n":
        units -= UNITS[encoding](text[at])
        if units < 0:
            break
        at += 1
    return at


def document(text: str, encoding: types.PositionEncodingKind = UTF16) -> Document:
    return Document(URI, text, 1, "python", PositionCodec(encoding))


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(types.Range(types.Position(*start), types.Position(*end)), text)


@pytest.mark.parametrize("encoding", UNITS)
@given(text=TEXTS, edits=st.lists(EDITS, max_size=10))
def test_the_text_is_the_clients_after_any_edits(
    encoding: types.PositionEncodingKind, text: str, edits: list[str | tuple[tuple[int, int], tuple[int, int], str]]
) -> None:
    ours = document(text, encoding)
    for edit in edits:
        if isinstance(edit, str):
            text = edit
            ours.apply_change(types.TextDocumentContentChangeWholeDocument(edit))
        else:
            start, end = sorted(offset(text, *place, encoding) for place in edit[:2])
            text = text[:start] + edit[2] + text[end:]
            ours.apply_change(change(*edit))
        assert ours.source == text
        assert list(ours.lines) == split_lines(text)


@given(TEXTS)
def test_lines_end_at_line_ends_only(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert not lines[-1].endswith(("\r", "\n"))
    for line in lines[:-1]:
        assert line.endswith(("\r", "\n"))
        assert not set(line.removesuffix("\n").removesuffix("\r")) & {"\r", "\n"}
    assert all(not (a.endswith("\r") and b.startswith("\n")) for a, b in pairwise(lines))


@pytest.mark.parametrize(
    ("text", "edit", "expected"),
    [
        ("a\rb", ((1, 0), (1, 0), "\n"), ["a\r\n", "b"]),  # two line ends become one
        ("a\r\nb", ((1, 0), (1, 0), "\r"), ["a\r\n", "\r", "b"]),
        ("a\nb", ((0, 1), (0, 1), "\r"), ["a\r\n", "b"]),
        ("a\r\nb\r\n", ((0, 1), (1, 0), ""), ["ab\r\n", ""]),
        ("a\r\nb", ((0, 99), (0, 99), "!"), ["a!\r\n", "b"]),  # a column behind the end is before the line end
        ("a\n", ((7, 3), (9, 9), "z"), ["a\n", "z"]),
        ("", ((0, 0), (5, 5), "x\n"), ["x\n", ""]),
        ("ab", ((0, 2), (0, 0), "z"), ["z"]),  # a range that is the wrong way round
        ("x😀y", ((0, 2), (0, 3), ""), ["xy"]),  # from inside a surrogate pair
    ],
)
def test_edges(text: str, edit: tuple[tuple[int, int], tuple[int, int], str], expected: list[str]) -> None:
    ours = document(text)
    ours.apply_change(change(*edit))
    assert list(ours.lines) == expected


def workspace(text: str = "old", version: int = 5) -> EditorWorkspace:
    space = EditorWorkspace(None)
    space.put_text_document(types.TextDocumentItem(URI, "python", version, text))
    return space


@pytest.mark.parametrize(("version", "expected"), [(6, ("new", 6)), (9, ("new", 9)), (5, ("new", 5)), (4, ("old", 5))])
def test_changes_older_than_the_text_are_ignored(version: int, expected: tuple[str, int]) -> None:
    space = workspace()
    identifier = types.VersionedTextDocumentIdentifier(version=version, uri=URI)
    space.update_text_document(identifier, types.TextDocumentContentChangeWholeDocument("new"))
    found = space.open_document(URI)
    assert found is not None
    assert (found.source, found.version) == expected


def test_changes_of_a_document_that_is_not_open_are_ignored() -> None:
    space = workspace()
    other = types.VersionedTextDocumentIdentifier(version=1, uri="file:///w/other.py")
    space.update_text_document(other, types.TextDocumentContentChangeWholeDocument("new"))
    assert [doc.uri for doc in space.open_documents()] == [URI]


@given(st.lists(st.tuples(st.integers(0, 5), TEXTS), max_size=10))
def test_the_version_never_falls(changes: list[tuple[int, str]]) -> None:
    space, highest, text = workspace("", 0), 0, ""
    for version, new in changes:
        identifier = types.VersionedTextDocumentIdentifier(version=version, uri=URI)
        space.update_text_document(identifier, types.TextDocumentContentChangeWholeDocument(new))
        if version >= highest:
            highest, text = version, new
    found = space.open_document(URI)
    assert found is not None
    assert (found.version, found.source) == (highest, text)


def test_two_spellings_of_a_uri_are_one_document() -> None:
    space = EditorWorkspace(None)
    space.put_text_document(types.TextDocumentItem("file:///c%3A/a%20b.py", "python", 1, "x"))
    assert space.open_document("file:///c:/a b.py") is not None
