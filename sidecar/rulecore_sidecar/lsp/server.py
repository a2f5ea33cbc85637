"""The language server: what its features share. The features themselves are in ``features``, one file each.

Source: spec sidecar.md section 3.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from rulecore_kernel.analysis import MAX_BYTES, Config, language_of
from rulecore_kernel.analysis.languages import LANGUAGES
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar import __version__

from .diagnostics import Diagnostics
from .documents import Document, EditorWorkspace
from .findings import to_diagnostics
from .parent import is_alive, parent_death
from .positions import to_bytes
from .protocol import EditorProtocol, make_converter
from .services import EditorSink, MakeServices
from .uris import scheme_of, to_path
from .worker import AnalysisError, AnalysisProcess, Job
from .workspaces import Workspaces

if TYPE_CHECKING:
    from pygls.server import ServerErrors

log = logging.getLogger("rulecore.lsp")

MAX_SAID: Final = 1000
"""Lines for the editor's log that are remembered as said."""

# pygls writes whole messages into its log; what went wrong comes to report_server_error instead.
logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)


class EditorServer(LanguageServer):
    """One editor's server. ``end`` is called with the exit code when the editor says goodbye.

    ``docs`` is the address that the rules' pages lie under, None when there is none.
    """

    protocol: EditorProtocol
    documents: EditorWorkspace
    """Set by ``initialize``."""

    def __init__(self, make_services: MakeServices, end: Callable[[int], None], docs: str | None = None) -> None:
        super().__init__(
            "rulecore",
            __version__,
            types.TextDocumentSyncKind.Incremental,
            protocol_cls=EditorProtocol,
            converter_factory=make_converter,
        )
        self.end = end
        self.editor = f"editor#{os.getpid()}"
        self.workspaces = Workspaces(make_services, self.tell, self._moving_documents)
        self.diagnostics = Diagnostics(self._look, self._publish)
        self._analyser = AnalysisProcess()
        self._docs = docs
        self._said: set[str] = set()

    async def close(self) -> None:
        """Stop the workspaces' services and the analysis."""
        await self._analyser.close()
        await self.workspaces.close()

    def dispatch(self, method: str, params: JsonObject) -> Json | Awaitable[Json]:
        """Hand a ``rulecore/*`` request to the services of the workspace that it means."""
        return self.workspaces.meant_by(params).dispatch(method, params)

    def sink(self, uri: str) -> tuple[EditorSink, Path] | None:
        """Who keeps the buffer of a document, and the file's path; None outside the workspace's folders."""
        path = to_path(uri)
        services = None if path is None else self.workspaces.of(path)
        return None if path is None or services is None else (services.sink, path)

    def lose_track(self, uri: str | None) -> None:
        """Give up an open document whose text cannot be known any more: the disk counts until it is opened again."""
        if uri is None or self.documents.open_document(uri) is None:
            return
        self.say_once(
            f"rulecore: a change of {uri} could not be understood; its buffer is ignored until it is reopened."
        )
        self.documents.remove_text_document(uri)
        self.diagnostics.closed(uri)
        if place := self.sink(uri):
            sink, path = place
            sink.close(path, self.editor)

    def meet(self, client: types.ClientInfo | None, process: int | None) -> None:
        """Take what ``initialize`` says about the editor: its name and its process, which is watched from now on."""
        self.documents = self.protocol.open_documents()
        if client is not None:
            self.editor = f"{client.name}#{os.getpid()}"
        if process is not None and is_alive(process):
            self._parent = asyncio.create_task(parent_death(process))
            self._parent.add_done_callback(lambda _: self.end(self.protocol.exit_code))

    @contextmanager
    def _moving_documents(self) -> Iterator[None]:
        """Hand every open document over from the sink that it had before to the one that it has after."""
        before = [(document, self.sink(document.uri)) for document in self.documents.open_documents()]
        yield
        for document, old in before:
            new = self.sink(document.uri)
            if old and not (new and new[0] is old[0]):
                old[0].close(old[1], self.editor)
            if new and not (old and new[0] is old[0]):
                new[0].open(new[1], document.source, document.version or 0, self.editor)

    # What people are told

    def tell(self, text: str) -> None:
        """Show a message that somebody has to see."""
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, text))

    def say_once(self, text: str) -> None:
        """Write a line into the editor's log, the first time only; after :data:`MAX_SAID` lines nothing more."""
        if text not in self._said and len(self._said) < MAX_SAID:
            self._said.add(text)
            log.warning("%s", text)
            self.window_log_message(types.LogMessageParams(types.MessageType.Warning, text))

    def report_server_error(self, error: Exception, source: "ServerErrors") -> None:
        """Write what went wrong in a feature into our log. Requests are answered elsewhere."""
        data = error.data if isinstance(error, JsonRpcException) else None
        trace = data.get("traceback", ()) if isinstance(data, dict) else ()
        log.error("%s: %s\n%s", source.__name__, error, "".join(trace))

    # Diagnostics

    def refresh_diagnostics(self) -> None:
        """Look at everything again, because the rules' parameters may have changed."""
        self.diagnostics.refresh()
        workspace = self.client_capabilities.workspace
        if (
            not self.diagnostics.pushes
            and workspace
            and workspace.diagnostics
            and workspace.diagnostics.refresh_support
        ):
            self.workspace_diagnostic_refresh(None)

    def _publish(self, uri: str, items: list[types.Diagnostic]) -> None:
        document = self.documents.open_document(uri)
        version = None if document is None else document.version
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, items, version))

    async def _look(self, uri: str) -> list[types.Diagnostic]:
        document = self.documents.open_document(uri)
        if document is None or (job := self._job(document)) is None:
            return []
        lines = list(document.lines)
        try:
            findings = await self._analyser.findings(job)
        except AnalysisError as error:
            self.say_once(f"rulecore: no diagnostics for {uri}: {error}.")
            return []
        return to_diagnostics(findings, lines, document.encoding, self._docs)

    def _job(self, document: Document) -> Job | None:
        """What there is to look at; nothing in other languages, in other schemes and outside the folders."""
        path = to_path(document.uri)
        services = None if path is None else self.workspaces.of(path)
        outside = services is None and bool(self.workspaces)
        if scheme_of(document.uri) != "untitled" and (path is None or outside):
            return None
        language = (language_of(path.as_posix()) if path else None) or document.language_id
        if language is None or language not in LANGUAGES:
            return None
        config = services.analysis_config(path) if path and services else Config()
        source = to_bytes(document.source)[: MAX_BYTES + 1]  # what is over the cap is not looked at anyway
        return Job(document.uri, source, language, config)


def is_project_file(uri: str) -> bool:
    """Whether this is the file that holds the parameters of the rules."""
    return uri.endswith("/project.md")
