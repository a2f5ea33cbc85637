"""Open documents: the editor's text, kept equal to it change by change.

Guarantees: lines end at ``\\r\\n``, ``\\n`` and ``\\r`` only; a position behind the end of a line or of the text is
that end; a change older than the text is ignored. Limit: a client that never counts its versions is believed.

Source: spec sidecar.md section 3; LSP 3.17, text documents.
"""

import re
from collections.abc import Sequence
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import PositionCodec, TextDocument, Workspace

from .positions import index_at

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` with their ends; the last one has none and may be empty."""
    if "\r" not in text:
        *ended, last = text.split("\n")
        return [f"{line}\n" for line in ended] + [last]
    lines: list[str] = _LINE.findall(text)
    if text.endswith(("\r", "\n")):
        lines.append("")
    return lines


class Document(TextDocument):
    """The text of an open document, as :func:`split_lines` gives it, and joined when somebody asks.

    A document that is not open has no text here: what lies on the disk is for the file truth to read.
    """

    def __init__(
        self, uri: str, source: str | None, version: int | None, language_id: str | None, position_codec: PositionCodec
    ) -> None:
        super().__init__(uri, version=version, language_id=language_id, position_codec=position_codec)
        self._text: str | None = source or ""
        self._lines = split_lines(self._text or "")

    @property
    def encoding(self) -> str:
        """The unit of the client's positions, a :class:`~lsprotocol.types.PositionEncodingKind`."""
        return self.position_codec.encoding or types.PositionEncodingKind.Utf16

    @property
    def source(self) -> str:
        """The whole text."""
        if self._text is None:
            self._text = "".join(self._lines)
        return self._text

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their ends; an empty last one counts."""
        return self._lines

    def replace(self, text: str) -> None:
        """Take a whole new text."""
        self._text = text
        self._lines = split_lines(text)

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply one change of a ``didChange``."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            self._splice(change.range, change.text)
        else:
            self.replace(change.text)

    def _splice(self, where: types.Range, text: str) -> None:
        (first, start), (last, end) = sorted((self._place(where.start), self._place(where.end)))
        lines = self._lines
        region = lines[first][:start] + text + lines[last][end:]
        if first and lines[first - 1].endswith("\r"):  # a line feed that comes behind it makes one line end of both
            first -= 1
            region = lines[first] + region
        spliced = split_lines(region)
        if last < len(lines) - 1:
            spliced.pop()  # the region ends with the end of a line, and the next line is there already
        lines[first : last + 1] = spliced
        self._text = None

    def _place(self, position: types.Position) -> tuple[int, int]:
        """Line and index of a client's position, drawn into the text."""
        if position.line >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        return position.line, index_at(self._lines[position.line].rstrip("\r\n"), position.character, self.encoding)


class EditorWorkspace(Workspace):
    """A workspace of :class:`Document`."""

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> Document:
        return Document(doc_uri, source, version, language_id, self.position_codec)

    def open_document(self, uri: str) -> Document | None:
        """The document when it is open."""
        document = self.text_documents.get(unquote(uri))
        return document if isinstance(document, Document) else None

    def open_documents(self) -> list[Document]:
        """All that are open."""
        return [document for document in self.text_documents.values() if isinstance(document, Document)]

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        """Apply a change unless the document is not open or the change is older than its text."""
        document = self.open_document(text_doc.uri)
        if document is not None and text_doc.version >= (document.version or 0):
            document.apply_change(change)
            document.version = text_doc.version
