"""The language server's figures beside stock pygls. Run: ``python tests/benchmarks/bench_lsp.py [--quick]``.

Both servers run at the same time and are asked in turns, since a ratio travels from machine to machine and a time does
not. Stock is pygls' own loop with the same method as an untyped feature, incremental synchronisation, no diagnostics.
Goal (spec sidecar.md §3): a 1,000-line file answers in < 10 ms after the pause.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

FAKE_SERVER = Path(__file__).resolve().parents[1] / "sidecar" / "lsp" / "fake_server.py"
OURS = [sys.executable, "-I", str(FAKE_SERVER), "--quiet"]
STOCK = [sys.executable, "-I", __file__, "--stock"]
WARM_UP = 20


class Wire:
    """A server process and a blocking conversation with it."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._serial = 0
        self._versions: dict[str, int] = {}

    def send(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        for message in messages:
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next answer; everything else is skipped."""
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()).strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not length:
                raise EOFError("the server has ended")
            message: dict[str, Any] = json.loads(stream.read(length))
            if "method" not in message:
                return message

    def ask(self, method: str, params: object) -> Any:
        self._serial += 1
        self.send({"id": self._serial, "method": method, "params": params})
        answer = self.receive()
        assert answer["id"] == self._serial and "error" not in answer, answer
        return answer["result"]

    def initialize(self) -> None:
        root = Path("/w").absolute().as_uri()
        pulling: dict[str, Any] = {"textDocument": {"diagnostic": {}}}
        self.ask("initialize", {"processId": None, "rootUri": root, "capabilities": pulling})
        self.send({"method": "initialized", "params": {}})

    def open(self, uri: str, text: str) -> None:
        self._versions[uri] = 1
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def change(self, uri: str, changes: list[dict[str, Any]]) -> None:
        self._versions[uri] += 1
        document = {"uri": uri, "version": self._versions[uri]}
        self.send({"method": "textDocument/didChange", "params": {"textDocument": document, "contentChanges": changes}})


def stock() -> None:
    """Stock pygls, as its documentation would have it."""
    from pygls.lsp.server import LanguageServer

    server = LanguageServer("stock", "1")

    @server.feature("rulecore/echo")
    def echo(params: Any) -> Any:
        return {"action": "allow", "tool": params.tool}

    @server.feature("textDocument/didOpen")
    def did_open(params: Any) -> None:
        return None

    server.start_io()


def percentiles(samples: list[float]) -> tuple[float, float]:
    """p50 and p99."""
    ordered = sorted(samples)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


def in_turns(wires: Sequence[Wire], rounds: int, work: Callable[[Wire], object]) -> list[tuple[float, float]]:
    """p50 and p99 in milliseconds for each wire."""
    samples: list[list[float]] = [[] for _ in wires]
    for number in range(rounds + WARM_UP):
        for wire, times in zip(wires, samples, strict=True):
            begun = time.perf_counter()
            work(wire)
            if number >= WARM_UP:
                times.append((time.perf_counter() - begun) * 1e3)
    return [percentiles(times) for times in samples]


def row(what: str, figures: Sequence[tuple[float, float]]) -> None:
    ours, *others = figures
    print(f"{what:<46} {ours[0]:8.2f} {ours[1]:8.2f}", end="")
    if others:
        print(f"   {others[0][0]:8.2f} {others[0][1]:8.2f}   {others[0][0] / ours[0]:5.1f}×", end="")
    print(flush=True)


def text_of(lines: int) -> str:
    draw = random.Random(lines)
    return "".join(f"name_{n} = call_{draw.randrange(999)}({n})  # note {n}\n" for n in range(lines))


def edit(line: int, column: int, text: str) -> dict[str, Any]:
    at = {"line": line, "character": column}
    return {"range": {"start": at, "end": at}, "text": text}


def start_times(command: Sequence[str], rounds: int) -> tuple[float, float]:
    samples = []
    for _ in range(rounds):
        begun = time.perf_counter()
        wire = Wire(command)
        wire.initialize()
        samples.append((time.perf_counter() - begun) * 1e3)
        wire.process.kill()
        wire.process.wait()
    return percentiles(samples)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    parser.add_argument("--stock", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stock:
        stock()
        return
    share = 10 if options.quick else 1
    print(f"{'milliseconds':<46} {'ours p50':>8} {'p99':>8}   {'pygls':>8} {'p99':>8}   ratio")
    row("spawn → initialize answered", [start_times(OURS, 10 // share), start_times(STOCK, 10 // share)])
    wires = [Wire(OURS), Wire(STOCK)]
    for wire in wires:
        wire.initialize()
    payload = {"tool": "read_file", "params": {"path": "src/module/file.py", "text": "x" * 420}}
    row("rulecore/* round trip, 500 bytes", in_turns(wires, 2000 // share, lambda w: w.ask("rulecore/echo", payload)))

    def burst(wire: Wire) -> None:
        wire.send(*({"id": n, "method": "rulecore/echo", "params": payload} for n in range(200)))
        for _ in range(200):
            wire.receive()

    row("200 of them at once", in_turns(wires, 50 // share, burst))
    for lines in (1_000, 10_000):
        typing(wires, lines, share)
    diagnostics(wires[0], share)
    for wire in wires:
        wire.process.kill()


def typing(wires: Sequence[Wire], lines: int, share: int) -> None:
    uri = f"file:///w/typing{lines}.txt"
    for wire in wires:
        wire.open(uri, text_of(lines))
    draw = random.Random(7)

    def keystroke(wire: Wire) -> None:
        wire.change(uri, [edit(draw.randrange(lines), 3, "x")])
        wire.ask("rulecore/echo", {"tool": "t"})

    def formatting(wire: Wire) -> None:
        wire.change(uri, [edit(draw.randrange(lines), 0, " ") for _ in range(200)])
        wire.ask("rulecore/echo", {"tool": "t"})

    row(f"keystroke in {lines:,} lines + round trip", in_turns(wires, 300 // share, keystroke))
    row(f"200 edits in one change of {lines:,} lines", in_turns(wires, 20 // share, formatting))


def diagnostics(wire: Wire, share: int) -> None:
    """Pulled diagnostics less the pause of 150 ms, for a file of 1,000 lines."""
    uri = "file:///w/looked_at.py"
    text = text_of(500) + "".join(
        f"class C{n}:\n    def m(self):\n        # TODO {n}\n        return {n}\n" for n in range(125)
    )
    wire.open(uri, text)
    wire.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    samples = []
    for number in range(max(5, 40 // share)):
        wire.change(uri, [edit(number * 10, 3, "x")])
        time.sleep(0.16)
        begun = time.perf_counter()
        wire.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        samples.append((time.perf_counter() - begun) * 1e3)
    row("diagnostics of 1,000 lines after the pause", [percentiles(samples)])


if __name__ == "__main__":
    main()
