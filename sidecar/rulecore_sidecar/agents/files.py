"""Files that are generated into somebody's repository: written whole or not at all, and never through a way out of it.

Source: spec agents.md section 3.
"""

import hashlib
import os
import stat
import tempfile
from pathlib import Path


class RefusedError(Exception):
    """A change that must not be made; the text says what, where and what to do."""


def place(root: Path, name: str) -> Path:
    """The path ``root``/``name`` (``/``-separated).

    Raises :class:`RefusedError` when ``name`` is no plain relative path, or a folder on the way is a symbolic link that
    leaves ``root`` or is no folder.
    """
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts):
        raise RefusedError(f"{name!r} is not a path inside the workspace")
    top = os.path.realpath(root)
    folder = root
    for part in parts[:-1]:
        folder = folder / part
        if folder.is_symlink() and os.path.commonpath([top, os.path.realpath(folder)]) != top:
            raise RefusedError(f"{folder} is a symbolic link that leaves {root}; nothing is written through it")
        if folder.exists() and not folder.is_dir():
            raise RefusedError(f"{folder} is a file, but a folder of that name is needed; move it away")
    return folder / parts[-1]


def read(path: Path) -> bytes | None:
    """The bytes of a regular file, None when there is nothing of that name.

    Raises :class:`RefusedError` for anything else: a symbolic link, a folder, a device.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise RefusedError(f"{path} is not a regular file; move it away")
    return path.read_bytes()


def write(path: Path, data: bytes, mode: int) -> list[Path]:
    """Put ``data`` at ``path`` in one step; returns the folders that had to be made, outermost first."""
    made = [folder for folder in reversed(path.parents) if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(prefix=".rulecore-", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return made


def sha256(data: bytes) -> str:
    """Identity of generated content."""
    return hashlib.sha256(data).hexdigest()
