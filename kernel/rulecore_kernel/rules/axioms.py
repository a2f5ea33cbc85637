"""Axioms: the three laws of a state's validity and their joint verdict. Source: spec kernel.md section 4."""

from collections.abc import Mapping
from typing import cast

from rulecore_kernel.rules.model import Answer, Decided
from rulecore_kernel.rules.table import Column, Missing, Row, Table
from rulecore_kernel.state.manager import StateManager
from rulecore_kernel.state.model import INITIAL, State, changed
from rulecore_kernel.state.variables import BY_NAME

VALID, INVALID, DEGRADED = VALIDITIES = ("valid", "invalid", "degraded")

VALIDITY_TABLE = Table(
    (Column("internal"), Column("external"), Column("historical")),
    (
        Row(INVALID, {"internal": False}),
        Row(VALID, {"external": True, "historical": True}),
        Row(DEGRADED, {"external": True, "historical": False}),
        Row(DEGRADED, {"external": False, "historical": True}),
        Row(INVALID, {"external": False, "historical": False}),
    ),
)

OPERATION_TABLE = Table(
    (Column("status", ("pending", "done", "failed")), Column("owned")),
    (Row(False, {"status": "pending", "owned": False}), Row(True)),
)


def state_validity(
    internal: bool,
    external: bool | None = None,
    historical: bool | None = None,
    skip_external: bool = False,
    skip_historical: bool = False,
    sync_available: bool = True,
) -> Decided:
    """
    What it decides
        Whether the agent's picture of itself and of the world can be worked with: ``valid``, ``degraded`` or
        ``invalid``.

    Why
        An agent that goes on with a half-done operation or an outdated file builds every later step on it. Told
        apart are what one refreshed dimension mends (``degraded``) and what has to start over (``invalid``).

    Table
        A skipped dimension counts as true. ``dimensions`` carries each law's value or ``"skipped"`` (null: not
        known and not needed); ``external_confidence`` is ``"unverified"`` when SyncGuard was not available and the
        external dimension is not skipped.

    Example
        {"rule": "StateValidity", "args": {"internal": true, "external": false, "historical": true}}
        {"rule": "StateValidity", "decision": "degraded",
         "dimensions": {"internal": true, "external": false, "historical": true}}

    Source
        spec: kernel.md §4
    """
    decision = VALIDITY_TABLE.decide(
        internal=internal,
        external=True if skip_external else external,
        historical=True if skip_historical else historical,
    )
    if isinstance(decision, Missing):
        return decision
    dimensions = {
        "internal": internal,
        "external": "skipped" if skip_external else external,
        "historical": "skipped" if skip_historical else historical,
    }
    if sync_available or skip_external:
        return Answer(decision, {"dimensions": dimensions})
    return Answer(decision, {"dimensions": dimensions, "external_confidence": "unverified"})


def internal_consistency(state: State) -> bool:
    """
    What it decides
        ``true`` when no operation in ``operationLog`` is pending without a process that still runs it.

    Why
        An operation that was pending when its process died may have been carried out in part. Nothing after it can be
        trusted before somebody looks.

    Table
        Asked of every operation; the law holds when the answer is true for each. ``owned`` means that ``owner`` is not
        null. An operation without a status counts as pending. An empty log is consistent.

    Example
        {"rule": "InternalConsistency", "state": {"operationLog": {"op-1": {"status": "pending", "owner": null}}}}
        {"rule": "InternalConsistency", "decision": false, "state": {}}

    Source
        spec: kernel.md §4
    """
    for operation in state.operation_log.values():
        entry = operation if isinstance(operation, Mapping) else {}
        if not OPERATION_TABLE.look_up(status=entry.get("status", "pending"), owned=entry.get("owner") is not None):
            return False
    return True


def external_consistency(state: State) -> bool:
    """
    What it decides
        ``true`` when every file in ``fileCache`` was read at or after its last change.

    Why
        An edit that is computed from an older content undoes somebody else's work.

    Table
        Asked of every file; the law holds when ``timestamp`` ≥ ``lastModifiedTime`` for each. A file without
        ``lastModifiedTime`` was never seen to change and holds; one with it and without ``timestamp`` was never
        read and does not. An empty cache is consistent. The times are SyncGuard's record of its comparison of
        contents; this law never looks at a clock.

    Example
        {"rule": "ExternalConsistency",
         "state": {"fileCache": {"a.py": {"timestamp": 5, "lastModifiedTime": 9, "hash": "h1"}}}}
        {"rule": "ExternalConsistency", "decision": false, "state": {}}

    Source
        spec: kernel.md §4
    """
    for file in state.file_cache.values():
        entry = file if isinstance(file, Mapping) else {}
        read, changed = entry.get("timestamp"), entry.get("lastModifiedTime")
        if isinstance(changed, int | float) and (not isinstance(read, int | float) or read < changed):
            return False
    return True


def historical_integrity(state: State) -> bool:
    """
    What it decides
        ``true`` when every completed phase in ``completed`` has a reasoning trace that is not empty.

    Why
        After a compaction the trace is all that says why something was done; without it the agent decides again, and
        otherwise.

    Table
        Asked of every completed phase; the law holds when each trace has something in it. White space, an empty
        list and null are nothing; the marker ``# FULL_RESET at …`` is a trace.

    Example
        {"rule": "HistoricalIntegrity", "state": {"completed": {"P_plan": "# FULL_RESET at 2025-01-01T00:00:00Z"}}}
        {"rule": "HistoricalIntegrity", "decision": true, "state": {}}

    Source
        spec: kernel.md §4
    """
    traces = state.completed.values()
    return all(trace.strip() if isinstance(trace, str) else trace for trace in traces)


def judge_validity(manager: StateManager, *, sync_available: bool) -> Answer:
    """StateValidity on a session's own state, after which the initialisation hook clears the skip flags.

    Arguments: ``sync_available`` is False when SyncGuard could not look at the files. Source: spec kernel.md
    sections 3, 4.
    """
    seen = changed(INITIAL, {BY_NAME[name].field: manager.read(name, "StateValidity") for name in _JUDGED})
    answer = state_validity(
        internal_consistency(seen),
        seen.external_consistency,
        historical_integrity(seen),
        skip_external=seen.skip_external_consistency,
        skip_historical=seen.skip_historical_integrity,
        sync_available=sync_available,
    )
    manager.validity_judged()
    return cast(Answer, answer)  # every dimension is known


_JUDGED = ("operationLog", "externalConsistency", "completed", "skipExternalConsistency", "skipHistoricalIntegrity")
