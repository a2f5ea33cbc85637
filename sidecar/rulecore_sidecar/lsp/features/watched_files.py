"""The editor's file watcher: hints for the file truth, registered when the editor can.

Source: spec sidecar.md sections 2 and 3; LSP 3.17, workspace/didChangeWatchedFiles.
"""

from typing import Final

from lsprotocol import types

from ..server import EditorServer, is_project_file
from ..uris import to_path

EVERYTHING: Final = "**/*"


def register(server: EditorServer) -> None:
    """Add the features."""

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [path for event in params.changes if (path := to_path(event.uri)) is not None]
        server.workspaces.touched(paths)
        if any(is_project_file(event.uri) for event in params.changes):
            server.refresh_diagnostics()


def watch(server: EditorServer) -> None:
    """Ask for the events, unless the editor does not take such a wish."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if not (watched and watched.dynamic_registration):
        return
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(EVERYTHING)])
    method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    server.client_register_capability(types.RegistrationParams([types.Registration("rulecore-files", method, options)]))
