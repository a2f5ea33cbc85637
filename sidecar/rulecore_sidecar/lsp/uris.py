"""URIs of documents and paths of files.

Source: spec sidecar.md section 3; RFC 8089.
"""

import os
import re
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

_DRIVE = re.compile(r"/[A-Za-z]:")


def scheme_of(uri: str) -> str:
    """The part before the first colon in lower case, empty when there is none."""
    before, colon, _ = uri.partition(":")
    return before.lower() if colon else ""


def to_path(uri: str) -> Path | None:
    """The file that ``uri`` names, or None when it names no file of this system."""
    text = path_text(uri, os.name == "nt")
    return None if text is None else Path(text)


def path_text(uri: str, windows: bool) -> str | None:
    """The text of the absolute path of a ``file:`` URI in the spelling of Windows or POSIX, or None.

    On POSIX every byte of a name survives, and a host other than ``localhost`` names no file.
    """
    if scheme_of(uri) != "file":
        return None
    try:
        parts = urlsplit(uri, allow_fragments=False)
    except ValueError:
        return None
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    host = "" if parts.netloc == "localhost" else parts.netloc
    if windows:
        return _windows_text(host, unquote(path))
    text = os.fsdecode(unquote_to_bytes(path))
    return text if text.startswith("/") and not host and "\0" not in text else None


def _windows_text(host: str, path: str) -> str | None:
    if host:
        return f"//{unquote(host)}{path}".replace("/", "\\")
    if not _DRIVE.match(path):
        return None
    return path[1:].replace("/", "\\")
