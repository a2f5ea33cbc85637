"""A blocking client of the guard service, for commands. Source: spec sidecar.md section 1."""

import json
import subprocess
import sys
import time
from pathlib import Path

from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.endpoint import EndpointError, connect, make_folder, socket_path

START_TIMEOUT = 5.0
"""Seconds that a sidecar may take to come up."""


class Refused(Exception):
    """The sidecar answered with an error."""


def call(root: Path, method: str, params: JsonObject, timeout: float = 5.0) -> Json:
    """Ask the sidecar of ``root``.

    Arguments: ``timeout`` in seconds. Returns the result. Raises :class:`EndpointError` when nobody answers in time and
    :class:`Refused` when the answer is an error.
    """
    link = connect(root, timeout)
    secret = {} if link.token is None else {"token": link.token}
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **secret}}
    with link.socket as connection:
        try:
            connection.sendall(json.dumps(request, ensure_ascii=False).encode() + b"\n")
            with connection.makefile("rb") as stream:
                line = stream.readline()
        except OSError as error:
            raise EndpointError(f"the sidecar of {root} did not answer within {timeout:g} s: {error}") from None
    if not line:
        raise EndpointError(f"the sidecar of {root} hung up")
    answer = json.loads(line)
    if "error" in answer:
        raise Refused(answer["error"]["message"])
    result: Json = answer["result"]
    return result


def is_served(root: Path) -> bool:
    """True when a sidecar answers for ``root``."""
    try:
        connect(root, 1.0).socket.close()
    except EndpointError:
        return False
    return True


def ensure_served(root: Path) -> Path:
    """Path of the socket of ``root``; starts a sidecar when nobody listens there.

    Raises :class:`EndpointError` when none comes up within :data:`START_TIMEOUT`.
    """
    path = socket_path(root)
    if is_served(root):
        return path
    make_folder(path.parent)
    subprocess.Popen(
        [sys.executable, "-I", "-m", "rulecore_sidecar", "serve", "--root", str(root), "--idle-exit", "1800"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/" if sys.platform != "win32" else None,
        start_new_session=True,
    )
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        if is_served(root):
            return path
        time.sleep(0.02)
    raise EndpointError(f"no sidecar came up for {root}; try: rulecore serve --root {root}")
