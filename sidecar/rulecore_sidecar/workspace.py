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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from rulecore_kernel.rules.guards.events import Call, FileFact, OpKind, Range, Result
from rulecore_kernel.rules.guards.reads import UNSTABLE
from rulecore_kernel.rules.guards.session import SeenRecord, Session
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar import wire
from rulecore_sidecar.store import Cached
from rulecore_sidecar.truth.consistency import ExternalConsistency, external_consistency
from rulecore_sidecar.truth.filetruth import EDITOR, FileTruth
from rulecore_sidecar.truth.lines import changed_ranges
from rulecore_sidecar.truth.listing import list_files
from rulecore_sidecar.truth.values import Kind, View

UNSAVED = "unsaved text in the editor (ask the user to save it)"
SAVED = "a save in the editor"
GIT = "git (HEAD moved)"
SOMEBODY = "somebody else"
_HEAD_MOVES_KEPT = 16
_ARTIFACTS_KEPT = 10_000
_ITS_OWN = 2
"""Runs of a command that changed a file, from which on the file counts as the command's own."""
_LOOK_AROUND_FILES = 8_000
_DIGESTS_KEPT = 4 * 4_000
"""Bytes of line digests that a session keeps of one file; of a longer one it is not known which lines changed."""
_CLOCK_GRAIN = 0.015
"""Seconds by which a file's time, taken from a coarser clock, may lie before the command that wrote it."""


class Window(NamedTuple):
    """When a command of an agent ran (seconds since the epoch), to tell its own changes from others'."""

    started: float
    ended: float
    command: str

    def covers(self, moment: float) -> bool:
        """True when something that happened at ``moment`` may be the command's doing."""
        return self.started - _CLOCK_GRAIN <= moment <= self.ended


class Looked(NamedTuple):
    """The files of a call before it runs: the kernel's facts, and what lies on the disk (path → hash)."""

    facts: dict[str, FileFact]
    contents: dict[str, str | None]


class Workspace:
    """One workspace's file truth in the guards' terms. For the thread of the event loop."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self.root = root
        self.truth = FileTruth(root, lambda: int(clock() * 1e9))
        self.editor = EditorBuffers(self.truth)
        self._clock = clock
        self._head_moves: list[float] = []
        self._artifacts: dict[tuple[str, str], int] = {}
        self.swept = False

    @property
    def generation(self) -> int:
        """How many changes were accepted so far."""
        return self.truth.generation

    def key(self, path: str, cwd: str | None) -> str:
        """How this workspace names ``path``, symlinks followed; the path itself when it lies outside."""
        absolute = path if os.path.isabs(path) else os.path.join(cwd or self.root, path)
        place = self.truth.paths.locate(absolute)
        if not place.inside:
            return absolute
        if not os.path.islink(place.path):  # noqa: PTH114 - one lstat; the file itself is looked at later
            return place.key
        seen = self.truth.disk(place.key)
        return absolute if seen.kind is Kind.OUTSIDE else seen.key

    def facts(self, call: Call, session: Session, windows: Iterable[Window]) -> Looked:
        """The files that ``call`` names, before it runs: what its reads would get, what its edits start from."""
        facts: dict[str, FileFact] = {}
        contents: dict[str, str | None] = {}
        for op in call.ops:
            if op.path is None or op.kind not in (OpKind.READ, OpKind.EDIT):
                continue
            view = self.truth.disk(op.path)
            contents[op.path] = _content(view)
            buffer = self.truth.overlays.get(view.key)
            unsaved = buffer is not None and not buffer.saved
            if op.kind is OpKind.READ:
                # What the guard last said of unsaved text sends the agent here: never call that read redundant.
                facts.setdefault(op.path, FileFact(None if unsaved else contents[op.path]))
                continue
            view = self.truth.view(op.path) if unsaved else view
            seen = session.seen.get(op.path)
            fact = FileFact(_content(view), unsaved=unsaved)
            if seen is not None and seen.hash != fact.hash and fact.hash is not None:
                fact = fact._replace(changed=self._changed(seen, view), who=self._who(view, windows))
            facts[op.path] = fact
        return Looked(facts, contents)

    def facts_after(self, call: Call, session: Session, before: Mapping[str, str | None]) -> dict[str, FileFact]:
        """The files that ``call`` names, after it ran, with line digests of what was read or written.

        ``before`` are the contents when it was let through: what was read while it changed is nothing to build on.
        """
        facts: dict[str, FileFact] = {}
        for op in call.ops:
            if op.path is None or op.path in facts or op.kind not in (OpKind.READ, OpKind.EDIT):
                continue
            view = self.truth.disk(op.path)
            lines = self._lines(view)
            seen = session.seen.get(op.path)
            changed = self._changed(seen, view) if seen is not None and seen.hash != view.hash else None
            content = _content(view)
            if op.kind is OpKind.READ and before.get(op.path, content) != content:
                content = UNSTABLE
            facts[op.path] = FileFact(content, lines, changed)
        return facts

    def _lines(self, view: View) -> str | None:
        digests = self.truth.line_digests(view)
        if digests is None or len(digests) > _DIGESTS_KEPT:
            return None
        return base64.b85encode(digests).decode()

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

    async def sweep(self, windows: Iterable[Window]) -> dict[str, str | None]:
        """Look at everything, letting other work in between; returns what somebody changed: path → content.

        ``windows`` are those of the commands that ran lately. The first sweep finds everything and returns nothing.
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
            return {}
        return self._by_others(changed, known, list(windows))

    def look_around(self, windows: Iterable[Window]) -> dict[str, str | None]:
        """Look at every known file at once: what somebody changed since the last look, before a call is held against
        an agent.

        Files that came into being while a command ran, or that change in every run of it, are its artifacts; that it
        writes them again is no news. Limits: empty before the first sweep, which is what there is to compare with, and
        in workspaces of more than 8,000 files, where only the sweeps tell; new files are left to the sweeps as well.
        """
        known = self.truth.snapshot()
        if not self.swept or len(known) > _LOOK_AROUND_FILES:
            return {}
        changed = [key for batch in self.truth.look_again(list(known)) for key in batch]
        return self._by_others(changed, known, list(windows))

    def _by_others(
        self, changed: Iterable[str], known: Mapping[str, View], windows: Sequence[Window]
    ) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for key in changed:
            view = self.truth.disk(key)
            during = next((w for w in windows if w.covers(view.mtime_ns / 1e9)), None)
            if during is not None and self._is_artifact(key, during, new=key not in known):
                continue
            writer = self.truth.writer_of(key)
            if writer is None or writer == EDITOR:
                found[key] = _content(view)
        return found

    def _is_artifact(self, key: str, window: Window, *, new: bool) -> bool:
        runs = self._artifacts.get((key, window.command), 0) + 1
        if len(self._artifacts) < _ARTIFACTS_KEPT or (key, window.command) in self._artifacts:
            self._artifacts[(key, window.command)] = _ITS_OWN if new else runs
        return new or runs >= _ITS_OWN

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
    return UNSTABLE if view.kind is Kind.UNSTABLE else view.hash


class EditorBuffers:
    """``rulecore/editor/*``: the buffers of every editor on this workspace, its own or forwarded."""

    def __init__(self, truth: FileTruth) -> None:
        self._truth = truth
        self.saved: Callable[[str, str | None], None] | None = None
        """Told of each file that an editor wrote, with its content's hash."""

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
        say = self._truth.did_save(_path(params), wire.text(params, "text"), _editor(params))
        view = self._truth.disk(_path(params))
        if self.saved is not None and view.kind is not Kind.OUTSIDE:
            self.saved(view.key, _content(view))
        return say

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
