"""Agent adapters: one row an agent, by the name that its events carry in ``agent``."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.agents import cline, hook_cline

Handle = Callable[[str, JsonObject], Json]
"""The guard service: (method, params) → result."""


class Adapter(NamedTuple):
    """What the sidecar knows of one agent.

    ``normalise`` fills an Event's ``ops`` (and result, error, exit code) from the agent's own parameters and result;
    ``hook_request`` turns a command hook's JSON into a request (None: nothing to ask), ``hook_answer`` (hook JSON,
    Decision) into the hook's answer.
    """

    normalise: Callable[[JsonObject], dict[str, Json]]
    hook_request: Callable[[JsonObject], tuple[str, dict[str, Json]] | None]
    hook_answer: Callable[[JsonObject, JsonObject], dict[str, Json]]


ADAPTERS: Final[Mapping[str, Adapter]] = {
    "cline": Adapter(
        cline.normalise,
        lambda hook_json: hook_cline.request(hook_json, hook_cline.read_small_file),
        hook_cline.answer,
    )
}


def adapt(event: JsonObject) -> JsonObject:
    """``event`` with its ``ops``: as it came, or filled by its agent's adapter when it has none."""
    name = event.get("agent")
    adapter = ADAPTERS.get(name) if isinstance(name, str) else None
    return event if adapter is None or "ops" in event else adapter.normalise(event)


def hook(params: JsonObject, handle: Handle) -> dict[str, Json]:
    """``rulecore/agent/hook`` ``{agent, raw}``: a command hook's JSON → the JSON that the hook answers.

    ``{}`` for an unknown agent or hook. Raises what ``handle`` raises.
    """
    name, raw = params.get("agent"), params.get("raw")
    adapter = ADAPTERS.get(name) if isinstance(name, str) else None
    request = adapter.hook_request(raw) if adapter is not None and isinstance(raw, Mapping) else None
    if adapter is None or request is None or not isinstance(raw, Mapping):
        return {}
    decision = handle(*request)
    return adapter.hook_answer(raw, decision) if isinstance(decision, Mapping) else {}
