"""File truth against hashing everything each time. Run: ``python tests/benchmarks/bench_truth.py [FILES]``.

Prints, for a git workspace of 5,000 files (about 30 MiB), what the first cache, a warm sweep, a sweep after 20 saves
and a single view cost, beside a baseline in the same run that lists with git and takes the sha256 of every file.
Goals (spec sidecar.md §6): first cache < 0.3 s, warm sweep < 40 ms. The page cache is warm.
"""

import hashlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rulecore_sidecar.truth import FileTruth, changed_ranges, list_files
from rulecore_sidecar.truth.disk import RACY_WINDOW_NS
from rulecore_sidecar.truth.lines import digest_lines

FILES = 5_000
ROUNDS = 7


def make_workspace(root: Path, files: int) -> None:
    """A repository with ``files`` text files of 0.5 to 12 KiB in folders up to four deep."""
    draw = random.Random(20)
    words = [f"name_{i} = call({i})" for i in range(500)]
    for number in range(files):
        folder = root.joinpath(*[f"part{draw.randrange(5)}" for _ in range(1 + number % 4)])
        folder.mkdir(parents=True, exist_ok=True)
        lines = draw.choices(words, k=draw.randrange(25, 600))
        (folder / f"file{number}.py").write_text("\n".join(lines), encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)


def baseline(root: Path) -> int:
    """List and take the sha256 of every file: what a tool without a cache does."""
    return len([hashlib.sha256((root / path).read_bytes()).digest() for path in list_files(str(root)).paths])


def seconds(work: Callable[[], object]) -> float:
    """Median of ROUNDS runs."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def view_seconds(truth: FileTruth, path: str) -> float:
    """One view of a cached file, from 2,000."""
    start = time.perf_counter()
    for _ in range(2_000):
        truth.view(path)
    return (time.perf_counter() - start) / 2_000


def main() -> int:
    """Measure and print."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "workspace")
        make_workspace(root, files)
        time.sleep(RACY_WINDOW_NS / 1e9 + 0.1)  # until no file is racy
        plain = seconds(lambda: baseline(root))
        rows: list[tuple[str, float, float | None]] = [("baseline: git ls-files + sha256 of every file", plain, None)]
        rows.append(("first cache", seconds(lambda: FileTruth(root).sweep()), 0.3))
        truth = FileTruth(root)
        truth.sweep()
        rows.append(("warm sweep", seconds(truth.sweep), 0.04))
        rows.append(("  of which git ls-files", seconds(lambda: list_files(str(root))), None))
        known = sorted(truth.snapshot())
        for key in known[:20]:
            (root / key).write_text("changed\n", encoding="utf-8")
        rows.append(("sweep after 20 saves", seconds(truth.sweep), None))
        rows.append(("view of a cached file", view_seconds(truth, str(root / known[-1])), 20e-6))
        rows.append(("snapshot", seconds(truth.snapshot), None))
        text = "\n".join(f"line {i % 7_000}" for i in range(20_000)).encode()
        old = digest_lines(text) or b""
        rows.append(("digests of 20,000 lines", seconds(lambda: digest_lines(text)), None))
        new = digest_lines(text.replace(b"9", b"8")) or b""
        rows.append(("changed ranges of 20,000 lines", seconds(lambda: changed_ranges(old, new)), 0.05))
    print(f"{files} files; medians of {ROUNDS}")
    for name, taken, goal in rows:
        verdict = "" if goal is None else f"   goal {goal * 1e3:g} ms: {'met' if taken < goal else 'MISSED'}"
        print(f"  {name:<48}{taken * 1e3:10.3f} ms   {plain / taken:10.1f} x baseline{verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
