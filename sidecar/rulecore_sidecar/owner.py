"""Who owns a workspace: one process at a time, held by a lock that the system frees when the process dies.

Source: spec sidecar.md section 1.
"""

import os
import sys
from pathlib import Path


class WorkspaceLock:
    """An exclusive lock on a workspace. ``acquire`` returns False while another process holds it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def acquire(self) -> bool:
        """Try once. Raises ``OSError`` when the lock file cannot be opened."""
        if self._fd is not None:
            return True
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        if not _lock(fd):
            os.close(fd)
            return False
        self._fd = fd
        self.note("")
        return True

    def note(self, endpoint: str) -> None:
        """Write into the lock who holds it and where that process listens, for everybody who looks."""
        if self._fd is not None:
            os.lseek(self._fd, 0, os.SEEK_SET)
            os.ftruncate(self._fd, 0)
            os.write(self._fd, f"{os.getpid()}\n".encode() + os.fsencode(endpoint) + b"\n")

    def release(self) -> None:
        """Let go. The file stays: removing it would let two processes lock two different files."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


if sys.platform != "win32":
    import fcntl

    def _lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

else:
    import msvcrt

    def _lock(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
