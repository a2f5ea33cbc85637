"""The rule library's figures: each rule by name, OnError on its counters, 100,000 lines of ``kernel eval``, start-up.

Run: ``python tests/benchmarks/bench_kernel.py``. Beside each figure stands a baseline of the same run: reading and
writing the same JSON with the standard library, or starting Python with nothing.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.rules.on_error import Counters, on_error
from rulecore_kernel.values import JsonObject

VECTORS = Path(__file__).parents[1] / "wire/kernel_eval.jsonl"
LINES = 100_000


def main() -> None:
    """Print the figures."""
    requests: list[JsonObject] = [json.loads(line)["request"] for line in VECTORS.read_text("utf-8").splitlines()]
    decided = [request for request in requests if "error" not in evaluate(request)]
    names = sorted({str(request["rule"]) for request in decided})
    print(f"{'decision':<24} {'p50 µs':>8} {'p99 µs':>8}   goal p99 < 50")
    for name in names:
        own = [request for request in decided if request["rule"] == name]
        print_row(name, [lambda request=request: evaluate(request) for request in own])  # type: ignore[misc]
    print_row("on_error (counters)", [lambda: on_error(Counters(calls=1), result_empty=True)])
    print_row("baseline: JSON there and back", [lambda r=r: json.loads(json.dumps(r)) for r in decided])  # type: ignore[misc]

    data = "".join(f"{json.dumps(decided[index % len(decided)])}\n" for index in range(LINES)).encode()
    code = "import json, sys\nfor line in sys.stdin.buffer: sys.stdout.write(json.dumps(json.loads(line)) + '\\n')"
    ours, baseline = best(lambda: run(EVAL, data)), best(lambda: run(code, data))
    print(f"{LINES:,} lines of kernel eval: {ours:.2f} s (goal < 3; echoing the JSON alone {baseline:.2f} s)")
    start, nothing = best(lambda: run(EVAL, b"")), best(lambda: run("", b""))
    print(f"start-up of the loop: {start * 1000:.0f} ms (Python with nothing {nothing * 1000:.0f} ms)")


EVAL = "from rulecore_sidecar.kernel_eval import eval_stdio; eval_stdio()"


def print_row(name: str, calls: list[Callable[[], object]]) -> None:
    """Time each call alone, 20,000 in all."""
    clock, samples = time.perf_counter_ns, []
    for index in range(20_000):
        call = calls[index % len(calls)]
        begin = clock()
        call()
        samples.append(clock() - begin)
    samples.sort()
    print(f"{name:<30} {samples[10_000] / 1000:>8.1f} {samples[19_800] / 1000:>8.1f}")


def run(code: str, data: bytes) -> float:
    """Seconds that ``python -I -c code`` takes for ``data``."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", code], input=data, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def best(measure: Callable[[], float]) -> float:
    """The least of five: what the machine can do when nobody disturbs it."""
    return min(measure() for _ in range(5))


if __name__ == "__main__":
    main()
