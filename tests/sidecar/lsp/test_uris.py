"""URIs of files in the spellings of editors."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulecore_sidecar.lsp.uris import path_text, scheme_of, to_path


@pytest.mark.parametrize(
    ("uri", "posix", "windows"),
    [
        ("file:///home/u/a.py", "/home/u/a.py", None),
        ("file:///home/u/a%20b%23c%3F.py", "/home/u/a b#c?.py", None),
        ("file:///home/%E6%B1%89/%C3%A9.py", "/home/汉/é.py", None),
        ("file:///home/u/bad%FF.py", "/home/u/bad\udcff.py", None),
        ("file:///home/u/a;b=c.py", "/home/u/a;b=c.py", None),
        ("file:///home/u/a#b.py", "/home/u/a#b.py", None),
        ("file:///home/u/a?b.py", "/home/u/a?b.py", None),
        ("file://localhost/a.py", "/a.py", None),
        ("file:/a.py", "/a.py", None),
        ("FILE:///a.py", "/a.py", None),
        ("file:///c%3A/Users/u/a.py", "/c:/Users/u/a.py", "c:\\Users\\u\\a.py"),
        ("file:///C:/Users/%E6%B1%89.py", "/C:/Users/汉.py", "C:\\Users\\汉.py"),
        ("file://server/share/a.py", None, "\\\\server\\share\\a.py"),
        ("file://wsl%24/Ubuntu/a.py", None, "\\\\wsl$\\Ubuntu\\a.py"),
        ("file:///a%00b", None, None),
        ("file://[bad", None, None),
        ("file:", None, None),
        ("untitled:Untitled-1", None, None),
        ("git:/a.py?x", None, None),
        ("vscode-notebook-cell:/a.ipynb#x", None, None),
        ("/a.py", None, None),
        ("", None, None),
    ],
)
def test_paths(uri: str, posix: str | None, windows: str | None) -> None:
    assert path_text(uri, windows=False) == posix
    assert path_text(uri, windows=True) == windows


@pytest.mark.skipif(os.name != "posix", reason="names of POSIX")
@given(
    st.binary(min_size=1, max_size=20).filter(lambda name: not set(name) & set(b"\0/") and name not in (b".", b".."))
)
def test_every_name_survives(name: bytes) -> None:
    path = Path("/w") / os.fsdecode(name)
    assert to_path(path.as_uri()) == path


@given(st.text(max_size=30))
def test_no_text_raises(text: str) -> None:
    to_path("file:" + text)
    path_text("file://" + text, windows=True)
    scheme_of(text)
