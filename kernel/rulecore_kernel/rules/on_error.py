"""OnError, literally as the seed has it: what to do after a tool call that failed or brought nothing.

:func:`on_error` is the decision on the counters of one call; :func:`on_error_by_name` is the rule of the registry,
which finds those counters in the state's maps. The profile that is fed with information instead of emptiness is in
``guards``.

Invariants: the free retry happens at most once per (tool, params), because the executor counts every call that ran;
no counter is ever negative; ``force_halt`` is set here and cleared only by the user. Source: spec kernel.md section 6.
"""

from collections.abc import Mapping
from typing import NamedTuple

from rulecore_kernel.rules.keys import call_key
from rulecore_kernel.rules.model import Answer, Code, Decided, Problem, Scope
from rulecore_kernel.rules.table import Column, Missing, Row, Table
from rulecore_kernel.state.model import State
from rulecore_kernel.values import Json, JsonObject

ERRORS = (
    "timeout",
    "execution_failure",
    "compilation_error",
    "partial_output",
    "warning",
    "resource_exhausted",
    "irrecoverable",
)
RETRY, SWITCH, FORCEHALT = "retry", "switch_strategy", "forcehalt"
HALT, HALT_PERSIST, CONTINUE, SKIP_REMAINING = "halt", "halt+persist", "continue", "skip_remaining"
FIX_IN_PLACE_FAILURES = 1
"""Compilation errors up to this many in a row are fixed in place."""

ON_ERROR_TABLE = Table(
    (
        Column("halted"),
        Column("free_retry"),
        Column("exhausted"),
        Column("unanswered"),
        Column("error", (None, *ERRORS)),
        Column("fix_in_place"),
        Column("switches_spent"),
    ),
    (
        Row(FORCEHALT, {"halted": True}),
        Row(RETRY, {"free_retry": True}),
        Row(FORCEHALT, {"exhausted": True}),
        Row(FORCEHALT, {"unanswered": True, "switches_spent": True}),
        Row(SWITCH, {"unanswered": True}),
        Row(CONTINUE, {"error": None}),
        Row(HALT_PERSIST, {"error": "timeout"}),
        Row(HALT_PERSIST, {"error": "execution_failure"}),
        Row(CONTINUE, {"error": "partial_output"}),
        Row(CONTINUE, {"error": "warning"}),
        Row(SKIP_REMAINING, {"error": "resource_exhausted"}),
        Row(HALT, {"error": "irrecoverable"}),
        Row(RETRY, {"error": "compilation_error", "fix_in_place": True}),
        Row(FORCEHALT, {"error": "compilation_error", "switches_spent": True}),
        Row(SWITCH, {"error": "compilation_error"}),
    ),
)


class Counters(NamedTuple):
    """What OnError remembers, as far as one call is concerned."""

    retry: int = 0
    """retryCounter: failures in a row."""
    switch: int = 0
    """switchCounter."""
    force_halt: bool = False
    halted_rounds: int = 0
    rounds_without_switch: int = 0
    empty_tool: int = 0
    """emptyCount(tool)."""
    empty_call: int = 0
    """emptyCount(tool, params)."""
    calls: int = 0
    """callCount(tool, params). OnError reads it; the executor counts, after OnError, every call that really ran."""


class Limits(NamedTuple):
    """The ``onerror.*`` parameters."""

    retry_limit: int = 3
    empty_tool_limit: int = 3
    empty_params_limit: int = 2
    switch_limit: int = 3
    switch_decay_rounds: int = 10
    loop_switch_decay_rounds: int = 8
    forcehalt_notify_rounds: int = 5


LIMITS = Limits()


class Ruling(NamedTuple):
    """A decision and the counters after it; ``notify`` asks the user whether the halt is to be cleared."""

    decision: str
    counters: Counters
    notify: bool = False


