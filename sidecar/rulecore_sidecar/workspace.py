"""The files of a workspace as the guards need them: facts for a call, who changed what, and the editors' buffers.

What a read returns is the disk; what an edit starts from is the editor's unsaved text where there is any. Who changed a
file is told from what this process saw happen: another session's edit, an editor's save or unsaved text, the agent's
own command, a move of git's HEAD; else it is somebody else.

Limit: what happened while no sidecar ran is somebody else's. Source: spec agents.md section 2.3, sidecar.md section 2.
"""

import asyncio
import base64
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from rulecore_kernel.rules.guards.events import Call, FileFact, OpKind, Range, Result
from rulecore_kernel.rules.guards.session import SeenRecord, Session
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar import wire
from rulecore_sidecar.store import Cached
from rulecore_sidecar.truth.consistency import ExternalConsistency, external_consistency
from rulecore_sidecar.truth.filetruth import FileTruth
from rulecore_sidecar.truth.lines import changed_ranges
from rulecore_sidecar.truth.listing import list_files
from rulecore_sidecar.truth.values import Kind, Snapshot, View

UNSAVED = "unsaved text in the editor (ask the user to save it)"
SAVED = "a save in the editor"
GIT = "git (HEAD moved)"
SOMEBODY = "somebody else"
_HEAD_MOVES_KEPT = 16
_ARTIFACTS_KEPT = 10_000
_UNSTABLE = "unstable"
_CLOCK_GRAIN = 0.05
"""Seconds by which a file's time may lie outside the command that wrote it."""


class Window(NamedTuple):
    """When a command of an agent ran (seconds since the epoch), to tell its own changes from others'."""

    started: float
    ended: float
    command: str

    def covers(self, moment: float) -> bool:
        """True when something that happened at ``moment`` may be the command's doing."""
        return self.started - _CLOCK_GRAIN <= moment <= self.ended + _CLOCK_GRAIN


