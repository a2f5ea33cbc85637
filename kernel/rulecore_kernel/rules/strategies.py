"""Strategies: what to do next, looked up. Source: spec kernel.md section 5."""

from rulecore_kernel.rules.axioms import DEGRADED, INVALID, VALID, VALIDITIES
from rulecore_kernel.rules.model import Answer, Decided
from rulecore_kernel.rules.table import Column, Missing, Row, Table

RECOVERY_TABLE = Table(
    (Column("validity", VALIDITIES),),
    (
        Row("full_reset", {"validity": INVALID}),
        Row("targeted_recovery", {"validity": DEGRADED}),
        Row("no_action", {"validity": VALID}),
    ),
)

COMPACT_TABLE = Table(
    (Column("ctx_critical"), Column("validity", VALIDITIES), Column("phase_changed"), Column("module_done")),
    (
        Row("emergency_dump", {"ctx_critical": True}),
        Row("recover_first", {"validity": INVALID}),
        Row("phase_compact", {"phase_changed": True}),
        Row("module_compact", {"module_done": True}),
        Row("no_action"),
    ),
)

READ_TABLE = Table(
    (Column("validity", VALIDITIES), Column("size", ("small", "medium", "large"))),
    (
        Row("recover_first", {"validity": INVALID}),
        Row("direct", {"size": "small"}),
        Row("process", {"size": "medium"}),
        Row("process", {"validity": DEGRADED}),
        Row("process_segmented"),
    ),
)

IDEMPOTENCY_TABLE = Table(
    (Column("current_null"), Column("last_null"), Column("same_operation"), Column("same_hash")),
    (
        Row("null_input", {"current_null": True}),
        Row("proceed", {"last_null": True}),
        Row("skip", {"same_operation": True, "same_hash": True}),
        Row("proceed"),
    ),
)


def state_recovery(validity: str) -> Decided:
    """
    What it decides
        Which recovery a validity asks for: ``full_reset``, ``targeted_recovery`` or ``no_action``.

    Why
        One dimension that drifted is refreshed; only a state whose own log is broken starts over.

    Table
        One row for each validity. The steps of ``full_reset`` and ``targeted_recovery`` are a procedure of their own.

    Example
        {"rule": "StateRecovery", "args": {"validity": "degraded"}}
        {"rule": "StateRecovery", "decision": "targeted_recovery"}

    Source
        spec: kernel.md §5
    """
    return RECOVERY_TABLE.decide(validity=validity)


def compact_decision(
    phase_changed: bool | None = None,
    module_done: bool | None = None,
    ctx_critical: bool | None = None,
    validity: str | None = None,
) -> Decided:
    """
    What it decides
        Which compaction is due: ``emergency_dump``, ``phase_compact``, ``module_compact``, ``no_action``, or
        ``recover_first`` before any of them.

    Why
        A context that is about to be cut off cannot wait for a tidy summary, so the emergency comes before
        everything. Any other compaction of an invalid state would keep what is broken.

    Table
        An argument that no row still needs may be left out: under ``ctx_critical`` nothing else is looked at.

    Example
        {"rule": "CompactDecision", "args": {"ctx_critical": false, "validity": "valid", "phase_changed": true}}
        {"rule": "CompactDecision", "decision": "phase_compact"}

    Source
        spec: kernel.md §5
    """
    return COMPACT_TABLE.decide(
        ctx_critical=ctx_critical, validity=validity, phase_changed=phase_changed, module_done=module_done
    )


def read_strategy(
    size: int | None = None, validity: str | None = None, *, small_bytes: int = 32_768, large_bytes: int = 262_144
) -> Decided:
    """
    What it decides
        How to read a file of ``size`` bytes: ``direct`` (as it is), ``process`` (whole, a summary enters the dialogue),
        ``process_segmented`` (an index first, segments on demand), or ``recover_first``.

    Why
        A large file read whole pushes out the context that it was read for.

    Table
        ``size`` is small below ``read.small_bytes``, large above ``read.large_bytes``, medium from one to the
        other. In a degraded state ``force_reread: true`` stands beside the decision at every size: the cache is not
        to be trusted.

    Example
        {"rule": "ReadStrategy", "args": {"size": 300000, "validity": "degraded"}}
        {"rule": "ReadStrategy", "decision": "process", "force_reread": true}

    Source
        spec: kernel.md §5
    """
    size_class = None
    if size is not None:
        size_class = "small" if size < small_bytes else "medium" if size <= large_bytes else "large"
    decision = READ_TABLE.decide(validity=validity, size=size_class)
    if isinstance(decision, Missing) or validity != DEGRADED:
        return decision
    return Answer(decision, {"force_reread": True})


def idempotency_check(
    current: str | int | None,
    last: str | int | None = None,
    current_hash: str | None = None,
    last_hash: str | None = None,
) -> Decided:
    """
    What it decides
        Whether an operation would only repeat the last one: ``skip``, ``proceed`` or ``null_input``.

    Why
        Reading the same bytes again costs tokens and teaches nothing; but the same operation on other bytes is news.

    Table
        ``same_operation`` is ``current`` = ``last``; ``same_hash`` is ``current_hash`` = ``last_hash`` with neither
        of them null: an unknown hash equals nothing.

    Example
        {"rule": "IdempotencyCheck",
         "args": {"current": "read a.py", "last": "read a.py", "current_hash": "h1", "last_hash": "h1"}}
        {"rule": "IdempotencyCheck", "decision": "skip"}

    Source
        spec: kernel.md §5
    """
    return IDEMPOTENCY_TABLE.decide(
        current_null=current is None,
        last_null=last is None,
        same_operation=current == last,
        same_hash=current_hash is not None and current_hash == last_hash,
    )
