"""What a result says: the identity of a call, of its outcome and of its failure.

Two calls are the same call when tool and parameters are equal once the fields in which an agent explains itself are
taken away. Two results are the same outcome when their text is equal once durations, clock times, addresses and
scratch paths are masked. Other digits are kept: a counter that moves is news. Source: spec agents.md section 2.2.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping

from rulecore_kernel.rules import keys
from rulecore_kernel.rules.guards.events import Call, Result
from rulecore_kernel.values import Json, JsonObject

EXPLANATION_FIELDS = frozenset(
    {"thought", "thoughts", "reasoning", "description", "explanation", "task_progress", "intent", "rationale"}
)
"""Parameters that say why a call is made and not what it does."""

_TEXT_LIMIT = 200_000
_VOLATILE = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"  # timestamps
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"  # clock times
    r"|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|secs|seconds|µs|us|ns)\b"  # durations
    r"|\b0x[0-9a-fA-F]{4,}\b"  # addresses
    r"|(?<=/)tmp[\w.-]*(?:/[\w.-]+)?|\bpid[ =:]\d+",  # scratch paths, process ids
)
_SPACE = re.compile(r"\s+")
_NOT_FOUND = re.compile(
    r"not found|no match|does not match|did not match|0 (occurrences|matches)|could not find|no (occurrences|"
    r"replacement)|not (exist|present) in",
    re.IGNORECASE,
)
_INFRA_STRONG = re.compile(
    r"\b429\b.{0,40}(too many|rate)|too many requests|rate.?limit|\bHTTP[/ \d.]*\s5\d\d\b|\b5\d\d\b\s+(internal|"
    r"bad gateway|service unavailable|gateway time)|service unavailable|bad gateway|gateway time-?out|overloaded|"
    r"quota exceeded|"
    r"ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|connection (refused|reset|timed out|aborted)|"
    r"temporary failure in name resolution|could not resolve host|network is unreachable",
    re.IGNORECASE,
)
_TIMEOUT = re.compile(r"\btimed? ?-?out\b", re.IGNORECASE)
_EXHAUSTED = re.compile(r"\b429\b|quota|rate.?limit|too many requests|resource exhausted|out of memory", re.IGNORECASE)
_INFRA_WINDOW = 400
"""Characters at the head of a failure text in which an infrastructure error is looked for: deeper down it is more
likely part of what a program printed."""


def digest(text: str) -> str:
    """96 bits that identify ``text``."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def call_key(tool: str, params: JsonObject) -> str:
    """Identity of a call: tool and canonical parameters without :data:`EXPLANATION_FIELDS`, as a digest."""
    return digest(
        keys.call_key(tool, {name: value for name, value in params.items() if name not in EXPLANATION_FIELDS})
    )


def normalise(text: str) -> str:
    """``text`` without what changes from run to run: white space runs, durations, times, addresses, scratch paths."""
    return _SPACE.sub(" ", _VOLATILE.sub("<~>", text[:_TEXT_LIMIT])).strip()


def strings(value: Json, depth: int = 4) -> Iterator[str]:
    """Every string inside ``value``, down to ``depth`` levels."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for item in value:
            yield from strings(item, depth - 1)


def fingerprint(error: str, params: JsonObject) -> str | None:
    """Identity of a failure text: normalised, and without the call's own parameters that it quotes.

    None when nothing is left to compare; such a failure equals no other one of different parameters.
    """
    text = error
    for own in sorted({s for s in strings(params) if 4 <= len(s) <= 4_000}, key=len, reverse=True):
        text = text.replace(own, "<param>")
    text = normalise(text)
    return digest(text) if text else None


def judge(
    call: Call,
    params: JsonObject,
    *,
    text: str | None,
    result_hash: str | None,
    empty: bool,
    truncated: bool,
    error: str | None,
    exit_code: int | None,
) -> Result:
    """Read a result.

    Arguments: ``text`` the result's text, or None when only ``result_hash`` (the caller's hash of it) is known;
    ``error`` the failure text; ``exit_code`` of a command. A call failed when it has an error or a non-zero exit code.
    """
    failed = error is not None or exit_code not in (None, 0)
    outcome = result_hash or digest(normalise(text or ""))
    if not failed:
        return Result(outcome, empty=empty, truncated=truncated)
    words = error or text or ""
    print_ = fingerprint(words, params)
    window = words[:_INFRA_WINDOW]
    timed_out = _TIMEOUT.search(window) is not None
    is_command = any(op.command is not None for op in call.ops)
    return Result(
        print_ or outcome if error is not None or not result_hash else outcome,
        empty=False,
        truncated=truncated,
        failed=True,
        fingerprint=print_,
        not_found=_NOT_FOUND.search(window) is not None,
        infrastructure=_INFRA_STRONG.search(window) is not None or (timed_out and not is_command),
        error_class=_error_class(window, timed_out=timed_out),
    )


def _error_class(window: str, *, timed_out: bool) -> str:
    if timed_out:
        return "timeout"
    return "resource_exhausted" if _EXHAUSTED.search(window) else "execution_failure"
