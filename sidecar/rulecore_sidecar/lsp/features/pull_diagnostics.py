"""``textDocument/diagnostic`` for clients that ask; they are told nothing unasked.

Source: spec sidecar.md section 3; LSP 3.17, pull diagnostics.
"""

from lsprotocol import types

from ..findings import SOURCE
from ..server import EditorServer


def register_for(server: EditorServer, capabilities: types.ClientCapabilities) -> None:
    """Add the feature when the client can pull; the server stops pushing then."""
    document = capabilities.text_document
    if document is None or document.diagnostic is None:
        return
    server.diagnostics.pushes = False
    options = types.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False, identifier=SOURCE)

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def diagnostic(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        report = await server.diagnostics.report(params.text_document.uri)
        if report is None:
            return types.RelatedFullDocumentDiagnosticReport(items=[])
        if report.identity == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(report.identity)
        return types.RelatedFullDocumentDiagnosticReport(report.items, result_id=report.identity)
