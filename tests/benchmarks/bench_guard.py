"""The guard's figures: a kernel decision, guard/pre over the socket, the relay, start-up, memory, a long session.

Run: ``python tests/benchmarks/bench_guard.py [--quick]``. Each figure stands beside a baseline of the same run, since a
ratio travels from machine to machine and a time does not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from rulecore_kernel.rules.guards import decide
from rulecore_kernel.rules.guards.events import Call, FileFact, Op, OpKind, Result
from rulecore_kernel.rules.guards.outcome import call_key
from rulecore_kernel.rules.guards.policy import Policy
from rulecore_kernel.rules.guards.session import Session

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sidecar.service.live import Agent, Line, served

QUICK = False
ROWS: list[tuple[str, str, str, str]] = []


def row(what: str, ours: str, baseline: str, goal: str) -> None:
    ROWS.append((what, ours, baseline, goal))
    print(f"{what:<58} {ours:<34} {baseline:<40} {goal}", flush=True)


def percentiles(samples: list[float]) -> tuple[float, float]:
    ordered = sorted(samples)
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]


def timed(action: object) -> float:
    started = time.perf_counter()
    action()  # type: ignore[operator]
    return time.perf_counter() - started


def kernel_decision() -> None:
    """Random calls on 300 files; baseline: sha256 of a call's 4 KiB of parameters."""
    import hashlib

    session, policy, rng = Session(), Policy(), random.Random(7)
    before, after, baseline = [], [], []
    for number in range(4_000 if QUICK else 30_000):
        path = f"src/f{rng.randrange(300)}.py"
        op = rng.choice([Op(OpKind.READ, path, 1, 100), Op(OpKind.EDIT, path), Op(OpKind.EXEC, command="pytest -q")])
        call = Call("t", call_key("t", {"path": path, "kind": op.kind.value, "n": number}), (op,))
        facts = {path: FileFact(f"h{number // 50}")}
        result = Result(str(number))
        started = time.perf_counter()
        verdict = decide.pre(session, call, facts, policy)
        before.append(time.perf_counter() - started)
        session.apply(verdict.writes)
        started = time.perf_counter()
        verdict = decide.post(session, call, result, facts, policy)
        after.append(time.perf_counter() - started)
        session.apply(verdict.writes)
        baseline.append(timed(lambda: hashlib.sha256(b"x" * 4096).hexdigest()))
    for name, samples in (("pre", before), ("post", after)):
        p50, p99 = percentiles(samples)
        base = percentiles(baseline)[0]
        row(f"kernel decision, {name}", f"p50 {p50 * 1e6:.1f} µs, p99 {p99 * 1e6:.1f} µs",
            f"sha256 of 4 KiB {base * 1e6:.1f} µs", "p99 < 50 µs")  # fmt: skip


def workspace(folder: Path, files: int) -> Path:
    root = folder / "work"
    for number in range(files):
        path = root / f"p{number % 50}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {number}\n" + "x = 1\n" * 200)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    time.sleep(2.5)  # a file younger than 2 s is read again at every look; most of a repository is older
    return root.resolve()


def type_in_an_editor(endpoint: Path, root: Path, stop: threading.Event) -> None:
    line, version = Line(endpoint), 1
    path, text = str(root / "p0" / "f0.py"), "x = 1\n" * 200
    line.ask("rulecore/editor/open", path=path, text=text, version=version, editor="bench")
    while not stop.wait(0.05):
        version += 1
        line.ask("rulecore/editor/change", path=path, text=text + "y" * version, version=version, editor="bench")


def over_the_socket(root: Path, endpoint: Path) -> None:
    """1,000 calls a second with an editor typing 20 changes a second; baseline: ping, which decides nothing."""
    line, stop = Line(endpoint), threading.Event()
    agent = Agent(line, root, "latency")
    threading.Thread(target=type_in_an_editor, args=(endpoint, root, stop), daemon=True).start()
    pre, ping = [], []
    for number in range(500 if QUICK else 5_000):
        due = time.perf_counter() + 0.001
        path = f"p{number % 50}/f{number % 1000}.py"
        event = agent.event("read", {"path": path, "n": number}, {"kind": "read", "path": path}, call_id=str(number))
        pre.append(timed(lambda event=event: line.ask("rulecore/guard/pre", **event)))
        ping.append(timed(lambda: line.ask("rulecore/ping")))
        time.sleep(max(0.0, due - time.perf_counter()))
    stop.set()
    p50, p99 = percentiles(pre)
    base50, base99 = percentiles(ping)
    row("guard/pre over the socket, one file, editor typing", f"p50 {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms",
        f"ping p50 {base50 * 1e3:.2f} ms, p99 {base99 * 1e3:.2f} ms", "p50 < 0.3 ms, p99 < 3 ms")  # fmt: skip


def long_session(root: Path, endpoint: Path, process: psutil.Process) -> None:
    """Whole calls (pre and post) in one session: latency of the first and the last tenth, memory at both."""
    line = Line(endpoint)
    agent = Agent(line, root, "long")
    calls = 3_000 if QUICK else 100_000
    samples, early = [], 0
    for number in range(calls):
        path = f"p{number % 50}/f{number % 1000}.py"
        event = agent.event("read", {"path": path, "n": number}, {"kind": "read", "path": path})
        samples.append(timed(lambda event=event: agent.do(event)))
        if number == calls // 10:
            early = process.memory_info().rss
    tenth = calls // 10
    first, last = percentiles(samples[:tenth])[0], percentiles(samples[-tenth:])[0]
    grown = (process.memory_info().rss - early) / 2**20
    row(f"session of {calls:,} calls, pre + post, last tenth", f"p50 {last * 1e3:.2f} ms, memory {grown:+.1f} MiB",
        f"first tenth p50 {first * 1e3:.2f} ms", "flat, bounded")  # fmt: skip


