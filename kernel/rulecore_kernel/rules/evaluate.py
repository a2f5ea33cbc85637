"""A rule by name: the wire's request in, the wire's answer out. Never raises. Source: spec kernel.md section 1.

Request ``{"rule", "args", "state", "config", "phase", "current_scope"}``; answer ``{"rule", "decision", …, "state",
"active"}`` or ``{"error": {"code", "message"}}``. Fields of the request that are not named here are let be.
"""

from collections.abc import Mapping

from rulecore_kernel.rules.activity import FOCUS, is_active
from rulecore_kernel.rules.config_injection import degraded
from rulecore_kernel.rules.model import Answer, Code, Decided, Problem, Rule, Scope
from rulecore_kernel.rules.registry import BY_NAME
from rulecore_kernel.rules.table import Missing
from rulecore_kernel.state.config import DEFAULTS, Settings
from rulecore_kernel.state.domain import OBJECT, Mismatch, one_of, shown
from rulecore_kernel.state.manager import StatePermissionError
from rulecore_kernel.state.names import hint
from rulecore_kernel.state.variables import parse
from rulecore_kernel.values import Json, JsonObject

_PHASE = one_of(*FOCUS)
_SCOPE = one_of(*Scope)


def evaluate(
    request: Mapping[str, Json], settings: Settings = DEFAULTS, rules: Mapping[str, Rule] = BY_NAME
) -> dict[str, object]:
    """Evaluate one request.

    Arguments: ``settings`` are the workspace's; the request's ``config`` goes above them for this call. Returns the
    answer or an error object; no JSON value makes it raise.
    """
    name = ""
    try:
        given = request.get("rule")
        rule = rules.get(given) if isinstance(given, str) else None
        if rule is None:
            return _unknown_rule(given, rules)
        name = rule.name
        return _answer(rule, request, settings)
    except StatePermissionError as error:
        return failure(Code.PERMISSION, f"{name}: {error}")
    except RecursionError:
        return failure(Code.BAD_ARGUMENT, f"{name}: the request is nested too deeply")
    except Exception as error:
        return failure(Code.INTERNAL, f"{name}: {type(error).__name__}: {error}. This is a defect of rulecore.")


def failure(code: Code, message: str) -> dict[str, object]:
    """An error object."""
    return {"error": {"code": code.value, "message": message}}


def _answer(rule: Rule, request: Mapping[str, Json], settings: Settings) -> dict[str, object]:
    parts: dict[str, JsonObject] = {}
    for part in ("args", "state", "config"):
        value = request.get(part)
        if value is None:
            parts[part] = {}
        elif isinstance(value, Mapping):
            parts[part] = value
        else:
            return _failed(rule, Problem(Code.BAD_ARGUMENT, part, shown(value), OBJECT.describe()))
    activity = _activity(rule, request)
    if isinstance(activity, Problem):
        return _failed(rule, activity)
    if parts["config"]:
        settings = settings.override(parts["config"])
    decided = _decide(rule, parts["args"], parts["state"], settings)
    if isinstance(decided, Problem):
        return _failed(rule, decided)
    outcome = decided if isinstance(decided, Answer) else Answer(decided)
    answer: dict[str, object] = {"rule": rule.name, "decision": outcome.decision, **outcome.beside}
    if rule.state:
        answer["state"] = dict(outcome.state)
    if activity is not None:
        answer["active"] = activity
    if parts["config"] and settings.warnings:
        answer["warnings"] = [warning.message for warning in settings.warnings]
    return answer


def _decide(rule: Rule, args: JsonObject, state: JsonObject, settings: Settings) -> Json | Answer | Problem:
    """Bind arguments, state and parameters, and call the rule."""
    bound: dict[str, object] = {}
    known = 0
    for name, domain, _, required in rule.args:
        value = args.get(name)
        if value is not None:
            mismatch = domain.mismatch(value)
            if mismatch is not None:
                return _bad(name, mismatch)
            bound[name] = value
            known += 1
        elif required:
            if not (domain.nullable and name in args):
                return _missing(rule, name)
            bound[name] = None
            known += 1
        elif name in args:
            known += 1
    if known != len(args):
        return _unknown_argument(rule, args)
    if rule.state:
        parsed = parse(state, rule.state)
        if isinstance(parsed, Mismatch):
            return _bad("state.", parsed)
        bound["state"] = parsed
    for name, key in rule.parameters.items():
        setting = settings.values.get(key)
        if setting is None:
            return degraded(key)
        bound[name] = setting.value
    decided: Decided = rule.function(**bound)
    return _missing(rule, decided.column) if isinstance(decided, Missing) else decided


def _activity(rule: Rule, request: Mapping[str, Json]) -> bool | Problem | None:
    """Whether the rule is active, when the request asks; None when it does not."""
    phase, scope = request.get("phase"), request.get("current_scope")
    if phase is None and scope is None:
        return None
    for name, value, domain in (("phase", phase, _PHASE), ("current_scope", scope, _SCOPE)):
        mismatch = None if value is None else domain.mismatch(value)
        if mismatch is not None:
            return _bad(name, mismatch)
    return is_active(rule, None if phase is None else str(phase), None if scope is None else str(scope))


def _bad(name: str, mismatch: Mismatch) -> Problem:
    return Problem(Code.BAD_ARGUMENT, f"{name}{mismatch.path}", f"given {mismatch.given}", mismatch.allowed)


def _missing(rule: Rule, name: str) -> Problem:
    allowed = next((arg.domain.describe() for arg in rule.args if arg.name == name), "")
    return Problem(Code.MISSING_ARGUMENT, name, "nothing was given", allowed)


def _unknown_argument(rule: Rule, args: JsonObject) -> Problem:
    names = [arg.name for arg in rule.args]
    name = next(str(given) for given in args if given not in names)
    given = f"no such argument{hint(name, names)}"
    return Problem(Code.BAD_ARGUMENT, name, given, ", ".join(names) or "none; this rule takes no arguments")


def _failed(rule: Rule, problem: Problem) -> dict[str, object]:
    return failure(problem.code, f"{rule.name}: {problem.argument}: {problem.given}; allowed: {problem.allowed}")


def _unknown_rule(given: Json, rules: Mapping[str, Rule]) -> dict[str, object]:
    similar = hint(given, rules) if isinstance(given, str) else ""
    text = "nothing was given" if given is None else f"no rule is called {shown(given)}"
    return failure(Code.UNKNOWN_RULE, f"rule: {text}{similar}; allowed: {', '.join(rules)}")
