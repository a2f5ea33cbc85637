"""Where the sidecar of a workspace listens, and who may talk to it.

A Unix socket (``0600``) in a directory that only the user can enter (``0700``); both ends check the other's user id. A
directory that is a symlink, belongs to someone else or is open to others is refused. Where Python has no Unix sockets
(Windows), or with ``RULECORE_TRANSPORT=loopback``: a port on 127.0.0.1, and beside it in the same directory a file with
the port and a token of 32 bytes, which a connection's first request must carry as ``token``.

Which process owns a workspace does not hang on a terminal's environment: the lock lies in one folder per user, and in
it the owner writes where it listens. Only a workspace that nobody owns gets its endpoint from ``XDG_RUNTIME_DIR``.

Limits: on systems without ``SO_PEERCRED`` (macOS, Windows) the directory's mode is the only guard of identity; on
Windows that mode is the profile folder's access list. Source: spec sidecar.md section 1.
"""

import contextlib
import hashlib
import json
import os
import secrets
import socket
import stat
import struct
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

MAX_SOCKET_PATH = 104
"""Bytes that ``sun_path`` holds on the strictest system we know (macOS)."""


class Link(NamedTuple):
    """A connection; ``token`` has to go into its first request, None where the system vouches for the peer."""

    socket: socket.socket
    token: str | None


class EndpointError(Exception):
    """The endpoint cannot be trusted or does not exist; the message says which and what to do."""


def uses_loopback() -> bool:
    """True where the sidecar listens on 127.0.0.1 instead of a Unix socket."""
    return not hasattr(socket, "AF_UNIX") or os.environ.get("RULECORE_TRANSPORT") == "loopback"


def find_root(start: Path) -> Path:
    """The workspace that ``start`` belongs to: the nearest ancestor with a ``.git``, else ``start``."""
    here = Path(os.path.realpath(start))
    return next((folder for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), here)


def workspace_of(root: Path | None) -> Path:
    """The workspace of a command: that of ``root``, else of the current folder.

    Raises :class:`EndpointError` when there is no such folder.
    """
    try:
        start = Path.cwd() if root is None else root
    except FileNotFoundError:
        raise EndpointError("the current folder does not exist any more; change to another one") from None
    if not os.path.isdir(start):  # noqa: PTH112 - Path.is_dir raises where a folder cannot be entered
        raise EndpointError(f"{start} is not a folder, or cannot be entered")
    return find_root(start)


def _bases() -> list[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("LOCALAPPDATA")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    own = [Path(runtime) / "rulecore"] if runtime and Path(runtime).is_absolute() else []
    temporary = [Path(tempfile.gettempdir()), Path("/tmp")]  # noqa: S108 - only a folder of ours inside it is used
    return [*own, *(folder / f"rulecore-{user}" for folder in temporary)]


def _name(root: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]


def lock_path(root: Path) -> Path:
    """The file that the owner of workspace ``root`` holds: its process id, and on the second line where it listens."""
    if hasattr(os, "getuid"):
        return Path("/tmp") / f"rulecore-{os.getuid()}" / f"{_name(root)}.lock"  # noqa: S108 - a private folder of ours
    return _bases()[0] / f"{_name(root)}.lock"


def socket_path(root: Path) -> Path:
    """Where the owner of ``root`` says that it listens; :func:`new_socket_path` when nobody owns it."""
    lock = lock_path(root)
    with contextlib.suppress(OSError, EndpointError, ValueError):
        check_folder(lock.parent)
        _, endpoint, *_ = lock.read_bytes().split(b"\n")
        if endpoint and os.path.lexists(endpoint):
            return Path(os.fsdecode(endpoint))
    return new_socket_path(root)


def new_socket_path(root: Path) -> Path:
    """Path for the socket of workspace ``root`` (at most :data:`MAX_SOCKET_PATH` bytes), or for its file with port and
    token."""
    name = _name(root)
    for base in _bases():
        candidate = base / (f"{name}.json" if uses_loopback() else f"{name}.sock")
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


def listen(path: Path) -> Link:
    """Bind the endpoint ``path``. Only for the owner of the workspace: what lies there is a dead owner's."""
    path.unlink(missing_ok=True)
    if uses_loopback():
        listener = socket.create_server(("127.0.0.1", 0))
        token = secrets.token_hex(32)
        path.touch(0o600, exist_ok=False)
        path.write_text(json.dumps({"port": listener.getsockname()[1], "token": token}), "utf-8")
        return Link(listener, token)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    return Link(listener, None)


def connect(root: Path, timeout: float) -> Link:
    """Connect to the sidecar of ``root`` within ``timeout`` seconds.

    Raises :class:`EndpointError` when there is none, it does not answer, or it is not ours.
    """
    path = socket_path(root)
    check_folder(path.parent)
    loopback = uses_loopback()
    connection = socket.socket(socket.AF_INET if loopback else socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    token: str | None = None
    try:
        if loopback:
            known = json.loads(path.read_text("utf-8"))
            token = str(known["token"])
            connection.connect(("127.0.0.1", int(known["port"])))
        else:
            connection.connect(str(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        connection.close()
        reason = error.strerror if isinstance(error, OSError) else error
        raise EndpointError(f"no sidecar answers for {root}: {reason}") from None
    if not loopback and not peer_is_me(connection):
        connection.close()
        raise EndpointError(f"the process that listens on {path} is not yours")
    return Link(connection, token)
