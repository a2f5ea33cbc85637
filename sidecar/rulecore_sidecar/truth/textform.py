"""How a document's text becomes the bytes of its file, so that the hash of a buffer is comparable with the disk's.

LSP carries text only: the byte order mark is stripped, and some editors send LF for a CRLF file. The form is found
once, when the document is opened, by looking which one turns the text into exactly the bytes on the disk.
Limit: a buffer that is unsaved when it is opened and not UTF-8 with or without mark is taken for UTF-8; it then counts
as unsaved until its next save. Source: spec sidecar.md §2.
"""

import codecs
from typing import NamedTuple


class TextForm(NamedTuple):
    """Codec, byte order mark, and whether LF in the text is CRLF in the file."""

    codec: str = "utf-8"
    mark: bytes = b""
    crlf: bool = False

    def encode(self, text: str) -> bytes:
        """The bytes of ``text``; UTF-8 where the codec has no such character (lone surrogates pass through)."""
        if self.crlf and "\r" not in text:
            text = text.replace("\n", "\r\n")
        try:
            return self.mark + text.encode(self.codec)
        except UnicodeEncodeError:
            return text.encode("utf-8", "surrogatepass")


_CODECS = (
    ("utf-8", b""),
    ("utf-8", codecs.BOM_UTF8),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
    ("latin-1", b""),
    ("cp1252", b""),
)


def form_of(text: str, data: bytes) -> TextForm:
    """The form under which ``text`` is the file ``data``, else the likeliest one by its mark and line endings."""
    crlf = b"\r\n" in data and "\r" not in text
    forms = [TextForm(codec, mark, crlf) for codec, mark in _CODECS]
    for form in forms:
        if data.startswith(form.mark) and form.encode(text) == data:
            return form
    return next((form for form in forms if form.mark and data.startswith(form.mark)), forms[0])
