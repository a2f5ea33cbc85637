"""Every parameter: key, allowed values, default, reader. The one list that configuration, docs and guards share.

A new parameter is one row. Sources: spec kernel.md section 2, agents.md section 2, analysis.md, aiwork.md sections
1 and 6.
"""

from collections.abc import Mapping
from typing import NamedTuple

from rulecore_kernel.state.domain import FLAG, TEXT, Domain, Type, one_of
from rulecore_kernel.values import Json

_BYTES = Domain(Type.INTEGER, minimum=0)
_LIMIT = Domain(Type.INTEGER, minimum=1)
_REPEATS = Domain(Type.INTEGER, minimum=2)
_MODES = ("enforce", "advise", "observe")
_MODE = one_of(*_MODES)
_OWN_MODE = Domain(Type.TEXT, _MODES, nullable=True)
_NAMES = Domain(Type.LIST, items=TEXT)


class Parameter(NamedTuple):
    """One row. ``required``: there is no default, and a rule that reads it is degraded while no source has it.

    ``alias`` is another name under which project.md may hold it.
    """

    key: str
    domain: Domain
    default: Json
    reader: str
    meaning: str
    required: bool = False
    alias: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that may hold it."""
        return "RULECORE_" + self.key.replace(".", "_").upper()


PARAMETERS = (
    Parameter("read.small_bytes", _BYTES, 32_768, "ReadStrategy", "files below this size are read as they are"),
    Parameter("read.large_bytes", _BYTES, 262_144, "ReadStrategy", "files above this size are read in segments"),
    Parameter("onerror.retry_limit", _LIMIT, 3, "OnError", "failures in a row that force a halt"),
    Parameter("onerror.empty_tool_limit", _LIMIT, 3, "OnError", "empty results of one tool in a row that force a halt"),
    Parameter("onerror.empty_params_limit", _LIMIT, 2, "OnError", "empty results of one call that switch the strategy"),
    Parameter("onerror.switch_limit", _LIMIT, 3, "OnError", "switches after which the next one is a forced halt"),
    Parameter("onerror.switch_decay_rounds", _LIMIT, 10, "OnError",
              "evaluations without a switch that take one switch off the count, general scope"),
    Parameter("onerror.loop_switch_decay_rounds", _LIMIT, 8, "OnError", "the same in a loop body"),
    Parameter("onerror.forcehalt_notify_rounds", _LIMIT, 5, "OnError",
              "clean evaluations under a halt after which the user is asked whether to clear it"),
    Parameter("context.critical_watermark", Domain(Type.NUMBER, minimum=0, maximum=1), 0.85, "CompactDecision",
              "used share of the context window above which (strictly) it is critical"),
    Parameter("guard.mode", _MODE, "enforce", "guards",
              "enforce; advise (never deny or stop); observe (only record)"),
    Parameter("guard.redundant_read.mode", _OWN_MODE, None, "IdempotencyGuard", "own mode; null follows guard.mode"),
    Parameter("guard.loop.mode", _OWN_MODE, None, "OnError", "own mode; null follows guard.mode"),
    Parameter("guard.stale_edit.mode", _OWN_MODE, None, "SyncGuard", "own mode; null follows guard.mode"),
    Parameter("guard.profile", one_of("calibrated", "literal"), "calibrated", "OnError", "what OnError is fed with"),
    Parameter("guard.repeat_switch", _REPEATS, 3, "OnError", "same call and outcome in a row: switch at this call"),
    Parameter("guard.repeat_halt", _REPEATS, 5, "OnError", "same call and outcome in a row: forced halt at this call"),
    Parameter("guard.cycle_repeats", _REPEATS, 3, "OnError", "repetitions of a cycle of 2–4 calls: switch"),
    Parameter("guard.same_read_limit", _REPEATS, 4, "OnError", "same read, search or exec since the last edit: switch"),
    Parameter("guard.poll_bound", _REPEATS, 10, "OnError", "unchanged polls: switch at this one"),
    Parameter("guard.no_progress_calls", _LIMIT, 40, "OnError", "calls without an edit, news or a check: advice"),
    Parameter("guard.unread_edit", one_of("advise", "deny", "allow"), "advise", "SyncGuard",
              "what an edit of a file that was never read gets"),
    Parameter("halt.allow_reads", FLAG, True, "guards", "reads, searches and fetches pass while a halt stands"),
    Parameter("cohesion.max_methods", _LIMIT, 30, "CohesionCheck, CohesionLowStrategy",
              "methods above this are low cohesion"),
    Parameter("cohesion.god_methods", _LIMIT, 40, "CohesionLowStrategy", "methods above this ask for a refactoring"),
    Parameter("cohesion.max_lines", _LIMIT, 1000, "CohesionCheck", "lines above this are low cohesion"),
    Parameter("code_standard.allowed", _NAMES, (), "CodeStandard", "rules whose findings do not block",
              alias="AllowedCodeViolations"),
    Parameter("aiwork.timezone", Domain(Type.TEXT, nullable=True), None, ".aiWork",
              "the project's time zone: an IANA name or UTC+8; null is the local one"),
    Parameter("aiwork.default_branch", Domain(Type.TEXT, nullable=True), None, ".aiWork",
              "the shared branch; null finds it: origin/HEAD, origin/main, origin/master"),
)  # fmt: skip

BY_KEY: Mapping[str, Parameter] = {parameter.key: parameter for parameter in PARAMETERS}
