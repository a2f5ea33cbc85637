"""The parameters that the guards read, as one value. Keys and defaults: spec agents.md section 2, parameters.md."""

from typing import NamedTuple

from rulecore_kernel.rules.guards.events import Action
from rulecore_kernel.rules.on_error import LIMITS, Limits

ENFORCE, ADVISE, OBSERVE = "enforce", "advise", "observe"
CALIBRATED, LITERAL = "calibrated", "literal"


class Policy(NamedTuple):
    """``*_mode`` is ``enforce``, ``advise`` (never deny or stop) or ``observe`` (only record)."""

    profile: str = CALIBRATED
    mode: str = ENFORCE
    redundant_read_mode: str = ENFORCE
    loop_mode: str = ENFORCE
    stale_edit_mode: str = ENFORCE
    repeat_switch: int = 3
    repeat_halt: int = 5
    cycle_repeats: int = 3
    same_read_limit: int = 4
    poll_bound: int = 10
    no_progress_calls: int = 40
    unread_edit: Action = Action.ADVISE
    halt_allow_reads: bool = True
    literal: Limits = LIMITS
    """``onerror.*``; the calibrated profile reads the decay and the notification from it."""
