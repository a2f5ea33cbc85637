"""The language server with services that remember what they were told. Run as a script by the tests.

Arguments: ``--threads`` for the reading and writing of Windows; ``--broken`` for services that do not start;
``--quiet`` for no log.
"""

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

from rulecore_kernel.analysis import Config, path_class
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.lsp.main import run, serve_stdio
from rulecore_sidecar.rpc import METHOD_NOT_FOUND, RpcError

KEPT = 20
DOCS = "https://docs.example/rules/"


class Sink:
    """Remembers every call."""

    def __init__(self) -> None:
        self.calls: list[Json] = []

    def open(self, path: Path, text: str, version: int, editor: str) -> None:
        self.calls.append(["open", str(path), text, version, editor])

    def change(self, path: Path, text: str, version: int, editor: str) -> None:
        self.calls.append(["change", str(path), text, version])
        del self.calls[:-KEPT]

    def save(self, path: Path, text: str | None, version: int, editor: str) -> None:
        self.calls.append(["save", str(path), text, version])

    def close(self, path: Path, editor: str) -> None:
        self.calls.append(["close", str(path)])

    def touched(self, paths: Sequence[Path]) -> None:
        self.calls.append(["touched", *map(str, paths)])


class Services:
    """Answers a few methods that the tests need."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.sink = Sink()
        self.config = Config()
        self._answers: dict[str, Callable[[JsonObject], Json | Awaitable[Json]]] = {
            "rulecore/calls": lambda _: list(self.sink.calls),
            "rulecore/echo": lambda params: params,
            "rulecore/halt/clear": lambda params: {"cleared": 1, "params": params},
            "rulecore/late": self._late,
            "rulecore/print": self._print,
            "rulecore/root": lambda _: str(root),
            "rulecore/defect": self._defect,
            "rulecore/state/get": self._defect,
            "rulecore/allow": self._allow,
            "rulecore/block": self._block,
        }

    @property
    def dispatch(self) -> "Services":
        return self

    @property
    def methods(self) -> Collection[str]:
        return self._answers.keys()

    def __call__(self, method: str, params: JsonObject) -> Json | Awaitable[Json]:
        if method not in self._answers:
            raise RpcError(METHOD_NOT_FOUND, "rulecore/ping lists what there is")
        return self._answers[method](params)

    def analysis_config(self, path: Path) -> Config:
        return self.config._replace(path_class=path_class(path.relative_to(self._root).as_posix()))

    async def start(self) -> None:
        if "--broken" in sys.argv:
            raise OSError("the lock is held")
        print(f"started {self._root.name}", flush=True)
        await asyncio.sleep(0)

    async def stop(self) -> None:
        print(f"stopped {self._root.name}", flush=True)

    async def _late(self, params: JsonObject) -> Json:
        seconds = params.get("seconds")
        await asyncio.sleep(seconds if isinstance(seconds, int | float) else 0.0)
        if params.get("refuse"):
            raise RpcError(-32050, "refused")
        return {"late": True}

    def _print(self, _: JsonObject) -> Json:
        print("stray text")
        subprocess.run([sys.executable, "-c", "import sys; print('from a child', sys.stdin.read())"], check=True)
        return None

    def _defect(self, _: JsonObject) -> Json:
        raise ZeroDivisionError("secret/path.py")

    def _allow(self, params: JsonObject) -> Json:
        rule = params.get("rule")
        self.config = self.config._replace(allowed=frozenset({str(rule)}))
        return None

    def _block(self, _: JsonObject) -> Json:
        """Keep a thread busy for longer than any test waits."""
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
        return None


if __name__ == "__main__":
    logging.basicConfig(level=logging.CRITICAL if "--quiet" in sys.argv else logging.DEBUG)
    if "--threads" in sys.argv:
        sys.exit(asyncio.run(serve_stdio(Services, DOCS, threads=True)))
    run(Services, DOCS)
