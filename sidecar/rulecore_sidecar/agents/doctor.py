"""Does what is installed work? Sends a synthetic call through every generated carrier to the live sidecar.

A carrier works when the sidecar has heard of the call: its counters have grown (limit: a busy agent's calls grow them
too). A plugin is run by node as Cline runs it, a file hook as VS Code runs it. Source: spec agents.md section 3.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rulecore_sidecar import client
from rulecore_sidecar.agents import cline_carriers, install
from rulecore_sidecar.agents.carrier import is_generated
from rulecore_sidecar.agents.files import RefusedError, read
from rulecore_sidecar.endpoint import EndpointError

SESSION = "rulecore-doctor"
_TIMEOUT_S = 20
_TOOL, _FILE = "read_files", "README.md"

_DRIVER = """
import { readFileSync } from "node:fs";
const [, , plugin, root, session, tool, file] = process.argv;
const { default: guard } = await import(plugin);
const workspaceInfo = { rootPath: root };
await guard.setup({}, { session: { sessionId: session }, workspaceInfo, logger: { log: console.error } });
const snapshot = { agentId: "doctor", runId: String(Date.now()), iteration: 1, messages: [] };
const input = { files: [{ path: `${root}/${file}` }] };
const toolCall = { toolCallId: String(Date.now()), toolName: tool, input };
await guard.hooks.beforeRun({ snapshot });
await guard.hooks.beforeTool({ snapshot, toolCall, input });
const output = [{ query: input.files[0].path, result: "", error: "a check of rulecore doctor", success: false }];
await guard.hooks.afterTool({ snapshot, toolCall, input, result: { output } });
await guard.hooks.afterRun({ snapshot });
process.exit(0);
"""


class Check(NamedTuple):
    """One thing that was looked at. ``problem`` says what is wrong and what to do, empty when all is well."""

    name: str
    found: str
    problem: str = ""


class Advice(NamedTuple):
    """Something to know that is no fault."""

    text: str


def doctor(root: Path, agents: tuple[str, ...]) -> tuple[list[Check], list[Advice]]:
    """Check every installed carrier of ``agents`` in the workspace ``root`` (absolute).

    Raises what :func:`install.status` raises.
    """
    reports = install.status(root, agents)  # first: raises before a sidecar is started where nothing can be installed
    checks = [_sidecar(root)]
    advice: list[Advice] = []
    for agent, report in zip(agents, reports, strict=True):
        checks += [_up_to_date(change) for change in report.changes]
        if not checks[0].problem:
            checks += PROBES[agent](root)
        advice += ADVICE[agent]()
    if not checks[0].problem:
        checks += _notices(root)  # after the probes: by then the sidecar has read project.md again
    return checks, advice


def _sidecar(root: Path) -> Check:
    try:
        client.ensure_served(root)
        ping = client.call(root, "rulecore/ping", {})
    except (EndpointError, client.Refused) as error:
        return Check("sidecar", "does not answer", str(error))
    version = ping.get("version") if isinstance(ping, dict) else None
    return Check("sidecar", f"version {version} answers for {root}")


def _notices(root: Path) -> Iterator[Check]:
    """What the sidecar complains of: its store, project.md."""
    ping = client.call(root, "rulecore/ping", {})
    notices = ping.get("notices") if isinstance(ping, dict) else None
    for notice in notices if isinstance(notices, list) else ():
        yield Check("sidecar", "gives notice", str(notice))


def _up_to_date(change: install.Change) -> Check:
    if change.kind == install.UNCHANGED:
        return Check(change.name, "installed")
    if change.kind in (install.CREATED, install.CHAINED):
        return Check(change.name, "not installed", "rulecore agent install puts it there")
    if change.kind == install.UPDATED:
        return Check(change.name, "made by another version", "rulecore agent install brings it up to date")
    return Check(change.name, "not ours", change.why)


# ---- Cline


def _cline_probes(root: Path) -> Iterator[Check]:
    if _is_ours(root / cline_carriers.PLUGIN):
        yield _probe(root, cline_carriers.PLUGIN, _run_plugin)
    for event in cline_carriers.EVENTS:
        name = f"{cline_carriers.HOOKS}/{event}"
        if _is_ours(root / name):
            yield _probe(root, name, _run_hook)


def _is_ours(path: Path) -> bool:
    """A generated file: nothing else is run."""
    try:
        data = read(path)
    except RefusedError:
        return False
    return data is not None and is_generated(data)


def _probe(root: Path, name: str, run: Callable[[Path, Path], str]) -> Check:
    before = _heard(root)
    try:
        problem = run(root, root / name)
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if not problem and _heard(root) <= before:
        problem = "it ran, but its call did not reach the sidecar; is another rulecore installed than the one it names?"
    return Check(f"{name} (tried)", "does not work" if problem else "its call reached the sidecar", problem)


def _heard(root: Path) -> int:
    """How much the sidecar has heard from the doctor's session."""
    counted = client.call(root, "rulecore/metrics", {})
    state = client.call(root, "rulecore/state/get", {"agent": "cline", "session": SESSION})
    calls = state.get("calls") if isinstance(state, dict) else None
    total = sum(n for n in counted.values() if isinstance(n, int)) if isinstance(counted, dict) else 0
    return total + (calls if isinstance(calls, int) else 0)


def _run_plugin(root: Path, plugin: Path) -> str:
    node = shutil.which("node")
    if node is None:
        return "node is not on PATH; Cline needs it (or bun) to run plugins"
    with tempfile.TemporaryDirectory(prefix="rulecore-") as folder:
        copy, driver = Path(folder) / "plugin.mjs", Path(folder) / "driver.mjs"
        copy.write_bytes(plugin.read_bytes())
        driver.write_text(_DRIVER, encoding="utf-8")
        command = [node, str(driver), copy.as_uri(), str(root), SESSION, _TOOL, _FILE]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    return done.stderr.strip() if done.returncode or done.stderr.strip() else ""


def _run_hook(root: Path, hook: Path) -> str:
    payload = {
        "hookName": hook.name,
        "taskId": SESSION,
        "workspaceRoots": [str(root)],
        "preToolUse": {"toolName": _TOOL, "parameters": {"files": json.dumps([{"path": str(root / _FILE)}])}},
        "userPromptSubmit": {"prompt": "a check of rulecore doctor"},
    }
    payload["postToolUse"] = payload["preToolUse"]
    done = subprocess.run(
        str(hook), input=json.dumps(payload), cwd=root, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return f"its answer is not JSON: {done.stdout[:200]!r}"
    return (
        "" if isinstance(answer, dict) and done.returncode == 0 else f"it answered {answer!r}, exit {done.returncode}"
    )


def _cline_advice() -> Iterator[Advice]:
    yield Advice(
        "Cline runs plugins and hooks that lie in a repository without asking, those of a clone too: look into "
        ".cline/ and .clinerules/ before you start it there."
    )
    yield Advice(
        "Cline reads plugins and hooks when a session starts, from the folder it is started in: restart it there."
    )
    binary = shutil.which("cline")
    if binary is None:
        return
    try:
        done = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
    found = re.search(r"\d+\.\d+\.\d+", done.stdout)
    if found and found[0] not in cline_carriers.TRIED_VERSIONS:
        tried = ", ".join(cline_carriers.TRIED_VERSIONS)
        yield Advice(f"cline {found[0]} has not been tried with this rulecore (tried: {tried}).")


PROBES = {"cline": _cline_probes}
ADVICE = {"cline": _cline_advice}
