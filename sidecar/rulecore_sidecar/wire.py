"""The JSON of the guard service: Event in, Decision out. The only place that knows these field names.

Unknown fields are ignored; a field of the wrong type is an error that names the field, what was given and what is
allowed. Held by the vectors in tests/wire/guard.jsonl. Source: spec agents.md section 1, sidecar.md section 4.
"""

from collections.abc import Mapping
from typing import NamedTuple

from rulecore_kernel.rules.guards.decide import Verdict
from rulecore_kernel.rules.guards.events import Call, Op, OpKind, Range, Result
from rulecore_kernel.rules.guards.outcome import call_key, judge
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.store import SessionName

DEFAULT_AGENT, DEFAULT_SESSION, DEFAULT_AGENT_ID = "unknown", "s", "main"
_EDIT_KINDS = ("create", "change", "delete", "rename")


class WireError(ValueError):
    """A message that cannot be understood; the text is for its sender."""


class Event(NamedTuple):
    """A guard event as it came, with the parts that every adapter fills."""

    who: SessionName
    call: Call
    params: JsonObject
    cwd: str | None
    plain: JsonObject


def text(source: JsonObject, name: str, default: str | None = None) -> str | None:
    """A string field, or ``default`` when it is absent or null. Raises :class:`WireError`."""
    value = source.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise WireError(f"{name} must be a string, not {_kind(value)}")
    return value


def number(source: JsonObject, name: str) -> int | None:
    """An integer field or None."""
    value = source.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise WireError(f"{name} must be an integer, not {_kind(value)}")
    return value


def flag(source: JsonObject, name: str) -> bool:
    """A boolean field, False when absent or null."""
    value = source.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise WireError(f"{name} must be true or false, not {_kind(value)}")
    return value


def mapping(source: JsonObject, name: str) -> JsonObject:
    """An object field, empty when absent or null."""
    value = source.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise WireError(f"{name} must be an object, not {_kind(value)}")
    return value


def _kind(value: Json) -> str:
    return {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}.get(
        type(value), "an object"
    )


def session_name(params: JsonObject) -> SessionName:
    """Whose message it is."""
    return SessionName(
        _name(params, "agent") or DEFAULT_AGENT,
        _name(params, "session") or DEFAULT_SESSION,
        _name(params, "agent_id") or DEFAULT_AGENT_ID,
    )


def _name(source: JsonObject, field: str) -> str | None:
    """A name that will be stored: well-formed Unicode whatever came."""
    value = text(source, field)
    return value if value is None or value.isascii() else value.encode("utf-8", "replace").decode()


def ranges(value: Json, name: str) -> tuple[Range, ...] | None:
    """``[[start, end|null], …]``; None stays None."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise WireError(f"{name} must be an array of [start, end], not {_kind(value)}")
    found = []
    for pair in value:
        good = isinstance(pair, list) and len(pair) == 2
        start, end = pair if good and isinstance(pair, list) else (None, None)
        if not _is_line(start) or not (end is None or _is_line(end)):
            raise WireError(f"{name} must hold pairs [start, end] of line numbers from 1, got {pair!r}")
        assert isinstance(start, int) and (end is None or isinstance(end, int))
        found.append(Range(start, end))
    return tuple(found)


def _is_line(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def operation(plain: Json) -> Op:
    """One entry of ``ops``."""
    if not isinstance(plain, Mapping):
        raise WireError(f"ops must hold objects, not {_kind(plain)}")
    kind = text(plain, "kind", "other")
    allowed = [k.value for k in OpKind]
    if kind not in allowed:
        raise WireError(f"ops.kind must be one of {', '.join(allowed)}, got {kind!r}")
    edit_kind = text(plain, "edit_kind")
    if edit_kind not in (None, *_EDIT_KINDS):
        raise WireError(f"ops.edit_kind must be one of {', '.join(_EDIT_KINDS)}, got {edit_kind!r}")
    start, end = number(plain, "start"), number(plain, "end")
    return Op(
        OpKind(kind),
        text(plain, "path"),
        start if start is None else max(1, start),
        end,
        text(plain, "command"),
        text(plain, "query"),
        text(plain, "url"),
        text(plain, "hash"),
        edit_kind,
        ranges(plain.get("delivered"), "ops.delivered"),
    )


def event(plain: JsonObject) -> Event:
    """A guard event. Raises :class:`WireError`."""
    tool = _name(plain, "tool")
    if tool is None:
        raise WireError("tool is missing: the name of the tool that the agent calls")
    params = mapping(plain, "params")
    ops = plain.get("ops")
    if ops is not None and not isinstance(ops, list):
        raise WireError(f"ops must be an array, not {_kind(ops)}")
    group = plain.get("batch", plain.get("turn"))
    call = Call(
        tool,
        call_key(tool, params),
        tuple(operation(op) for op in ops or ()),
        _name(plain, "call_id"),
        None if group is None else str(group),
        flag(plain, "poll"),
        flag(plain, "passive"),
    )
    return Event(session_name(plain), call, params, text(plain, "cwd"), plain)


def result(seen: Event) -> Result:
    """The result part of a post event. Raises :class:`WireError`."""
    came = mapping(seen.plain, "result")
    return judge(
        seen.call,
        seen.params,
        text=text(came, "text"),
        result_hash=text(came, "hash"),
        empty=flag(came, "empty"),
        truncated=flag(came, "truncated"),
        error=text(seen.plain, "error"),
        exit_code=number(seen.plain, "exit_code"),
    )


def delivered_by(seen: Event) -> Call:
    """The call with ``result.delivered`` put onto its only read, where the op does not say itself."""
    shared = ranges(mapping(seen.plain, "result").get("delivered"), "result.delivered")
    if shared is None:
        return seen.call
    ops = tuple(
        op._replace(delivered=shared) if op.kind is OpKind.READ and op.delivered is None else op for op in seen.call.ops
    )
    return seen.call._replace(ops=ops)


def decision(verdict: Verdict) -> dict[str, Json]:
    """A verdict as it travels. ``would`` names the action that the guard's mode weakened."""
    answer = verdict.decision
    plain: dict[str, Json] = {"action": answer.action.value, "rule": answer.rule, "message": answer.message}
    if answer.outcome is not None:
        plain["decision"] = answer.outcome
    evidence = dict(answer.evidence)
    if verdict.would.action is not answer.action:
        evidence["would"] = verdict.would.action.value
    plain["evidence"] = evidence
    return plain
