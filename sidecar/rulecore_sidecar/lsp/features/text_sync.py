"""Text synchronisation: pygls keeps our documents, these handlers pass on what they hold.

Source: spec sidecar.md sections 2 and 3; LSP 3.17, text document synchronization.
"""

from lsprotocol import types

from ..server import EditorServer, is_project_file


def register(server: EditorServer) -> None:
    """Add the features."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.diagnostics.opened(uri)
        if place := server.sink(uri):
            sink, path = place
            sink.open(path, params.text_document.text, params.text_document.version, server.editor)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        uri, version = params.text_document.uri, params.text_document.version
        document = server.documents.open_document(uri)
        if document is None:
            server.say_once(f"rulecore: ignored changes of {uri}, which is not open.")
        elif version < (document.version or 0):
            server.say_once(f"rulecore: ignored changes of {uri} that are older than its text.")
        else:
            document.version = version
            server.diagnostics.changed(uri)
            if place := server.sink(uri):
                sink, path = place
                sink.change(path, document.source, version, server.editor)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=True))
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        uri, text = params.text_document.uri, params.text
        document = server.documents.open_document(uri)
        if document is None:
            server.say_once(f"rulecore: ignored the saving of {uri}, which is not open.")
            return
        if text is not None and text != document.source:
            server.say_once(f"rulecore: the buffer of {uri} was not what the editor saved; it is now.")
            document.replace(text)
            server.diagnostics.changed(uri)
        if place := server.sink(uri):
            sink, path = place
            sink.save(path, text, document.version or 0, server.editor)
        if is_project_file(uri):
            server.refresh_diagnostics()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.diagnostics.closed(uri)
        if place := server.sink(uri):
            sink, path = place
            sink.close(path, server.editor)
