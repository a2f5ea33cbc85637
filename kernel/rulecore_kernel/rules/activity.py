"""Which rules are consulted where: the focus of a phase, and the scope. Source: spec engine.md section 1."""

from collections.abc import Mapping

from rulecore_kernel.rules.model import Layer, Rule, Scope

FOCUS: Mapping[str, Layer] = {
    "P_plan": Layer.L0,
    "P_exec_prep": Layer.L2,
    "P_exec_core": Layer.L2,
    "P_exec_verify": Layer.L1,
    "P_complete": Layer.L0,
}
"""Phase → the level that has the attention."""

ALWAYS_CONSULTED = frozenset(
    {"OnError", "StateValidity", "StateRecovery", "SyncGuard", "IdempotencyGuard", "CompactDecision"}
)
"""What the guards use stays on at every focus. OnError applies in every scope: in ``loop_body`` its loop form,
elsewhere its general one."""


def is_active(rule: Rule, phase: str | None, current_scope: str | None) -> bool:
    """Whether ``rule`` is consulted in ``phase`` and ``current_scope``; None leaves that side open.

    The focus activates its own level and those below it; the scope has to be the rule's own, or the rule ``global``.
    """
    if rule.name in ALWAYS_CONSULTED:
        return True
    in_focus = phase is None or FOCUS[phase] <= rule.layer
    in_scope = current_scope is None or rule.scope in (Scope.GLOBAL, current_scope)
    return in_focus and in_scope
