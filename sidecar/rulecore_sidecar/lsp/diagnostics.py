"""When an open document is looked at, and when the editor is told: the same for push and pull.

Guarantees: a text is looked at when nothing was typed for :data:`PAUSE`; a report always belongs to the text that
is open when it is given; work for an older text is dropped. A client that pulls is never pushed to.
Source: spec sidecar.md section 3.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final, NamedTuple
from urllib.parse import unquote

from lsprotocol.types import Diagnostic

log = logging.getLogger("rulecore.lsp")

PAUSE: Final = 0.150
"""Seconds without a change before a text is looked at."""


class Report(NamedTuple):
    """What there is to say about a document. ``identity`` differs for every report of this process."""

    identity: str
    items: list[Diagnostic]


class _State:
    """One open document: its changes are counted, its report is of the last of them or None."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.due = 0.0
        self.changes = 0
        self.report: Report | None = None
        self.turn = asyncio.Lock()
        self.task: asyncio.Task[None] | None = None


class Diagnostics:
    """Reports of open documents by URI, however its characters are escaped.

    ``look`` works out the diagnostics of a document as it is now. ``publish`` sends them to a client that waits to
    be told; set :attr:`pushes` to False for one that asks.
    """

    def __init__(
        self, look: Callable[[str], Awaitable[list[Diagnostic]]], publish: Callable[[str, list[Diagnostic]], None]
    ) -> None:
        self._look = look
        self._publish = publish
        self._states: dict[str, _State] = {}
        self._identities = count(1)
        self.pushes = True

    def opened(self, uri: str) -> None:
        """A document was opened."""
        self._forget(uri)
        self._states[unquote(uri)] = _State(uri)
        self._schedule(uri, 0.0)

    def changed(self, uri: str) -> None:
        """Its text is another now."""
        self._schedule(uri, PAUSE)

    def closed(self, uri: str) -> None:
        """It was closed; what was pushed for it is taken back."""
        state = self._forget(uri)
        if self.pushes and state is not None:
            self._publish(state.uri, [])

    def refresh(self) -> None:
        """What holds for all of them has changed."""
        for state in self._states.values():
            self._schedule(state.uri, 0.0)

    async def report(self, uri: str) -> Report | None:
        """What there is to say about the document when it rests; None when it is not open (any more)."""
        while (state := self._states.get(unquote(uri))) is not None:
            if (rest := state.due - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(rest)
                continue
            async with state.turn:
                if state.report is None:
                    changes = state.changes
                    items = await self._look(uri)
                    if state.changes == changes:
                        state.report = Report(str(next(self._identities)), items)
            if state.report is not None and self._states.get(unquote(uri)) is state:
                return state.report
        return None

    def _schedule(self, uri: str, pause: float) -> None:
        state = self._states[unquote(uri)]
        state.due = asyncio.get_running_loop().time() + pause
        state.changes += 1
        state.report = None
        if self.pushes:
            if state.task is not None:
                state.task.cancel()
            state.task = asyncio.create_task(self._push(state.uri))

    async def _push(self, uri: str) -> None:
        report = await self.report(uri)
        if report is not None:
            self._publish(uri, report.items)

    def _forget(self, uri: str) -> _State | None:
        state = self._states.pop(unquote(uri), None)
        if state is not None and state.task is not None:
            state.task.cancel()
        return state
