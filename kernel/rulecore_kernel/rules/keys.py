"""Call keys: the identity of a tool call. Source: spec kernel.md section 1 (wire details)."""

from json import JSONEncoder

from rulecore_kernel.values import Json, JsonObject

_ENCODER = JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical_json(value: Json) -> str:
    """``value`` as JSON with sorted keys, no white space and non-ASCII kept. ``value`` must be plain (lists,
    dictionaries).

    Keys are sorted by code point. Raises ``RecursionError`` when it is nested too deeply.
    """
    return _ENCODER.encode(value)


def call_key(tool: str, params: JsonObject) -> str:
    """``tool|canonical JSON of params``."""
    return f"{tool}|{canonical_json(params)}"
