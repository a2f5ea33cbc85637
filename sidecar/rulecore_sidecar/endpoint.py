"""Where the sidecar of a workspace listens, and who may talk to it.

The socket lies in a directory that only the user can enter (``0700``), is itself ``0600``, and both ends check the
other's user id. A directory that is a symlink, belongs to someone else or is open to others is refused.

Limits: on systems without ``SO_PEERCRED`` (macOS, Windows) the directory's mode is the only guard of identity.
Source: spec sidecar.md section 1.
"""

import hashlib
import os
import socket
import stat
import struct
import sys
import tempfile
from pathlib import Path

MAX_SOCKET_PATH = 104
"""Bytes that ``sun_path`` holds on the strictest system we know (macOS)."""


class EndpointError(Exception):
    """The endpoint cannot be trusted or does not exist; the message says which and what to do."""


def find_root(start: Path) -> Path:
    """The workspace that ``start`` belongs to: the nearest ancestor with a ``.git``, else ``start``."""
    here = Path(os.path.realpath(start))
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _bases() -> list[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    own = [Path(runtime) / "rulecore"] if runtime and Path(runtime).is_absolute() else []
    temporary = [Path(tempfile.gettempdir()), Path("/tmp")]  # noqa: S108 - only a folder of ours inside it is used
    return [*own, *(folder / f"rulecore-{user}" for folder in temporary)]


def socket_path(root: Path) -> Path:
    """Path of the socket for workspace ``root``; at most :data:`MAX_SOCKET_PATH` bytes."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    for base in _bases():
        candidate = base / f"{name}.sock"
        if len(os.fsencode(candidate)) <= MAX_SOCKET_PATH:
            return candidate
    raise EndpointError("no runtime folder has a path short enough for a socket; set XDG_RUNTIME_DIR to a short one")


def check_folder(folder: Path) -> None:
    """Raise :class:`EndpointError` unless ``folder`` is a real directory of ours with mode 0700."""
    try:
        info = folder.lstat()
    except FileNotFoundError:
        raise EndpointError(f"{folder} does not exist: no sidecar has run yet") from None
    if not stat.S_ISDIR(info.st_mode):
        raise EndpointError(f"{folder} is not a directory (a symlink?); remove it")
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        raise EndpointError(
            f"{folder} belongs to user {info.st_uid}, not to you; set XDG_RUNTIME_DIR to a folder of your own"
        )
    if os.name == "posix" and stat.S_IMODE(info.st_mode) != stat.S_IRWXU:
        raise EndpointError(
            f"{folder} has mode {stat.S_IMODE(info.st_mode):o}; make it private with: chmod 700 {folder}"
        )


def make_folder(folder: Path) -> None:
    """Create ``folder`` with mode 0700 and check it. Raises :class:`EndpointError`."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EndpointError(f"cannot create {folder}: {error.strerror}") from None
    check_folder(folder)


def peer_is_me(connection: socket.socket) -> bool:
    """True when the process at the other end runs as the same user, or the system cannot tell."""
    if not sys.platform.startswith("linux"):
        return True
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", packed)
    return bool(uid == os.getuid())


def connect(root: Path, timeout: float) -> socket.socket:
    """Connect to the sidecar of ``root`` within ``timeout`` seconds.

    Raises :class:`EndpointError` when there is none, it does not answer, or it is not ours.
    """
    path = socket_path(root)
    check_folder(path.parent)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(str(path))
    except OSError as error:
        connection.close()
        raise EndpointError(f"no sidecar answers for {root}: {error.strerror or error}") from None
    if not peer_is_me(connection):
        connection.close()
        raise EndpointError(f"the process that listens on {path} is not yours")
    return connection
