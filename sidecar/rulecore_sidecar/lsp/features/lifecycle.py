"""``initialize``, ``initialized`` and the workspace's folders.

Source: spec sidecar.md section 3; LSP 3.17, lifecycle messages.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from lsprotocol import types

from ..server import EditorServer
from ..uris import to_path
from . import commands, pull_diagnostics, watched_files

Start: TypeAlias = Callable[[types.InitializeParams], Awaitable[None]]


def register(server: EditorServer) -> None:
    """Add the features."""

    async def start(params: types.InitializeParams) -> None:
        for root in _roots(params):
            await server.workspaces.add(root)
        commands.register(server)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> Iterator[tuple[Start, tuple[types.InitializeParams], None]]:
        # pygls runs a generator at once up to here, so that clients which do not wait for the answer lose nothing.
        server.meet(params.client_info, params.process_id)
        pull_diagnostics.register_for(server, params.capabilities)
        yield start, (params,), None

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        watched_files.watch(server)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            if root := to_path(folder.uri):
                await server.workspaces.remove(root)
        for folder in params.event.added:
            if root := to_path(folder.uri):
                await server.workspaces.add(root)
        server.diagnostics.refresh()


def _roots(params: types.InitializeParams) -> Iterable[Path]:
    """The folders: those listed, else the one root of older clients."""
    if params.workspace_folders:
        uris = [folder.uri for folder in params.workspace_folders]
    elif params.root_uri:
        uris = [params.root_uri]
    else:
        return [Path(params.root_path)] if params.root_path else []
    return [path for uri in uris if (path := to_path(uri)) is not None]
