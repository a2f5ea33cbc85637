"""Every rule, one row each. Nothing is discovered: what is not in :data:`RULES` does not exist.

Kinds, categories, layers and scopes: spec kernel.md section 1 (registry values).
"""

from collections.abc import Mapping

from rulecore_kernel.rules.axioms import (
    OPERATION_TABLE,
    VALIDITIES,
    VALIDITY_TABLE,
    external_consistency,
    historical_integrity,
    internal_consistency,
    state_validity,
)  # fmt: skip
from rulecore_kernel.rules.config_injection import config_injection
from rulecore_kernel.rules.model import Arg, Category, Kind, Layer, Rule, Scope
from rulecore_kernel.rules.on_error import ERRORS, ON_ERROR_TABLE, Limits, on_error_by_name
from rulecore_kernel.rules.strategies import (
    COMPACT_TABLE,
    IDEMPOTENCY_TABLE,
    READ_TABLE,
    RECOVERY_TABLE,
    compact_decision,
    idempotency_check,
    read_strategy,
    state_recovery,
)  # fmt: skip
from rulecore_kernel.state.domain import COUNT, FLAG, OBJECT, TEXT, Domain, Type, one_of

_VALIDITY = one_of(*VALIDITIES)
_OPERATION_ID = Domain(Type.ID, nullable=True)
_HASH = Domain(Type.TEXT, nullable=True)

RULES = (
    Rule(
        "ConfigInjection", Kind.SM, Category.AXIOM, Layer.L0, Scope.GLOBAL, "a parameter's value and its source",
        (
            Arg("key", TEXT, "the parameter, dotted", required=True),
            Arg("runtime", OBJECT, "what the call itself sets"),
            Arg("project", OBJECT, "the front matter of project.md"),
            Arg("env", Domain(Type.OBJECT, items=TEXT), "environment variables"),
        ),
        config_injection,
    ),
    Rule(
        "StateValidity", Kind.QA, Category.AXIOM, Layer.L1, Scope.GLOBAL, "validity of the state",
        (
            Arg("internal", FLAG, "InternalConsistency", required=True),
            Arg("external", FLAG, "ExternalConsistency"),
            Arg("historical", FLAG, "HistoricalIntegrity"),
            Arg("skip_external", FLAG, "the external dimension counts as true"),
            Arg("skip_historical", FLAG, "the historical dimension counts as true"),
            Arg("sync_available", FLAG, "SyncGuard could look at the files"),
        ),
        state_validity, VALIDITY_TABLE,
    ),
    Rule(
        "InternalConsistency", Kind.QA, Category.AXIOM, Layer.L1, Scope.GLOBAL, "no operation hangs",
        (), internal_consistency, OPERATION_TABLE, state=("operationLog",),
    ),
    Rule(
        "ExternalConsistency", Kind.QA, Category.AXIOM, Layer.L1, Scope.GLOBAL, "no file is outdated",
        (), external_consistency, state=("fileCache",),
    ),
    Rule(
        "HistoricalIntegrity", Kind.QA, Category.AXIOM, Layer.L1, Scope.GLOBAL, "no completed phase lost its reasons",
        (), historical_integrity, state=("completed",),
    ),
    Rule(
        "StateRecovery", Kind.SM, Category.STRATEGY, Layer.L1, Scope.GLOBAL, "the recovery that is due",
        (Arg("validity", _VALIDITY, "StateValidity's decision", required=True),),
        state_recovery, RECOVERY_TABLE,
    ),
    Rule(
        "CompactDecision", Kind.CD, Category.STRATEGY, Layer.L1, Scope.GLOBAL, "the compaction that is due",
        (
            Arg("phase_changed", FLAG, "a phase has just ended"),
            Arg("module_done", FLAG, "a module has just been finished"),
            Arg("ctx_critical", FLAG, "the context window is used above context.critical_watermark"),
            Arg("validity", _VALIDITY, "StateValidity's decision"),
        ),
        compact_decision, COMPACT_TABLE,
    ),
    Rule(
        "ReadStrategy", Kind.CD, Category.STRATEGY, Layer.L3, Scope.GLOBAL, "how to read a file",
        (Arg("size", COUNT, "bytes"), Arg("validity", _VALIDITY, "StateValidity's decision")),
        read_strategy, READ_TABLE, parameters={"small_bytes": "read.small_bytes", "large_bytes": "read.large_bytes"},
    ),
    Rule(
        "IdempotencyCheck", Kind.QA, Category.STRATEGY, Layer.L3, Scope.GLOBAL, "whether an operation repeats the last",
        (
            Arg("current", _OPERATION_ID, "the operation that is about to run", required=True),
            Arg("last", _OPERATION_ID, "the operation that ran last"),
            Arg("current_hash", _HASH, "content hash of its file now"),
            Arg("last_hash", _HASH, "content hash of its file then"),
        ),
        idempotency_check, IDEMPOTENCY_TABLE,
    ),
    Rule(
        "OnError", Kind.CD, Category.STRATEGY, Layer.L1, Scope.LOOP_BODY, "what follows a failed or empty tool call",
        (
            Arg("tool", TEXT, "the tool's name", required=True),
            Arg("params", OBJECT, "the tool's parameters", required=True),
            Arg("result_empty", FLAG, "the tool answered without an error, and nothing came"),
            Arg("error", Domain(Type.TEXT, ERRORS, nullable=True), "what went wrong, null when nothing did"),
            Arg("step_index", COUNT, "position in the tool chain, from 0"),
            Arg("toolchain_len", Domain(Type.INTEGER, minimum=1), "length of the tool chain"),
            Arg("phase_changed", FLAG, "first evaluation of a new phase"),
            Arg("scope", one_of(*Scope), "loop_body, or any other: the general scope"),
        ),
        on_error_by_name, ON_ERROR_TABLE,
        parameters={limit: f"onerror.{limit}" for limit in Limits._fields},
        state=(
            "retryCounter", "switchCounter", "forceHalt", "haltedRounds", "roundsWithoutSwitch", "emptyCount",
            "callCount",
        ),
    ),
)  # fmt: skip

BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}
