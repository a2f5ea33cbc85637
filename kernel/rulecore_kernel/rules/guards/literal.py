"""OnError as the seed has it, on raw results (``guard.profile: literal``).

Kept, tested and measured beside the calibrated profile, which replaced it as the default: on real sessions it halts
healthy work. The decision is the library's own rule; this module only hands it the counters of one session.

Source: spec kernel.md section 6, agents.md section 2.2.
"""

from rulecore_kernel.rules.guards.events import Action, Call, Decision, Result, brief
from rulecore_kernel.rules.guards.session import Scalars, Session, Write
from rulecore_kernel.rules.on_error import CONTINUE, FORCEHALT, RETRY, Counters, Limits, on_error

RULE = "OnError.literal"
EMPTY = "empty|"
_TOOL, _CALL, _CALLED = "empty|tool|", "empty|call|", "called|"
_WORDS = {
    "retry": "an empty first answer may be transient; one retry is free.",
    "switch_strategy": "change the parameters, the tool or the plan.",
    "halt": "this cannot be repaired by trying again; report it.",
    "halt+persist": "stop this chain of calls and say what failed.",
    "skip_remaining": "resources are exhausted; skip the rest of this chain.",
    "forcehalt": "too many failures or empty results. Stopped; a person clears it.",
}


def decide(
    session: Session, scalars: Scalars, call: Call, result: Result, limits: Limits, *, ran: bool
) -> tuple[Scalars, Decision, list[Write]]:
    """Ask OnError about the call that just ended.

    Arguments: ``ran`` is False for a call that the guard denied, which the executor does not count. Returns the
    scalars, the decision and the writes of the counters.
    """
    keys = {"empty_tool": _TOOL + call.tool, "empty_call": _CALL + call.key, "calls": _CALLED + call.key}
    before = Counters(
        scalars.retry_counter,
        scalars.switch_counter,
        scalars.force_halt,
        scalars.halted_rounds,
        scalars.rounds_without_switch,
        *(session.counts.get(key, 0) for key in keys.values()),
    )
    ruling = on_error(before, result_empty=result.empty, error=result.error_class, limits=limits)
    after = ruling.counters._replace(calls=ruling.counters.calls + int(ran))
    writes = [
        Write("counts", key, getattr(after, field))
        for field, key in keys.items()
        if getattr(after, field) != getattr(before, field)
    ]
    scalars = scalars._replace(
        retry_counter=after.retry, switch_counter=after.switch, rounds_without_switch=after.rounds_without_switch
    )
    return scalars, _spoken(ruling.decision, call), writes


def _spoken(decision: str, call: Call) -> Decision:
    if decision == CONTINUE:
        return Decision(outcome=CONTINUE)
    action = Action.STOP if decision == FORCEHALT else Action.ALLOW if decision == RETRY else Action.ADVISE
    message = "" if action is Action.ALLOW else brief(f"{RULE}: {call.tool}: {_WORDS[decision]}")
    return Decision(action, RULE, message, decision)
