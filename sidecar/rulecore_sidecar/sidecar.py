"""The composition root: one workspace's services wired together, whoever runs the loop (``serve`` or ``lsp``).

:class:`Sidecar` is an owner: it holds the workspace lock, listens on the socket and answers every method of
:meth:`methods`. Starting one while another process owns the workspace raises :class:`AlreadyOwned`.

Source: spec sidecar.md sections 1 and 4.
"""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import cast

from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar import __version__, rpc, wire
from rulecore_sidecar.agents import hook
from rulecore_sidecar.endpoint import listen, lock_path, make_folder, new_socket_path, peer_is_me
from rulecore_sidecar.guard import Guard
from rulecore_sidecar.owner import WorkspaceLock
from rulecore_sidecar.project import Project
from rulecore_sidecar.store import Store
from rulecore_sidecar.validity import validity
from rulecore_sidecar.workspace import Workspace

PROTOCOL_VERSION = 1
SWEEP_SECONDS = 30.0
_ACCEPT_BACKLOG = 512

log = logging.getLogger("rulecore")


class AlreadyOwned(Exception):
    """Another process serves this workspace."""


class Sidecar:
    """Everything that answers for the workspace ``root`` (absolute, resolved)."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self.root = root
        self._lock: WorkspaceLock | None = None
        self._token: str | None = None
        self._server: asyncio.AbstractServer | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._connections: set[rpc.LineProtocol] = set()
        self._clock = clock
        self.last_used = clock()

    async def start(self) -> None:
        """Take the workspace and listen. Raises :class:`AlreadyOwned`, :class:`EndpointError` or ``OSError``."""
        self.open()
        await self._listen()
        self._sweeper = asyncio.create_task(self._sweep())

    def open(self) -> None:
        """Take the workspace, without listening. Raises as :meth:`start` does."""
        self._endpoint = new_socket_path(self.root)
        path = lock_path(self.root)
        for folder in (self._endpoint.parent, path.parent):
            make_folder(folder)
        lock = WorkspaceLock(path)
        if not lock.acquire():
            raise AlreadyOwned(f"{self.root} is served by another process")
        self._lock = lock
        self.project = Project(self.root)
        self.project.settings()
        self.workspace = Workspace(self.root, self._clock)
        self.store = Store(store_path(self.root, self.workspace.is_tracked))
        self.guard = Guard(self.workspace, self.store, self.project.policy, self._clock)
        self._methods = self.methods()

    async def _listen(self) -> None:
        """Bind under the lock, so that what lies at the endpoint can only be a dead owner's, and note it there."""
        listener, self._token = listen(self._endpoint)
        loop = asyncio.get_running_loop()
        serve = loop.create_server if self._token is not None else loop.create_unix_server
        self._server = await serve(self._connection, sock=listener, backlog=_ACCEPT_BACKLOG)
        if self._lock is not None:
            self._lock.note(str(self._endpoint))

    def _connection(self) -> rpc.LineProtocol:
        editors: set[str] = set()
        admitted = self._token is None

        def handle(method: str, params: JsonObject) -> Json:
            nonlocal admitted
            if not admitted:
                admitted = secrets.compare_digest(str(params.get("token")).encode(), (self._token or "").encode())
            if not admitted:
                asyncio.get_running_loop().call_soon(connection.close)
                raise rpc.RpcError(rpc.INVALID_REQUEST, "the first request must carry the endpoint's token")
            if method.startswith("rulecore/editor/"):
                editors.add(wire.text(params, "editor") or "")
            elif method == "rulecore/ping" and (wanted := params.get("line_limit")) and isinstance(wanted, int):
                connection.line_limit = max(rpc.LINE_LIMIT, min(wanted, rpc.MAX_LINE_LIMIT))
            return self.handle(method, params)

        def closed() -> None:
            for editor in editors:
                self.workspace.editor.gone(editor)

        connection = rpc.LineProtocol(handle, self._connections, _is_mine, closed)
        return connection

    async def _sweep(self) -> None:
        while True:
            try:
                await self._heal()
                self.guard.external_writes(await self.workspace.sweep(self.guard.windows()))
            except Exception:
                log.exception("a sweep failed; the next one looks at everything again")
            await asyncio.sleep(SWEEP_SECONDS)

    async def _heal(self) -> None:
        """Bring back what somebody removed under the running process: the socket's file, the store's."""
        if not os.path.lexists(self._endpoint) and self._server is not None:
            log.warning("%s was removed; listening anew", self._endpoint)
            self._server.close()
            await self._listen()
        path = self.store.path
        if path is not None and not path.exists() and self.root.is_dir():
            log.warning("%s was removed; begun anew with what this process remembers", path)
            self.store.close()
            self.store = Store(path)
            self.guard.remember_all(self.store)

    async def stop(self) -> None:
        """Let go of the workspace. Safe to call twice."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self._server is not None:
            self._server.close()
            for connection in tuple(self._connections):
                connection.close()
            self._endpoint.unlink(missing_ok=True)
            self._server = None
        self.close()

    def close(self) -> None:
        """The other end of :meth:`open`."""
        if self._lock is not None:
            self.store.close()
            self._lock.release()
            self._lock = None

    @property
    def notices(self) -> list[str]:
        """What a person should know of the store and the configuration."""
        return [*self.store.notices, *self.project.notices]

    @property
    def busy(self) -> bool:
        """True while somebody is connected."""
        return bool(self._connections)

    def handle(self, method: str, params: JsonObject) -> Json:
        """Answer one request. Raises :class:`~rulecore_sidecar.rpc.RpcError` for what the caller did wrong."""
        self.last_used = self._clock()
        answer = self._methods.get(method)
        if answer is None:
            raise rpc.RpcError(rpc.METHOD_NOT_FOUND, f"no method {method!r}; rulecore/ping lists what there is")
        try:
            return answer(params)
        except wire.WireError as error:
            raise rpc.RpcError(rpc.INVALID_PARAMS, f"{method}: {error}") from None

    def methods(self) -> Mapping[str, Callable[[JsonObject], Json]]:
        """Every method by its name. The names are the capabilities."""
        guard, editor = self.guard, self.workspace.editor
        sessions = ("start", "resume", "prompt", "compact", "stop", "end")
        return {
            "rulecore/ping": self._ping,
            "rulecore/guard/pre": guard.pre,
            "rulecore/guard/post": guard.post,
            **{f"rulecore/session/{kind}": partial(guard.session_event, kind) for kind in sessions},
            "rulecore/halt/get": guard.halts,
            "rulecore/halt/clear": guard.clear_halts,
            "rulecore/state/get": guard.state,
            "rulecore/state/validity": lambda _: validity(self.guard, self.workspace, self.store),
            "rulecore/kernel/evaluate": lambda p: cast(Json, evaluate(p, self.project.settings())),
            "rulecore/agent/hook": lambda p: hook(p, self.handle),
            "rulecore/metrics": lambda _: dict(self.store.counters()),
            **{f"rulecore/editor/{kind}": answer for kind, answer in editor.methods().items()},
        }

    def _ping(self, _: JsonObject) -> Json:
        self.project.settings()
        return {
            "version": __version__,
            "protocol": PROTOCOL_VERSION,
            "pid": os.getpid(),
            "root": str(self.root),
            "capabilities": sorted(self._methods),
            "open_buffers": len(self.workspace.truth.overlays),
            "swept": self.workspace.swept,
            "notices": list(self.notices),
        }


def store_path(root: Path, is_tracked: Callable[[str], bool]) -> Path | None:
    """Where the store of ``root`` lies; None (memory) when ``.rulecore`` came with a clone or is not a real folder."""
    folder = root / ".rulecore"
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        log.warning("%s is not a folder of its own; working in memory", folder)
        return None
    if folder.is_dir() and is_tracked(".rulecore"):
        log.warning("%s is tracked by git: it came with a clone and is not read; working in memory", folder)
        return None
    return folder / "guard.db"


def _is_mine(transport: asyncio.BaseTransport) -> bool:
    connection = transport.get_extra_info("socket")
    return connection is not None and (connection.family == socket.AF_INET or peer_is_me(connection))
