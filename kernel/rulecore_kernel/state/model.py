"""The state of one session as one immutable value.

Fields are the seeds' variables in Python spelling; ``variables`` maps them to their wire names and says who may touch
them. Maps that go through :class:`~.manager.StateManager` are read-only views, so a snapshot never changes.
Source: spec kernel.md section 3, engine.md section 4.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from rulecore_kernel.values import Json, JsonObject

EMPTY: JsonObject = MappingProxyType({})


class State(NamedTuple):
    """Every variable; the defaults are the initial values. Call keys are those of ``rules.keys.call_key``."""

    operation_log: JsonObject = EMPTY
    """Operation id → ``{status: pending|done|failed, owner: process id or null, summary?}``."""
    file_cache: JsonObject = EMPTY
    """Path → ``{timestamp, lastModifiedTime, hash}``."""
    external_consistency: bool = True
    last: str | int | None = None
    """The last operation that really ran."""
    last_file_hash: str | None = None
    retry_counter: int = 0
    switch_counter: int = 0
    force_halt: bool = False
    halted_rounds: int = 0
    rounds_without_switch: int = 0
    tool_call_history: JsonObject = EMPTY
    """Call key → ``{count, lastResult}``."""
    empty_count: JsonObject = EMPTY
    """``{tools: tool → count, calls: call key → count}``."""
    call_count: JsonObject = EMPTY
    """``{calls: call key → count}``."""
    completed: JsonObject = EMPTY
    """Phase → reasoning trace."""
    file_snapshots: JsonObject = EMPTY
    """Path → content id."""
    iteration_count: int = 0
    cf: int = 0
    """Consecutive failures."""
    cp: int = 0
    """Consecutive partial results."""
    quality_decline_count: int = 0
    best_result: Json = None
    best_quality: float | None = None
    last_result: Json = None
    history: Json = ()
    change_log: Json = ()
    sub_round_attempts: int = 0
    skipped_from_sub_round: bool = False
    skip_external_consistency: bool = True
    skip_historical_integrity: bool = True


INITIAL = State()


def changed(state: State, fields: JsonObject) -> State:
    """``state`` with some fields, by their names, replaced."""
    return State._make(map(fields.get, State._fields, state))


def freeze(value: Json) -> Json:
    """A read-only copy: objects become views, lists become tuples."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Json) -> Json:
    """A plain copy that ``json`` can write: dictionaries and lists. The inverse of :func:`freeze`."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value
