"""Line digests, and the ranges in which two of them differ."""

import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from rulecore_sidecar.truth import FileTruth, changed_ranges, lines
from rulecore_sidecar.truth.lines import DigestMemo, digest_lines


def digests(text: str) -> bytes:
    """One line for each character."""
    return b"".join(xxhash.xxh32_digest(line.encode()) for line in text)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\r\nb\rc\n", [b"a", b"b", b"c"]),
        (b"\n\r\n\r", [b"", b"", b""]),
        (b"a\x0bb\x0cc\x1cd\xc2\x85e\xe2\x80\xa8f\n", [b"a\x0bb\x0cc\x1cd\xc2\x85e\xe2\x80\xa8f"]),
        (b"text\0binary", None),
    ],
)
def test_lines(data: bytes, expected: list[bytes] | None) -> None:
    assert digest_lines(data) == (None if expected is None else b"".join(map(xxhash.xxh32_digest, expected)))


@pytest.mark.parametrize(
    ("data", "has_digests"),
    [(b"\n" * 20_000, True), (b"\n" * 20_001, False), (b"x" * 4_194_304, True), (b"x" * 4_194_305, False)],
    ids=["most lines", "too many lines", "most bytes", "too many bytes"],
)
def test_limits(data: bytes, has_digests: bool) -> None:
    assert (digest_lines(data) is not None) == has_digests


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("abc", "abc", ()),
        ("", "", ()),
        ("abc", "aXc", ((2, 2),)),
        ("abc", "Xbc", ((1, 1),)),
        ("abc", "abcd", ((4, 4),)),
        ("abc", "XYabc", ((1, 2),)),
        ("", "abc", ((1, 3),)),
        ("abcd", "ad", ((2, 2),)),  # the line that stands where they were
        ("abcd", "ab", ((2, 2),)),  # at the end: the last line
        ("abcd", "cd", ((1, 1),)),
        ("abc", "", ((1, 1),)),
        ("abcdefgh", "aXcdefYh", ((2, 2), (7, 7))),
        ("abcdefgh", "aXXcdegh", ((2, 3), (7, 7))),
        ("abcdef", "defabc", ((1, 1), (4, 6))),
        ("}a}b}", "}a}X}b}", ((4, 5),)),
        ("abc", "cba", ((1, 3),)),
        ("aXbYc", "a1Xb2Yc", ((2, 2), (5, 5))),
    ],
)
def test_ranges(old: str, new: str, expected: tuple[tuple[int, int], ...]) -> None:
    assert changed_ranges(digests(old), digests(new)) == expected


@given(old=st.text("abcdefgh}", max_size=30), new=st.text("abcdefgh}", max_size=30))
@example(old="aa", new="a")
def test_what_is_not_named_is_unchanged(old: str, new: str) -> None:
    ranges = changed_ranges(digests(old), digests(new))
    assert (ranges == ()) == (old == new)
    named: set[int] = set()
    for start, end in ranges:
        assert 1 <= start <= end <= max(1, len(new))
        assert not {start - 1, *range(start, end + 1)} & named  # sorted, disjoint, not touching
        named.update(range(start, end + 1))
    rest = iter(old)
    assert all(line in rest for number, line in enumerate(new, 1) if number not in named)


@given(
    before=st.text("abc}", max_size=9),
    gone=st.text("def}", max_size=9),
    come=st.text("ghi", min_size=1, max_size=9),
    after=st.text("abc}", max_size=9),
)
def test_new_lines_in_one_place_are_one_range_without_unchanged_ends(
    before: str, gone: str, come: str, after: str
) -> None:
    ((start, end),) = changed_ranges(digests(before + gone + after), digests(before + come + after))
    assert (start, end) == (len(before) + 1, len(before) + len(come))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("ab" * 10_000, "ba" * 10_000, ((1, 1), (20_000, 20_000))),
        ("a" * 20_000, "b" * 20_000, ((1, 20_000),)),
        ("abc" * 6_666, "acb" * 6_666, ((2, 19_995), (19_997, 19_998))),
    ],
)
def test_repeated_lines_do_not_take_long(old: str, new: str, expected: tuple[tuple[int, int], ...]) -> None:
    """Few kinds of lines make a comparison of all pairs explode. Coarse answers are right too."""
    assert changed_ranges(digests(old), digests(new)) == expected


def test_the_memo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MEMO_FILES", 3)
    monkeypatch.setattr(lines, "MEMO_BYTES", 10)
    memo = DigestMemo()
    for name in "abc":
        memo.put(name, None)
    memo.get("a")
    memo.put("d", b"1234")
    assert [name for name in "abcd" if name in memo] == ["a", "c", "d"]
    memo.put("e", b"12345678")
    assert [name for name in "abcde" if name in memo] == ["e"]
    memo.put("e", b"1")
    memo.put("f", b"123456789")
    assert [name for name in "ef" if name in memo] == ["e", "f"]


def test_digests_are_of_exactly_the_view(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("workspace")
    truth = FileTruth(root)
    (root / "file").write_bytes(b"a\nb\n")
    old = truth.view("file")
    (root / "file").write_bytes(b"a\nc\n")
    assert truth.line_digests(old) is None  # not remembered, and no longer there
    new = truth.view("file")
    assert truth.line_digests(new) == digests("ac")
    (root / "file").write_bytes(b"other")
    assert truth.line_digests(new) == digests("ac")  # remembered
    truth.did_open("file", "a\nbuffer\n", 1)
    assert truth.line_digests(truth.view("file")) == digest_lines(b"a\nbuffer\n")
    assert truth.line_digests(truth.view("absent")) is None
    (root / "binary").write_bytes(b"\0")
    assert truth.line_digests(truth.view("binary")) is None
