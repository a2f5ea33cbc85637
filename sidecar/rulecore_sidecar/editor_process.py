"""``rulecore lsp``: the language server with the guard of each workspace folder beside it, in one loop.

The first process on a workspace owns it; a language server that finds an owner follows it: it forwards its buffers and
its ``rulecore/*`` requests, and takes the workspace over when the owner goes. Its buffers are kept here, so that a new
owner, itself included, is told about them again.

Limit: between the owner's end and the take-over (about 0.2 s) requests are answered with an error. Source: spec
sidecar.md section 1.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from rulecore_kernel.analysis import Config, path_class
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar import rpc
from rulecore_sidecar.endpoint import EndpointError, connect, find_root
from rulecore_sidecar.project import Project
from rulecore_sidecar.sidecar import AlreadyOwned, Sidecar

RETRY_SECONDS = 0.2

log = logging.getLogger("rulecore.editor")


class Buffer(NamedTuple):
    """An open document as the editor has it."""

    path: Path
    text: str
    version: int
    editor: str


class Follower:
    """A connection to the owner of a workspace. :attr:`ended` is set when it breaks."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._serial = 0
        self.ended = asyncio.Event()
        self.methods: Collection[str] = ()
        self._pump = asyncio.create_task(self._read(reader))

    @classmethod
    async def to(cls, root: Path) -> "Follower":
        """Connect to the owner of ``root``. Raises :class:`EndpointError` or ``OSError``."""
        link = connect(root, 1.0)
        link.socket.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=link.socket, limit=rpc.MAX_LINE_LIMIT)
        follower = cls(reader, writer)
        try:
            answer = await asyncio.wait_for(
                follower.ask("rulecore/ping", {"line_limit": rpc.MAX_LINE_LIMIT, "token": link.token}), 2.0
            )
        except (TimeoutError, rpc.RpcError) as error:
            await follower.close()
            raise EndpointError(f"the owner of {root} does not answer: {error}") from None
        capabilities = answer.get("capabilities") if isinstance(answer, dict) else None
        follower.methods = [name for name in capabilities or () if isinstance(name, str)]
        return follower

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                self._settle(json.loads(line))
        self.ended.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(rpc.RpcError(rpc.INTERNAL_ERROR, "the owner of the workspace has gone; try again"))

    def _settle(self, message: dict[str, Json]) -> None:
        identity = message.get("id")
        future = self._waiting.pop(identity, None) if isinstance(identity, int) else None
        if future is None or future.done():
            return
        error = message.get("error")
        if isinstance(error, dict):
            code, text = error.get("code"), error.get("message")
            future.set_exception(rpc.RpcError(code if isinstance(code, int) else rpc.INTERNAL_ERROR, str(text)))
        else:
            future.set_result(message.get("result"))

    def ask(self, method: str, params: JsonObject) -> Awaitable[Json]:
        """Send a request; the awaitable gives its result or raises :class:`~rulecore_sidecar.rpc.RpcError`."""
        self._serial += 1
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        if self.ended.is_set():
            future.set_exception(rpc.RpcError(rpc.INTERNAL_ERROR, "the owner of the workspace has gone; try again"))
            return future
        self._waiting[self._serial] = future
        self._writer.write(rpc.encode({"jsonrpc": "2.0", "id": self._serial, "method": method, "params": params}))
        return future

    def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification."""
        if not self.ended.is_set():
            self._writer.write(rpc.encode({"jsonrpc": "2.0", "method": method, "params": params}))

    async def close(self) -> None:
        """Hang up."""
        self._pump.cancel()
        self._writer.close()
        self.ended.set()


class EditorServices:
    """One workspace folder's services for the language server; an owner or a follower, whichever it can be."""

    def __init__(self, folder: Path) -> None:
        self._root = find_root(folder)
        self._project = Project(self._root)
        self._buffers: dict[Path, Buffer] = {}
        self._role: Sidecar | Follower | None = None
        self._keeper: asyncio.Task[None] | None = None

    @property
    def sink(self) -> "EditorServices":
        """Where the editor's buffers go."""
        return self

    @property
    def dispatch(self) -> "EditorServices":
        """Who answers ``rulecore/*``."""
        return self

    def analysis_config(self, path: Path) -> Config:
        """Thresholds and switches of the workspace's project.md for ``path`` (absolute)."""
        settings = self._project.settings()
        relative = path.relative_to(self._root) if path.is_relative_to(self._root) else path
        return Config(
            allowed=frozenset(settings.texts("code_standard.allowed")),
            path_class=path_class(relative.as_posix()),
            max_methods=settings.integer("cohesion.max_methods"),
            god_methods=settings.integer("cohesion.god_methods"),
            max_lines=settings.integer("cohesion.max_lines"),
        )

    async def start(self) -> None:
        """Own the workspace or follow its owner."""
        await self._settle_role()
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Let go."""
        if self._keeper is not None:
            self._keeper.cancel()
        await self._leave()

    async def _leave(self) -> None:
        role, self._role = self._role, None
        if isinstance(role, Sidecar):
            await role.stop()
        elif isinstance(role, Follower):
            await role.close()

    async def _settle_role(self) -> None:
        sidecar = Sidecar(self._root)
        try:
            await sidecar.start()
            self._role = sidecar
        except AlreadyOwned:
            with contextlib.suppress(EndpointError, OSError):
                self._role = await Follower.to(self._root)
        except (EndpointError, OSError) as error:
            log.warning("no guard for %s: %s", self._root, error)
            return
        for buffer in self._buffers.values():
            self._pass_on("open", buffer)

    async def _keep(self) -> None:
        """Take over, or follow the next owner, when the present one goes."""
        while True:
            if isinstance(self._role, Follower):
                await self._role.ended.wait()
                await self._leave()
            elif isinstance(self._role, Sidecar):
                return
            await self._settle_role()
            if self._role is None:
                await asyncio.sleep(RETRY_SECONDS)

    # -- EditorSink

    def open(self, path: Path, text: str, version: int, editor: str) -> None:
        """The editor shows ``text``."""
        self._buffers[path] = Buffer(path, text, version, editor)
        self._pass_on("open", self._buffers[path])

    def change(self, path: Path, text: str, version: int, editor: str) -> None:
        """The whole text after a change."""
        self._buffers[path] = Buffer(path, text, version, editor)
        self._pass_on("change", self._buffers[path])

    def save(self, path: Path, text: str | None, version: int, editor: str) -> None:
        """The buffer was written."""
        known = self._buffers.get(path)
        saved = text if text is not None else known.text if known else None
        if saved is not None:
            self._buffers[path] = Buffer(path, saved, version, editor)
        self._tell("save", {"path": str(path), "text": text, "version": version, "editor": editor})

    def close(self, path: Path, editor: str) -> None:
        """The disk counts again."""
        self._buffers.pop(path, None)
        self._tell("close", {"path": str(path), "editor": editor})

    def touched(self, paths: Sequence[Path]) -> None:
        """A hint that files may have changed."""
        self._tell("touched", {"paths": [str(path) for path in paths]})

    def _pass_on(self, kind: str, buffer: Buffer) -> None:
        self._tell(kind, {**buffer._asdict(), "path": str(buffer.path)})

    def _tell(self, kind: str, params: JsonObject) -> None:
        method = f"rulecore/editor/{kind}"
        if isinstance(self._role, Sidecar):
            try:
                self._role.handle(method, params)
            except rpc.RpcError as error:
                log.warning("%s: %s", method, error.message)
        elif isinstance(self._role, Follower):
            self._role.tell(method, params)

    # -- Dispatch

    @property
    def methods(self) -> Collection[str]:
        """What the workspace's owner answers."""
        if isinstance(self._role, Sidecar):
            return self._role.methods().keys()
        return self._role.methods if isinstance(self._role, Follower) else ()

    def __call__(self, method: str, params: JsonObject) -> Json | Awaitable[Json]:
        """Answer here, or let the owner answer."""
        if isinstance(self._role, Sidecar):
            return self._role.handle(method, params)
        if isinstance(self._role, Follower):
            return self._role.ask(method, params)
        raise rpc.RpcError(rpc.INTERNAL_ERROR, f"nobody serves {self._root}")


def lsp_main() -> NoReturn:
    """Run the language server on standard input and output and end the process."""
    from rulecore_sidecar.lsp import run

    run(EditorServices)
