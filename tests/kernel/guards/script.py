"""A small language for guard sessions: what an agent does, line by line, in the neutral event format.

``read("a.py", 1, 50, v="H1")`` and friends build events; :func:`play` runs them through the guard and returns one
:class:`Seen` per call, so that a test reads like the story it tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from rulecore_kernel.rules.guards.policy import Policy
from rulecore_sidecar.replay import Replay

Event = dict[str, Any]


class Seen(NamedTuple):
    action: str
    rule: str
    message: str
    outcome: str | None
    after: str
    said: str


def call(
    tool: str,
    params: dict[str, Any] | None = None,
    *ops: dict[str, Any],
    out: str | None = "ok",
    error: str | None = None,
    **more: Any,
) -> Event:
    result = {"text": out, "empty": not out, "truncated": more.pop("truncated", False)}
    return {
        "event": "call",
        "tool": tool,
        "params": params or {},
        "ops": list(ops),
        "result": result,
        "error": error,
        **more,
    }


def read(path: str, start: int | None = None, end: int | None = None, *, v: str = "H1", **more: Any) -> Event:
    op: dict[str, Any] = {"kind": "read", "path": path, "hash": v}
    if start is not None:
        op |= {"start": start, "end": end}
    if "delivered" in more:
        op["delivered"] = more.pop("delivered")
    out = more.pop("out", f"{path} {start}-{end} of {v}")
    return call("read_file", {"path": path, "start": start, "end": end}, op, out=out, **more)


def edit(path: str, old: str, new: str, *, v: str | None = None, error: str | None = None, **more: Any) -> Event:
    op: dict[str, Any] = {"kind": "edit", "path": path, "edit_kind": "change"}
    if v is not None:
        op["hash"] = v
    return call(
        "edit_file", {"path": path, "old": old, "new": new}, op, error=error, out=None if error else "ok", **more
    )


def run(command: str, out: str = "", code: int = 0, **more: Any) -> Event:
    return call("run", {"command": command}, {"kind": "exec", "command": command}, out=out, exit_code=code, **more)


def search(query: str, out: str = "3 hits", **more: Any) -> Event:
    return call("search", {"query": query}, {"kind": "search", "query": query}, out=out, **more)


def write_by_other(path: str, v: str) -> Event:
    return {"event": "external_write", "path": path, "hash": v}


USER: Event = {"event": "user"}
COMPACT: Event = {"event": "compact"}
MESSAGE: Event = {"event": "message"}
RESUME: Event = {"event": "resume"}


def play(events: Iterable[Event], policy: Policy | None = None) -> list[Seen]:
    seen = []
    for step in Replay(policy).run(events):
        if step.pre is None or step.post is None:
            continue
        before, after = step.pre.decision, step.post.decision
        seen.append(
            Seen(before.action.value, before.rule, before.message, after.outcome, after.action.value, after.message)
        )
    return seen


def actions(events: Iterable[Event], policy: Policy | None = None) -> list[str]:
    return [seen.action for seen in play(events, policy)]


def outcomes(events: Iterable[Event], policy: Policy | None = None) -> list[str | None]:
    return [seen.outcome for seen in play(events, policy)]
