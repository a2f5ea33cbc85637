"""The variable table: wire name, field, allowed values, and who may read and write.

Roles are rule and procedure names, ``executor`` (whoever runs the tool calls), :data:`USER` (a person's explicit
clearing) and :data:`HOOK` (the initialisation hook, which no caller can be). Source: spec kernel.md section 3.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rulecore_kernel.state.domain import (
    ANYTHING,
    COUNT,
    FLAG,
    OBJECT,
    TEXT,
    Domain,
    Mismatch,
    Type,
    map_of,
    one_of,
    record,
)
from rulecore_kernel.state.model import INITIAL, State, changed
from rulecore_kernel.values import Json

USER = "the user's clearing"
HOOK = "initialisation hook"
GUARDS = ("SyncGuard", "IdempotencyGuard", "CompactDecision")
"""The rules that stand before and after every call, besides OnError."""
_ENGINE_READERS = ("Evaluate", "Update", "Decide", "Adjust")
_ENGINE_WRITERS = ("Update", "Decide", "Adjust")

_TIME = Domain(Type.NUMBER, nullable=True)
_NAME = Domain(Type.TEXT, nullable=True)
_OPERATION = record(status=one_of("pending", "done", "failed"), owner=Domain(Type.ID, nullable=True), summary=_NAME)
_FILE = record(timestamp=_TIME, lastModifiedTime=_TIME, hash=_NAME)
_CALL = record(count=COUNT, lastResult=ANYTHING)


class Variable(NamedTuple):
    """One row. ``set_only``: every writer but the user may only make it true."""

    name: str
    field: str
    domain: Domain
    readers: tuple[str, ...]
    writers: tuple[str, ...]
    set_only: bool = False

    @property
    def initial(self) -> Json:
        """The value before anything was written; a missing or null variable counts as this."""
        initial: Json = State._field_defaults[self.field]
        return initial


VARIABLES = (
    Variable("operationLog", "operation_log", map_of(_OPERATION), ("StateValidity", "OnError"),
             ("ErrorHandler", "executor", "StateRecovery", "PostProcess")),
    Variable("fileCache", "file_cache", map_of(_FILE), ("StateValidity", "SyncGuard"),
             ("ReadStrategy", "SyncGuard", "StateRecovery")),
    Variable("externalConsistency", "external_consistency", FLAG, ("StateValidity",), ("SyncGuard",)),
    Variable("last", "last", Domain(Type.ID, nullable=True), ("IdempotencyGuard",), ("executor", "IdempotencyGuard")),
    Variable("lastFileHash", "last_file_hash", _NAME, ("IdempotencyGuard",),
             ("executor", "IdempotencyGuard")),
    Variable("retryCounter", "retry_counter", COUNT, ("OnError", "engine.Gate"), ("OnError", "executor", USER)),
    Variable("switchCounter", "switch_counter", COUNT, ("OnError", "Decide"), ("OnError", "Decide", USER)),
    Variable("forceHalt", "force_halt", FLAG, (*GUARDS, "OnError", "Decide"),
             ("OnError", "ErrorHandler", "Decide", USER), set_only=True),
    Variable("haltedRounds", "halted_rounds", COUNT, ("OnError",), ("OnError", USER)),
    Variable("roundsWithoutSwitch", "rounds_without_switch", COUNT, ("OnError",), ("OnError", USER)),
    Variable("toolCallHistory", "tool_call_history", map_of(_CALL), ("OnError",), ("executor",)),
    Variable("emptyCount", "empty_count", record(tools=map_of(COUNT), calls=map_of(COUNT)), ("OnError",),
             ("OnError", "Decide", USER)),
    Variable("callCount", "call_count", record(calls=map_of(COUNT)), ("FirstCallTransient", "OnError"), ("executor",)),
    Variable("completed", "completed", map_of(ANYTHING), ("StateValidity",), ("CompactProcedure", "StateRecovery")),
    Variable("fileSnapshots", "file_snapshots", map_of(TEXT), ("ErrorHandler",), ("executor",)),
    Variable("iterationCount", "iteration_count", COUNT, _ENGINE_READERS, _ENGINE_WRITERS),
    Variable("CF", "cf", COUNT, _ENGINE_READERS, _ENGINE_WRITERS),
    Variable("CP", "cp", COUNT, _ENGINE_READERS, _ENGINE_WRITERS),
    Variable("qualityDeclineCount", "quality_decline_count", COUNT, _ENGINE_READERS, _ENGINE_WRITERS),
    Variable("bestResult", "best_result", ANYTHING, _ENGINE_READERS, _ENGINE_WRITERS),
    Variable("bestQuality", "best_quality", Domain(Type.NUMBER, minimum=0, maximum=1, nullable=True), _ENGINE_READERS,
             _ENGINE_WRITERS),
    Variable("lastResult", "last_result", ANYTHING, _ENGINE_READERS, _ENGINE_WRITERS),
    Variable("history", "history", Domain(Type.LIST, items=OBJECT), _ENGINE_READERS, _ENGINE_WRITERS),
    Variable("changeLog", "change_log", Domain(Type.LIST), _ENGINE_READERS, _ENGINE_WRITERS),
    Variable("subRoundAttempts", "sub_round_attempts", COUNT, _ENGINE_READERS, (*_ENGINE_WRITERS, "Evaluate")),
    Variable("skippedFromSubRound", "skipped_from_sub_round", FLAG, _ENGINE_READERS, (*_ENGINE_WRITERS, "Evaluate")),
    Variable("skipExternalConsistency", "skip_external_consistency", FLAG, ("StateValidity",), (HOOK,)),
    Variable("skipHistoricalIntegrity", "skip_historical_integrity", FLAG, ("StateValidity",), (HOOK,)),
)  # fmt: skip

BY_NAME: Mapping[str, Variable] = {variable.name: variable for variable in VARIABLES}


def parse(plain: Mapping[str, Json], names: Iterable[str]) -> State | Mismatch:
    """State from wire names. Only ``names`` are looked at; a missing or null one has its initial value."""
    fields: dict[str, Json] = {}
    for name in names:
        value = plain.get(name)
        if value is None:
            continue
        variable = BY_NAME[name]
        mismatch = variable.domain.mismatch(value)
        if mismatch is not None:
            return mismatch._replace(path=f"{name}{mismatch.path}")
        fields[variable.field] = value
    return changed(INITIAL, fields)
