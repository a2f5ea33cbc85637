"""ConfigInjection by name. How every parameter is settled at once is ``state.config``. Source: spec kernel.md
section 2."""

from collections.abc import Mapping

from rulecore_kernel.rules.model import Answer, Decided
from rulecore_kernel.state.config import PROJECT_FILE, Layer, Source, environment_layer, flatten, pick
from rulecore_kernel.state.domain import ANYTHING
from rulecore_kernel.state.model import thaw
from rulecore_kernel.state.parameters import BY_KEY, Parameter
from rulecore_kernel.values import Json


def config_injection(
    key: str,
    runtime: Mapping[str, Json] | None = None,
    project: Mapping[str, Json] | None = None,
    env: Mapping[str, str] | None = None,
) -> Decided:
    """
    What it decides
        The value of one parameter, with the ``source`` that it came from: ``runtime``, ``project.md``,
        ``environment`` or ``default``.

    Why
        The same rule has to decide the same on every machine, and when it does not, the first question is where a value
        came from.

    Table
        The first source that has the key wins, in the order above. ``env`` holds variables: ``RULECORE_`` and the
        key in upper snake case, read as the parameter's type; an empty one counts as not set. A value of the wrong
        type or out of range → the default, and ``warnings`` say which. A key that no source has and that has no
        default → degraded: ``decision`` is null, ``missing`` names it. A key that the registry does not know may
        have any value.

    Example
        {"rule": "ConfigInjection", "args": {"key": "onerror.retry_limit", "project": {"onerror": {"retry_limit": 5}}}}
        {"rule": "ConfigInjection", "decision": 5, "source": "project.md"}

    Source
        spec: kernel.md §2
    """
    parameter = BY_KEY.get(key) or Parameter(key, ANYTHING, None, "", "", required=True)
    parameters = {**BY_KEY, key: parameter}
    setting, warning = pick(
        parameter,
        (
            Layer(Source.RUNTIME, Source.RUNTIME.value, flatten(runtime or {}, parameters)),
            Layer(Source.PROJECT, PROJECT_FILE, flatten(project or {}, parameters)),
            environment_layer(env or {}, parameters),
        ),
    )
    beside: dict[str, Json] = {"warnings": [warning.message]} if warning is not None else {}
    if setting is None:
        return degraded(key, beside)
    return Answer(thaw(setting.value), {"source": setting.source.value, **beside})


def degraded(key: str, beside: Mapping[str, Json] | None = None) -> Answer:
    """The answer of a rule whose required parameter no source has."""
    return Answer(None, {"degraded": True, "missing": key, **(beside or {})})
