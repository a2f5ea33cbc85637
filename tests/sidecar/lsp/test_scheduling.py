"""When a document is looked at: after a pause, for its last text, in one way only."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

import pytest
from lsprotocol.types import Diagnostic, Position, Range

from rulecore_sidecar.lsp import diagnostics as module
from rulecore_sidecar.lsp.diagnostics import Diagnostics

URI, OTHER = "file:///a.py", "file:///b.py"


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.01)


class Editor:
    """Texts, what was looked at, and what was pushed."""

    def __init__(self) -> None:
        self.texts = {URI: "", OTHER: ""}
        self.looked: list[tuple[str, str]] = []
        self.pushed: list[tuple[str, list[str]]] = []
        self.gate: Callable[[], Awaitable[None]] | None = None
        self.diagnostics = Diagnostics(self._look, self._push)

    async def _look(self, uri: str) -> list[Diagnostic]:
        text = self.texts[uri]
        self.looked.append((uri, text))
        if self.gate is not None:
            await self.gate()
        return [Diagnostic(Range(Position(0, 0), Position(0, 1)), text)]

    def _push(self, uri: str, items: list[Diagnostic]) -> None:
        self.pushed.append((uri, [item.message for item in items]))

    def type(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self.diagnostics.changed(uri)

    async def pull(self, uri: str = URI) -> list[str] | None:
        report = await self.diagnostics.report(uri)
        return None if report is None else [item.message for item in report.items]


async def settle() -> None:
    await asyncio.sleep(0.05)


def run(test: Callable[[Editor], Coroutine[object, object, None]], pushes: bool) -> Editor:
    async def inside() -> Editor:
        editor = Editor()
        editor.diagnostics.pushes = pushes
        await test(editor)
        return editor

    return asyncio.run(inside())


def test_many_keystrokes_are_one_look_and_one_push() -> None:
    async def test(editor: Editor) -> None:
        editor.diagnostics.opened(URI)
        for n in range(20):
            editor.type(URI, str(n))
            await asyncio.sleep(0)
        await settle()

    assert run(test, pushes=True).pushed == [(URI, ["19"])]


def test_a_look_that_was_overtaken_is_dropped() -> None:
    async def test(editor: Editor) -> None:
        async def type_meanwhile() -> None:
            editor.gate = None
            editor.type(URI, "new")

        editor.texts[URI], editor.gate = "old", type_meanwhile
        editor.diagnostics.opened(URI)
        assert await editor.pull() == ["new"]

    assert [text for _, text in run(test, pushes=False).looked] == ["old", "new"]


def test_closing_takes_back_and_stops() -> None:
    async def test(editor: Editor) -> None:
        editor.diagnostics.opened(URI)
        editor.diagnostics.opened(OTHER)
        editor.diagnostics.closed(URI)
        await settle()

    assert run(test, pushes=True).pushed == [(URI, []), (OTHER, [""])]


def test_a_client_that_pulls_is_not_pushed_to() -> None:
    async def test(editor: Editor) -> None:
        editor.diagnostics.opened(URI)
        editor.type(URI, "x")
        assert await editor.pull() == ["x"]
        editor.diagnostics.refresh()
        editor.diagnostics.closed(URI)
        await settle()
        assert await editor.pull() is None

    assert run(test, pushes=False).pushed == []


def test_pulls_share_a_look_and_its_identity() -> None:
    async def test(editor: Editor) -> None:
        editor.gate = settle
        editor.diagnostics.opened(URI)
        first, second = await asyncio.gather(editor.diagnostics.report(URI), editor.diagnostics.report(URI))
        assert first is not None
        assert first is second
        editor.diagnostics.refresh()
        third = await editor.diagnostics.report(URI)
        assert third is not None
        assert third.identity != first.identity

    assert len(run(test, pushes=False).looked) == 2


def test_a_cancelled_pull_leaves_the_next_one_alone() -> None:
    async def test(editor: Editor) -> None:
        stuck = asyncio.Event()

        async def hang() -> None:
            await stuck.wait()

        editor.gate = hang
        editor.diagnostics.opened(URI)
        task = asyncio.create_task(editor.pull())
        await asyncio.sleep(0.01)
        task.cancel()
        editor.gate = None
        assert await editor.pull() == [""]

    run(test, pushes=False)


def test_opening_again_starts_afresh() -> None:
    async def test(editor: Editor) -> None:
        editor.diagnostics.opened(URI)
        await settle()
        editor.texts[URI] = "again"
        editor.diagnostics.opened(URI)
        await settle()

    assert run(test, pushes=True).pushed == [(URI, [""]), (URI, ["again"])]
