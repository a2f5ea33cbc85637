"""What the guard costs inside the real Cline: the plugin per call, the file hook per start.

Run: ``python tests/benchmarks/bench_cline.py``. The model is scripted, so a run's time is Cline's own plus the guard's;
the same script runs without the plugin in between. Installs Cline from npm the first time.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from e2e.cline.harness import ClineRun
from e2e.cline.steps import read

SHORT, LONG, ROUNDS, STARTS = 20, 100, 3, 40


def seconds(action) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def plugin(bare: ClineRun, guarded: ClineRun) -> None:
    """The slope between a short and a long run, so that starting Cline and its plugin process does not count."""

    def per_call(machine: ClineRun) -> float:
        def run(calls: int) -> float:
            script = [read(machine.write(f"f{n}.py", f"x = {n}\n")) for n in range(calls)]
            return min(seconds(lambda: machine.run(script)) for _ in range(ROUNDS))

        return (run(LONG) - run(SHORT)) / (LONG - SHORT) * 1e3

    without, with_guard = per_call(bare), per_call(guarded)
    print(
        f"plugin, per call: {with_guard - without:+.1f} ms (with {with_guard:.1f}, without {without:.1f})   goal < 3 ms"
    )


def file_hook(guarded: ClineRun) -> None:
    hook = guarded.workspace / ".clinerules" / "hooks" / "PreToolUse"
    payload = (
        b'{"hookName":"PreToolUse","taskId":"t","preToolUse":{"toolName":"read_files","parameters":{"files":"[]"}}}'
    )

    def start(*command: str) -> float:
        return seconds(
            lambda: subprocess.run(command, input=payload, capture_output=True, check=True, cwd=guarded.workspace)
        )

    ours = statistics.median(start(str(hook)) for _ in range(STARTS)) * 1e3
    bare = statistics.median(start("sh", "-c", "cat") for _ in range(STARTS)) * 1e3
    print(f"file hook, per start: {ours:.1f} ms (sh -c cat: {bare:.1f} ms)   goal ≤ sh + 10 ms")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bare, guarded = ClineRun(Path(folder) / "a"), ClineRun(Path(folder) / "b")
        os.environ["XDG_RUNTIME_DIR"] = str(guarded.runtime)
        guarded.install()
        guarded.serve()
        try:
            plugin(bare, guarded)
            file_hook(guarded)
        finally:
            guarded.kill_sidecar(signal.SIGTERM)


if __name__ == "__main__":
    main()
