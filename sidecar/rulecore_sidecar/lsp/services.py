"""What the language server asks of the rest of the sidecar. Nothing of LSP or pygls is known here.

Everything is called on the event loop's thread, in the order in which the editor's messages came.
Source: spec sidecar.md sections 1 to 4.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from rulecore_kernel.analysis import Config
from rulecore_kernel.values import Json, JsonObject


class EditorSink(Protocol):
    """Takes an editor's buffers. ``path`` is absolute, not resolved; ``text`` keeps its line endings.

    ``editor`` names one editor window: the client's name and the server's process id. Only documents of
    ``file:`` URIs come here. Implementations must not block and must not raise.
    """

    def open(self, path: Path, text: str, version: int, editor: str) -> None:
        """The editor shows ``text``; what lies on the disk no longer counts."""

    def change(self, path: Path, text: str, version: int, editor: str) -> None:
        """The whole text after a change. Versions never fall between ``open`` and ``close``."""

    def save(self, path: Path, text: str | None, version: int, editor: str) -> None:
        """The buffer was written. ``text`` is what the editor says it wrote, None when it does not say."""

    def close(self, path: Path, editor: str) -> None:
        """The disk counts again: the buffer was closed, or the server lost track of it."""

    def touched(self, paths: Sequence[Path]) -> None:
        """The editor's watcher reports these files. A hint: something may have changed there."""


class Dispatch(Protocol):
    """Answers the ``rulecore/*`` requests of an editor as the guard service answers those of its socket."""

    @property
    def methods(self) -> Collection[str]:
        """The names of the methods that are answered."""

    def __call__(self, method: str, params: JsonObject) -> Json | Awaitable[Json]:
        """The result: at once, which keeps the order of the wire, or an awaitable when it must be fetched.

        Raises :class:`rulecore_sidecar.rpc.RpcError` (or its awaitable does) for what the caller did wrong.
        """


class Services(Protocol):
    """One workspace's services, run in the language server's event loop."""

    @property
    def sink(self) -> EditorSink:
        """Where the editor's buffers go; the same object every time."""

    @property
    def dispatch(self) -> Dispatch:
        """Who answers ``rulecore/*``."""

    def analysis_config(self, path: Path) -> Config:
        """The thresholds and switches for ``path``. Must be quick: it is asked before every analysis."""

    async def start(self) -> None:
        """Get ready. Called once, before ``initialize`` is answered; 10 s are allowed."""

    async def stop(self) -> None:
        """Let go of everything. Called once after :meth:`start`; 5 s are allowed."""


MakeServices = Callable[[Path], Services]
"""From the absolute path of a workspace folder. Must not block; the work is done in ``start``."""
