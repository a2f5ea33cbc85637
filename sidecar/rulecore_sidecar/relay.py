"""Hook client: standard input (hook JSON) → sidecar → standard output (hook JSON). Run by path, as a program:

    python -I -S -E relay.py LOCKFILE AGENT [COMMAND ARGUMENT…]

LOCKFILE is the workspace's lock (``endpoint.lock_path``), whose second line says where its sidecar listens: unlike a
socket's path it is the same in every environment. Both must lie in folders of ours that nobody else can enter. When
nobody listens, COMMAND (an absolute path) is started in the background, to be there next time.

Prints ``{}`` and exits 0 whatever goes wrong, so that the agent goes on. Does not parse JSON and imports nothing that
is not built into the interpreter: its start is the whole cost of a hook. Source: spec agents.md section 2.8, sidecar.md
sections 1 and 6.
"""

import _socket
import posix
import sys
from time import monotonic

BUDGET_S = 0.3
NOTHING = b"{}"
_PRIVATE_FOLDER = 0o040000
"""File type "directory", no permission for group and others."""
_ANSWER_LIMIT = 1 << 20
_LOCK_LIMIT = 4096
"""Bytes; longer than any process id and socket path."""


def _require_private(folder: bytes) -> None:
    info = posix.lstat(folder)
    if info.st_uid != posix.getuid() or info.st_mode & 0o170077 != _PRIVATE_FOLDER:
        raise PermissionError("the folder is not private")


def listening_at(lock: bytes) -> bytes:
    """The socket that the owner noted in the file ``lock``.

    Raises ``FileNotFoundError`` when nobody listens, ``PermissionError`` when somebody else could have written that.
    """
    _require_private(lock.rpartition(b"/")[0])
    fd = posix.open(lock, posix.O_RDONLY | posix.O_NOFOLLOW)
    try:
        _, _, endpoint = posix.read(fd, _LOCK_LIMIT).partition(b"\n")
    finally:
        posix.close(fd)
    path = endpoint.partition(b"\n")[0]
    if not path:
        raise FileNotFoundError("nobody listens")
    _require_private(path.rpartition(b"/")[0])
    return path


def relay(path: bytes, agent: str, hook: bytes) -> bytes:
    """Ask the sidecar at ``path``; its answer line. Raises ``OSError`` when there is none within the budget."""
    deadline = monotonic() + BUDGET_S
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(BUDGET_S)
    connection.connect(path)
    one_line = hook.replace(b"\n", b" ").replace(b"\r", b" ")
    head = b'{"jsonrpc":"2.0","id":1,"method":"rulecore/agent/hook","params":{"reply":"raw","agent":"%s","raw":'
    connection.sendall(head % agent.encode() + one_line + b"}}\n")
    answer = b""
    while not answer.endswith(b"\n"):
        connection.settimeout(max(0.001, deadline - monotonic()))
        part = connection.recv(65536)
        if not part or monotonic() > deadline or len(answer) > _ANSWER_LIMIT:
            raise OSError("no whole answer in time")
        answer += part
    return answer.rstrip()


def start(command: list[str]) -> None:
    """Start ``command`` in the background, tied to nothing of ours."""
    quiet = [(posix.POSIX_SPAWN_OPEN, fd, "/dev/null", posix.O_RDWR, 0) for fd in range(3)]
    posix.posix_spawn(command[0], command, dict(posix.environ), file_actions=quiet, setsid=True)


def main(argv: list[str]) -> None:
    """Write the answer, or nothing to say."""
    answer = NOTHING
    try:
        lock, agent, *command = argv
        hook = sys.stdin.buffer.read()
        try:
            answer = relay(listening_at(lock.encode("utf-8", "surrogateescape")), agent, hook)
        except (FileNotFoundError, ConnectionRefusedError):
            if command:
                start(command)
    except Exception:  # noqa: S110 - a hook must never be in the agent's way
        pass
    if not answer.startswith(b"{") or answer.startswith(b'{"jsonrpc"'):
        answer = NOTHING
    sys.stdout.buffer.write(answer + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
