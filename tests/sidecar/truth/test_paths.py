"""I7: one key for one file, and nothing that leaves the root has one."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulecore_sidecar.truth import FileTruth, Kind
from rulecore_sidecar.truth.paths import Paths

PARTS = ["a", "b", "..", ".", "", "link_in", "link_out", "loop", "ä", "x" * 300]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``a/b/file``, links to ``a``, out of the root and to themselves, and a neighbour with a similar name."""
    root = tmp_path_factory.mktemp("paths") / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("text")
    (root.parent / "root-neighbour").mkdir()
    (root / "link_in").symlink_to("a")
    (root / "link_out").symlink_to(root.parent)
    (root / "loop").symlink_to("loop")
    (root / "a" / "to_file").symlink_to("b/file")
    return root


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("a/b/file", "a/b/file"),
        ("{root}/a/b/file", "a/b/file"),
        ("{root}//a/./b/../b/file", "a/b/file"),
        ("{root}/../{name}/a", "a"),
        ("{root}", "."),
        (".", "."),
        ("a/", "a"),
        ("a/b/..", "a"),
        ("new/folder/file", "new/folder/file"),
        ("a/b/file/below-a-file", "a/b/file/below-a-file"),
        ("link_in/b/file", "a/b/file"),
        ("link_in/../link_in/b", "a/b"),
        # the last component stays what it is
        ("link_in", "link_in"),
        ("link_out", "link_out"),
        ("a/to_file", "a/to_file"),
        ("loop", "loop"),
        # the physical parent of a link's target is not the lexical one
        ("link_out/..", None),
        ("link_out/x", None),
        ("link_out/root/a/b/file", "a/b/file"),
        ("loop/x", None),
        ("..", None),
        ("../root-neighbour/x", None),
        ("{root}-neighbour/x", None),
        ("/", None),
        ("/etc/passwd", None),
        ("a/../../x", None),
        ("nul\0byte", None),
    ],
)
def test_key(tree: Path, path: str, key: str | None) -> None:
    place = Paths(tree).locate(path.replace("{root}", str(tree)).replace("{name}", tree.name))
    assert (place.key if place.inside else None) == key
    if key is not None:
        assert Path(place.path) == tree / key


@pytest.mark.skipif(os.name == "nt", reason="a separator there")
def test_a_backslash_is_part_of_a_name(root: Path) -> None:
    (root / "a\\b").write_text("text")
    assert FileTruth(root).view("a\\b").kind is Kind.FILE


@given(parts=st.lists(st.sampled_from(PARTS), max_size=6), absolute=st.booleans())
def test_keys_are_fixed_points_inside_the_root(tree: Path, parts: list[str], absolute: bool) -> None:
    paths = Paths(tree)
    path = "/".join(parts)
    place = paths.locate(f"{tree}/{path}" if absolute else path)
    if place.inside:
        assert paths.locate(place.key) == place
        assert Path(os.path.realpath(Path(place.path).parent)).is_relative_to(tree if place.key != "." else tree.parent)
        assert not {"..", ""} & set(place.key.split("/"))


@given(path=st.text(st.characters(codec=None), max_size=40))
def test_no_text_makes_an_exception(tree: Path, path: str) -> None:
    truth = FileTruth(tree)
    truth.touched(path)
    view = truth.view(path)
    assert view.hash is None or view.kind in (Kind.FILE, Kind.SYMLINK)


def test_a_name_that_is_too_long_is_unreadable(truth: FileTruth) -> None:
    assert truth.view("x" * 5000).kind is Kind.UNREADABLE
    assert truth.view("a/" * 5000 + "x").kind in (Kind.UNREADABLE, Kind.OUTSIDE)


def test_a_folder_that_becomes_a_link_out_of_the_root_is_seen_at_once(root: Path, truth: FileTruth) -> None:
    (root / "a").mkdir()
    (root / "a" / "file").write_text("inside")
    outside = root.parent / "elsewhere"
    outside.mkdir()
    (outside / "file").write_text("secret")
    assert truth.view("a/file").kind is Kind.FILE
    (root / "a").rename(root / "b")
    (root / "a").symlink_to(outside)
    assert truth.view("a/file").kind is Kind.OUTSIDE
    assert truth.view("a/file").hash is None
    assert truth.sweep().changed == ("a/file", "a", "b/file")
    assert sorted(truth.snapshot()) == ["a", "b/file"]


def test_a_root_that_becomes_a_link_is_not_followed(root: Path, truth: FileTruth) -> None:
    (root / "file").write_text("text")
    root.rename(root.parent / "moved")
    root.symlink_to("moved")
    assert truth.view("file").kind is Kind.OUTSIDE


def test_this_file_system_is_probed(root: Path) -> None:
    (root / "Name").write_text("text")
    assert Paths(root).case_insensitive is (root / "nAME").exists()


def test_a_file_system_that_answers_to_other_cases_is_found_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "name").write_text("text")
    lstat = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: lstat(str(path).replace("NAME", "name")))
    assert Paths(root).case_insensitive


def test_case_insensitive_keys(root: Path) -> None:
    (root / "Src").mkdir()
    (root / "Src" / "Ångström.PY").write_text("text")
    truth = FileTruth(root, case_insensitive=True)
    assert truth.sweep().changed == ("src/ångström.py",)
    for spelling in ("src/ångström.py", "SRC/ÅNGSTRÖM.py", "Src/A\u030angstro\u0308m.PY"):
        view = truth.view(spelling)
        assert (view.key, view.kind) == ("src/ångström.py", Kind.FILE)
    assert truth.paths.spelling(truth.paths.locate("src/ångström.py")) == "Src/Ångström.PY"
    (root / "Src" / "Ångström.PY").rename(root / "Src" / "ångström.py")
    truth.sweep()
    assert truth.paths.spelling(truth.paths.locate("src/ångström.py")) == "Src/ångström.py"
