"""The start-up of the naming hook. Run: ``python tests/benchmarks/bench_hooks.py``.

Prints the time from the process's start to its end, in a repository with 5,000 documents, for a commit that does not
concern the hook and for one that it checks, beside an interpreter that does nothing and one that imports GitPython.
Goals (spec hooks.md §1): ≤ 60 ms with nothing to do, ≤ 130 ms with git data, 5,000 documents ≤ 2 s.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("rulecore-aiwork-naming")
ROUNDS = 15


def repository(top: Path, documents: int) -> None:
    """A repository with a commit of so many documents and one staged file elsewhere."""
    for number in range(1, documents + 1):
        file = top / ".aiWork" / ("requirements", "drafts", "decision", "concepts")[number % 4]
        file.mkdir(parents=True, exist_ok=True)
        (file / f"20260101-{number:02d}-some-words-here.md").write_text("text\n", encoding="utf-8")
    git = ("git", "-C", str(top), "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.hooksPath=none")
    subprocess.run(("git", "init", "-q", str(top)), check=True)
    subprocess.run((*git, "add", "-A"), check=True)
    subprocess.run((*git, "commit", "-q", "-m", "m"), check=True)
    (top / "order.py").write_text("x = 1\n", encoding="utf-8")
    subprocess.run((*git, "add", "-A"), check=True)


def milliseconds(command: Sequence[str | Path], folder: Path) -> float:
    """Median of ROUNDS runs."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken)


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small"), Path(folder, "large")
        repository(small, 20)
        repository(large, 5_000)
        rows: list[tuple[str, Sequence[str | Path], Path, float | None]] = [
            ("baseline: python -I -c pass", (sys.executable, "-I", "-c", "pass"), small, None),
            ("baseline: python -I -c 'import git'", (sys.executable, "-I", "-c", "import git"), small, None),
            ("nothing to do", (SCRIPT, "--hook"), large, 60),
            ("a check, 20 documents", (SCRIPT,), small, 130),
            ("a check, 5,000 documents", (SCRIPT,), large, 2_000),
        ]
        print(f"medians of {ROUNDS}")
        for name, command, top, goal in rows:
            taken = milliseconds(command, top)
            verdict = "" if goal is None else f"   goal {goal:g} ms: {'met' if taken <= goal else 'MISSED'}"
            print(f"  {name:<40}{taken:8.1f} ms{verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