def memory(root: Path, endpoint: Path, process: psutil.Process) -> None:
    line = Line(endpoint)
    for number in range(50):
        path = str(root / f"p{number % 50}" / f"f{number}.py")
        line.ask("rulecore/editor/open", path=path, text="x = 1\n" * 1000, version=1, editor="bench")
    bare = psutil.Process(subprocess.Popen([sys.executable, "-I", "-c", "import time; time.sleep(3)"]).pid)
    time.sleep(0.5)
    ours, theirs = process.memory_info().rss / 2**20, bare.memory_info().rss / 2**20
    bare.kill()
    row("memory, 5,000 files, 50 open documents", f"{ours:.0f} MiB", f"bare interpreter {theirs:.0f} MiB", "< 200 MB")


def relay(root: Path) -> None:
    """Process start to answer; baseline: the interpreter doing nothing at all."""
    import rulecore_sidecar.relay as module
    from rulecore_sidecar.endpoint import lock_path

    hook = json.dumps({"hookName": "PreToolUse", "taskId": "t", "workspaceRoots": [str(root)],
                       "preToolUse": {"toolName": "read_files", "parameters": {"files": "[]"}}}).encode()  # fmt: skip
    python = [sys.executable, "-I", "-S", "-E"]
    ours, bare = [], []
    for _ in range(10 if QUICK else 60):
        command = [*python, str(module.__file__), str(lock_path(root)), "cline"]
        ours.append(timed(lambda command=command: subprocess.run(command, input=hook, capture_output=True, check=True)))
        bare.append(timed(lambda: subprocess.run([*python, "-c", "pass"], input=hook, capture_output=True, check=True)))
    p50, base = percentiles(ours)[0], percentiles(bare)[0]
    row("relay, spawn to answer", f"p50 {p50 * 1e3:.1f} ms", f"python -I -S -E -c pass {base * 1e3:.1f} ms", "≤ 12 ms")


def start_up(folder: Path) -> None:
    """``serve`` until it answers; baseline: the interpreter importing asyncio and sqlite3."""
    root = folder / "start"
    root.mkdir()
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    ours, bare = [], []
    for _ in range(3 if QUICK else 10):
        started = time.perf_counter()
        command = [sys.executable, "-I", "-m", "rulecore_sidecar", "serve", "--root", str(root)]
        process = subprocess.Popen(command, env=environment)
        while not answers(folder):
            time.sleep(0.001)
        ours.append(time.perf_counter() - started)
        process.terminate()
        process.wait()
        code = [sys.executable, "-I", "-c", "import asyncio, sqlite3"]
        bare.append(timed(lambda code=code: subprocess.run(code, check=True)))
    p50, base = percentiles(ours)[0], percentiles(bare)[0]
    baseline = f"python importing asyncio, sqlite3 {base * 1e3:.0f} ms"
    row("serve, spawn to first answer", f"p50 {p50 * 1e3:.0f} ms", baseline, "< 150 ms")


def answers(runtime: Path) -> bool:
    found = list((runtime / "rulecore").glob("*.sock"))
    try:
        return bool(found and Line(found[0]).ask("rulecore/ping"))
    except OSError:
        return False


def kills(root: Path, runtime: Path) -> None:
    """``kill -9`` after random numbers of answers: decisions lost, pending calls seen."""
    rounds, answered, lost, unseen = (10 if QUICK else 300), 0, 0, 0
    rng = random.Random(11)
    with served(root, runtime) as sidecar:
        for number in range(rounds):
            agent = Agent(sidecar.line(), root, "killed")
            for k in range(rng.randrange(1, 4)):
                agent.run(f"echo {number}.{k}", f"{number}.{k}")
                answered += 1
            pending = agent.event("edit", {"n": number}, {"kind": "other"}, call_id=f"p{number}")
            agent.pre(pending)
            sidecar.kill()
            sidecar.start()
            line = sidecar.line()
            unseen += f"p{number}" not in json.dumps(line.ask("rulecore/state/validity"))
            lost = answered - line.ask("rulecore/state/get", agent="test", session="killed")["calls"]
    row(
        f"kill -9, {rounds} times",
        f"{lost} decisions lost, {unseen} pending calls unseen",
        f"{answered} answered",
        "0, 0",
    )


def main() -> None:
    global QUICK
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    QUICK = parser.parse_args().quick
    kernel_decision()
    with tempfile.TemporaryDirectory() as folder:
        runtime = Path(folder) / "r"
        runtime.mkdir(mode=0o700)
        start_up(runtime)
        root = workspace(Path(folder), 500 if QUICK else 5_000)
        with served(root, runtime) as sidecar:
            assert sidecar.process is not None
            process = psutil.Process(sidecar.process.pid)
            over_the_socket(root, sidecar.endpoint)
            relay(root)
            memory(root, sidecar.endpoint, process)
            long_session(root, sidecar.endpoint, process)
        kills(root, runtime)


if __name__ == "__main__":
    main()