def on_error(
    counters: Counters,
    *,
    result_empty: bool,
    error: str | None = None,
    phase_changed: bool = False,
    scope: str = Scope.GLOBAL,
    limits: Limits = LIMITS,
) -> Ruling:
    """Decide what follows one tool call.

    Arguments: ``error`` is one of :data:`ERRORS` or None and never set together with ``result_empty``;
    ``phase_changed`` is True at the first evaluation of a new phase; every ``scope`` but ``loop_body`` is the
    general one. Raises ``ValueError`` for an error that is not in the list. Source: spec kernel.md section 6, steps
    1–10.
    """
    now = counters._replace(switch=counters.switch // 2) if phase_changed else counters
    free_retry = result_empty and now.calls == 0
    if not (now.force_halt or free_retry):
        now = _counted(now, result_empty, error, scope)
    decision = ON_ERROR_TABLE.look_up(
        halted=now.force_halt,
        free_retry=free_retry,
        exhausted=now.retry >= limits.retry_limit or now.empty_tool >= limits.empty_tool_limit,
        unanswered=result_empty or now.empty_call >= limits.empty_params_limit,
        error=error,
        fix_in_place=now.retry <= FIX_IN_PLACE_FAILURES,
        switches_spent=now.switch >= limits.switch_limit,
    )
    if now.force_halt:
        return _still_halted(now, clean=not result_empty and error is None, limits=limits)
    if free_retry:
        return Ruling(decision, now)
    return Ruling(decision, _settled(now, decision, scope, limits))


def _counted(now: Counters, result_empty: bool, error: str | None, scope: str) -> Counters:
    """Step 4. In a loop body the executor has counted a compilation error already."""
    if result_empty:
        return now._replace(empty_tool=now.empty_tool + 1, empty_call=now.empty_call + 1)
    if error is None:
        return now._replace(empty_tool=0, empty_call=0, retry=0)
    if error == "execution_failure" or (error == "compilation_error" and scope != Scope.LOOP_BODY):
        return now._replace(retry=now.retry + 1)
    return now


def _still_halted(now: Counters, *, clean: bool, limits: Limits) -> Ruling:
    """Step 2."""
    rounds = now.halted_rounds + 1 if clean else 0
    notify = rounds > 0 and rounds % limits.forcehalt_notify_rounds == 0
    return Ruling(FORCEHALT, now._replace(halted_rounds=rounds), notify)


def _settled(now: Counters, decision: str, scope: str, limits: Limits) -> Counters:
    """Steps 8–10: what a decision does to the counters, and the decay of switchCounter."""
    loop_body = scope == Scope.LOOP_BODY
    if decision == SWITCH:
        return now._replace(empty_call=0, switch=now.switch + (not loop_body), rounds_without_switch=0)
    rounds, switch = now.rounds_without_switch + 1, now.switch
    if rounds >= (limits.loop_switch_decay_rounds if loop_body else limits.switch_decay_rounds):
        rounds, switch = 0, max(0, switch - 1)
    return now._replace(rounds_without_switch=rounds, switch=switch, force_halt=decision == FORCEHALT)


def on_error_by_name(
    tool: str,
    params: JsonObject,
    result_empty: bool | None = None,
    error: str | None = None,
    step_index: int | None = None,
    toolchain_len: int | None = None,
    phase_changed: bool = False,
    scope: str = Scope.GLOBAL,
    *,
    state: State,
    **limits: int,
) -> Decided:
    """
    What it decides
        What follows a tool call: ``continue``, ``retry``, ``switch_strategy``, ``halt``, ``halt+persist``,
        ``skip_remaining`` or ``forcehalt``.

    Why
        An agent repeats what failed. Three counters that it cannot talk itself out of end that: failures in a row,
        empty answers, and changes of strategy.

    Table
        ``halted`` is forceHalt. ``free_retry``: the result is empty and callCount(tool, params) is 0; nothing is
        counted. The other columns are read after this evaluation was counted: ``exhausted``: retryCounter ≥
        ``onerror.retry_limit`` or emptyCount(tool) ≥ ``onerror.empty_tool_limit``. ``unanswered``: the result is
        empty, or emptyCount(tool, params) ≥ ``onerror.empty_params_limit``. ``fix_in_place``: retryCounter ≤ 1.
        ``switches_spent``: switchCounter ≥ ``onerror.switch_limit``.

        Counted: ``execution_failure`` adds 1 to retryCounter, ``compilation_error`` too (in ``loop_body`` the
        executor did that already); an empty result adds 1 to both emptyCounts; a result that is neither empty nor
        an error sets all three to 0. A switch sets emptyCount(tool, params) to 0 and adds 1 to switchCounter (in
        ``loop_body`` the Decide step does); ``phase_changed`` halves switchCounter first, and
        ``onerror.switch_decay_rounds`` evaluations without a switch take 1 off
        (``onerror.loop_switch_decay_rounds`` in ``loop_body``). ``forcehalt`` sets forceHalt, which only the user
        clears; under it every ``onerror.forcehalt_notify_rounds`` clean evaluations in a row answer ``notify:
        true``.

        ``result_empty`` may be left out when ``error`` is set, since both together are refused.

    Example
        {"rule": "OnError",
         "args": {"tool": "grep", "params": {}, "result_empty": true, "step_index": 0, "toolchain_len": 1},
         "state": {"callCount": {"calls": {"grep|{}": 1}}}}
        {"rule": "OnError", "decision": "switch_strategy",
         "state": {"switchCounter": 1, "emptyCount": {"tools": {"grep": 1}, "calls": {"grep|{}": 0}}}}

    Source
        spec: kernel.md §6
    """
    if error is not None and result_empty:
        return Problem(Code.BAD_ARGUMENT, "result_empty", f"given true beside the error {error}", "one of the two")
    if error is None and result_empty is None:
        return Missing("result_empty")
    if step_index is not None and toolchain_len is not None and step_index >= toolchain_len:
        return Problem(
            Code.BAD_ARGUMENT, "step_index", str(step_index), f"an integer below toolchain_len, {toolchain_len}"
        )
    key = call_key(tool, params)
    before = _counters(state, tool, key)
    ruling = on_error(
        before,
        result_empty=bool(result_empty),
        error=error,
        phase_changed=phase_changed,
        scope=scope,
        limits=Limits(**limits),
    )
    return Answer(
        ruling.decision, {"notify": True} if ruling.notify else {}, _changes(state, before, ruling.counters, tool, key)
    )


def _counters(state: State, tool: str, key: str) -> Counters:
    return Counters(
        state.retry_counter,
        state.switch_counter,
        state.force_halt,
        state.halted_rounds,
        state.rounds_without_switch,
        _count(state.empty_count, "tools", tool),
        _count(state.empty_count, "calls", key),
        _count(state.call_count, "calls", key),
    )


def _count(counts: JsonObject, group: str, key: str) -> int:
    entries = counts.get(group)
    count = entries.get(key, 0) if isinstance(entries, Mapping) else 0
    return count if isinstance(count, int) else 0


def _changes(state: State, before: Counters, after: Counters, tool: str, key: str) -> dict[str, Json]:
    """The variables that changed. emptyCount travels whole, with both counters of this call in it."""
    changes: dict[str, Json] = {
        variable: now for variable, was, now in zip(_SCALARS, before, after, strict=False) if was != now
    }
    if (before.empty_tool, before.empty_call) != (after.empty_tool, after.empty_call):
        changes["emptyCount"] = {
            "tools": _with(state.empty_count.get("tools"), tool, after.empty_tool),
            "calls": _with(state.empty_count.get("calls"), key, after.empty_call),
        }
    return changes


def _with(entries: Json, key: str, count: int) -> dict[str, Json]:
    return {**entries, key: count} if isinstance(entries, Mapping) else {key: count}


_SCALARS = ("retryCounter", "switchCounter", "forceHalt", "haltedRounds", "roundsWithoutSwitch")
"""The variables of the first fields of :class:`Counters`, in their order."""