class Workspace:
    """One workspace's file truth in the guards' terms. For the thread of the event loop."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self.root = root
        self.truth = FileTruth(root, lambda: int(clock() * 1e9))
        self.editor = EditorBuffers(self.truth)
        self._clock = clock
        self._head_moves: list[float] = []
        self._artifacts: set[str] = set()
        self.swept = False

    @property
    def generation(self) -> int:
        """How many changes were accepted so far."""
        return self.truth.generation

    def key(self, path: str, cwd: str | None) -> str:
        """How this workspace names ``path``; the path itself when it lies outside."""
        absolute = path if os.path.isabs(path) else os.path.join(cwd or self.root, path)
        place = self.truth.paths.locate(absolute)
        return place.key if place.inside else absolute

    def facts(self, call: Call, session: Session, windows: Iterable[Window]) -> dict[str, FileFact]:
        """The files that ``call`` names, before it runs: what its reads would get, what its edits start from."""
        facts: dict[str, FileFact] = {}
        for op in call.ops:
            if op.path is None or op.kind not in (OpKind.READ, OpKind.EDIT):
                continue
            if op.kind is OpKind.READ:
                facts.setdefault(op.path, FileFact(_content(self.truth.disk(op.path))))
                continue
            view = self.truth.effective(op.path)
            seen = session.seen.get(op.path)
            fact = FileFact(_content(view))
            if seen is not None and seen.hash != fact.hash and fact.hash is not None:
                fact = fact._replace(changed=self._changed(seen, view), who=self._who(view, windows))
            facts[op.path] = fact
        return facts

    def facts_after(self, call: Call, session: Session) -> dict[str, FileFact]:
        """The files that ``call`` names, after it ran, with line digests of what was read or written."""
        facts: dict[str, FileFact] = {}
        for op in call.ops:
            if op.path is None or op.path in facts or op.kind not in (OpKind.READ, OpKind.EDIT):
                continue
            view = self.truth.disk(op.path)
            lines = self._lines(view)
            seen = session.seen.get(op.path)
            changed = self._changed(seen, view) if seen is not None and seen.hash != view.hash else None
            facts[op.path] = FileFact(_content(view), lines, changed)
        return facts

    def _lines(self, view: View) -> str | None:
        digests = self.truth.line_digests(view)
        return None if digests is None else base64.b85encode(digests).decode()

    def _changed(self, seen: SeenRecord, view: View) -> tuple[Range, ...] | None:
        now = self.truth.line_digests(view)
        if seen.lines is None or now is None:
            return None
        return tuple(Range(start, end) for start, end in changed_ranges(base64.b85decode(seen.lines), now))

    def _who(self, view: View, windows: Iterable[Window]) -> str:
        if view.open and not view.saved:
            return UNSAVED
        known = self.truth.writer_of(view.key)
        if known is not None:
            return known
        changed_at = view.mtime_ns / 1e9
        for window in windows:
            if window.covers(changed_at):
                return f"your own command {window.command}"
        if any(abs(moved - changed_at) <= 1.0 for moved in self._moves_of_head()):
            return GIT
        return SOMEBODY

    def _moves_of_head(self) -> list[float]:
        if self.truth.poll_head():
            self._head_moves = [*self._head_moves, self._clock()][-_HEAD_MOVES_KEPT:]
        return self._head_moves

    def wrote(self, key: str, content: str | None, who: str) -> None:
        """Remember that ``who`` gave ``key`` this content."""
        self.truth.note_write(key, content, who)

    def cached(self, call: Call, result: Result) -> Iterator[Cached]:
        """What the kernel's fileCache learns from a call that ran: the contents that the agent now knows."""
        if result.failed:
            return
        for op in call.ops:
            if op.path is not None and op.kind in (OpKind.READ, OpKind.EDIT):
                view = self.truth.disk(op.path)
                if view.hash is not None:
                    yield Cached(view.key, view.hash, view.mtime_ns / 1e9)

    def consistency(self, cached: Iterable[Cached]) -> ExternalConsistency:
        """Cached files whose present content is another one, and those that cannot be looked at."""
        return external_consistency(self.truth, {entry.path: {"hash": entry.hash} for entry in cached})

    async def sweep(self) -> list[tuple[str, str | None]]:
        """Look at everything, letting other work in between; returns what somebody changed, with its content's hash.

        The first sweep finds everything and returns nothing.
        """
        self._moves_of_head()
        known = self.truth.snapshot()
        self.truth.overflow()
        scope = self.truth.take_scope()
        listing = await asyncio.to_thread(list_files, self.truth.root, scope.under)
        changed: list[str] = []
        for batch in chain(self.truth.look_again(scope.known), self.truth.look_again(self.truth.new_paths(listing))):
            changed += batch
            await asyncio.sleep(0)
        if not self.swept:
            self.swept = True
            return []
        return self._by_others(changed, known, None)

    def look_around(self, window: Window) -> list[tuple[str, str | None]]:
        """Look at everything at once: what somebody changed since the last look, before a command is called a loop.

        Files that came into being while a command ran (``window`` or an earlier one) are its artifacts; that it writes
        them again is no news. Empty before the first sweep, which is what there would be to compare with.
        """
        if not self.swept:
            return []
        known = self.truth.snapshot()
        return self._by_others(self.truth.sweep().changed, known, window)

    def _by_others(
        self, changed: Iterable[str], known: Snapshot, window: Window | None
    ) -> list[tuple[str, str | None]]:
        found: list[tuple[str, str | None]] = []
        for key in changed:
            view = self.truth.disk(key)
            during = window is not None and window.covers(view.mtime_ns / 1e9)
            if during and key not in known and len(self._artifacts) < _ARTIFACTS_KEPT:
                self._artifacts.add(key)
            if not (during and key in self._artifacts) and self.truth.writer_of(key) is None:
                found.append((key, _content(view)))
        return found

    def is_tracked(self, path: str) -> bool:
        """True when git tracks something under ``path`` of the root."""
        command = ["git", "-C", str(self.root), "ls-files", "-z", "--", path]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            done = subprocess.run(command, capture_output=True, timeout=5, env=environment, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0 and bool(done.stdout)


def _content(view: View) -> str | None:
    return _UNSTABLE if view.kind is Kind.UNSTABLE else view.hash


class EditorBuffers:
    """``rulecore/editor/*``: the buffers of every editor on this workspace, its own or forwarded."""

    def __init__(self, truth: FileTruth) -> None:
        self._truth = truth

    def methods(self) -> Mapping[str, Callable[[JsonObject], Json]]:
        """The methods by the last part of their names."""
        return {
            "open": self.open,
            "change": self.change,
            "save": self.save,
            "close": self.close,
            "touched": self.touched,
        }

    def open(self, params: JsonObject) -> Json:
        """{path, text, version, editor}"""
        return self._truth.did_open(*_document(params), wire.number(params, "version") or 0, _editor(params))

    def change(self, params: JsonObject) -> Json:
        """{path, text, version, editor}: the whole text."""
        return self._truth.did_change(*_document(params), wire.number(params, "version") or 0, _editor(params))

    def save(self, params: JsonObject) -> Json:
        """{path, text?, editor}. Answers true when the buffer and the saved text differed, said once a document."""
        return self._truth.did_save(_path(params), wire.text(params, "text"), _editor(params))

    def close(self, params: JsonObject) -> Json:
        """{path, editor}"""
        return self._truth.did_close(_path(params), _editor(params))

    def touched(self, params: JsonObject) -> Json:
        """{paths}: hints that something may have changed."""
        paths = params.get("paths")
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise wire.WireError("paths must be an array of strings")
        for path in paths:
            self._truth.touched(str(path))
        return True

    def gone(self, editor: str) -> None:
        """The connection of ``editor`` ended: its buffers count no longer."""
        self._truth.drop_editor(editor)


def _path(params: JsonObject) -> str:
    path = wire.text(params, "path")
    if path is None or not os.path.isabs(path):
        raise wire.WireError(f"path must be an absolute path, got {path!r}")
    return path


def _document(params: JsonObject) -> tuple[str, str]:
    text = wire.text(params, "text")
    if text is None:
        raise wire.WireError("text is missing: the whole text of the buffer")
    return _path(params), text


def _editor(params: JsonObject) -> str:
    return wire.text(params, "editor", "editor") or "editor"
