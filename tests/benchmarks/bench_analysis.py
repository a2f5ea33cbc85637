"""Diagnostics of 1,000 lines beside the standard library. Run: ``python tests/benchmarks/bench_analysis.py``.

Prints what a cold analysis and one after a keystroke cost, beside a baseline in the same run: `ast.parse` and
`tokenize`, which together see what the rules look at (structure and comments) and start over at every keystroke. The
text is from the standard library, with a tag every 50 lines. Goals (spec analysis.md): cold ≤ 7 ms, keystroke ≤ 4 ms.
"""

import ast
import io
import statistics
import sys
import time
import tokenize
from collections.abc import Callable
from pathlib import Path

from rulecore_kernel.analysis import Document, analyse

LINES = 1_000
ROUNDS = 60


def text() -> bytes:
    """About 1,000 lines of real code with tags in comments, cut where a top-level statement begins."""
    source = Path(tokenize.__file__).with_name("argparse.py").read_text("utf-8")
    starts = [node.lineno for node in ast.parse(source).body if node.lineno <= LINES + 1]
    lines = source.splitlines()[: starts[-1] - 1]
    lines[::50] = [f"{line}  # TODO: look again" if line and not line.endswith("\\") else "" for line in lines[::50]]
    return ("\n".join(lines) + "\n").encode()


def baseline(source: bytes) -> int:
    """The standard library's way to structure and comments."""
    ast.parse(source)
    return sum(token.type == tokenize.COMMENT for token in tokenize.tokenize(io.BytesIO(source).readline))


def milliseconds(work: Callable[[], object]) -> tuple[float, float]:
    """Median and 95th percentile of ROUNDS runs."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1]


def keystrokes(source: bytes, keys: bytes) -> Callable[[], object]:
    """Type `keys` in the middle of the file, one at each call, and take each away at the next."""
    document = Document(source, "python")
    document.findings()
    middle = source.index(b"\n", len(source) // 2) + 1
    typed = [0]

    def step() -> object:
        if typed[0] % 2:
            document.edit(middle, middle + 1, b"")
        else:
            key = keys[typed[0] // 2 % len(keys)]
            document.edit(middle, middle, bytes([key]))
        typed[0] += 1
        return document.findings()

    return step


def main() -> int:
    """Measure and print."""
    source = text()
    found = len(analyse(source, "python"))
    rows: list[tuple[str, Callable[[], object], float | None]] = [
        ("baseline: ast.parse + tokenize", lambda: baseline(source), None),
        ("cold", lambda: analyse(source, "python"), 7),
        ("keystroke: a letter", keystrokes(source, b"xyz"), 4),
        ("keystroke: a blank or a line end", keystrokes(source, b" \n"), 4),
        ("keystroke: a stray quote or bracket", keystrokes(source, b"\"'({"), 4),
    ]
    lines = source.count(b"\n")
    print(f"{lines} lines, {len(source)} bytes, {found} findings; medians of {ROUNDS}")
    plain = 0.0
    for name, work, goal in rows:
        median, high = milliseconds(work)
        plain = plain or median
        verdict = "" if goal is None else f"   goal {goal:g} ms: {'met' if median <= goal else 'MISSED'}"
        print(f"  {name:<40}{median:8.2f} ms   p95 {high:7.2f} ms   {plain / median:6.1f} x baseline{verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
