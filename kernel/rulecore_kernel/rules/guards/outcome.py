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
    {"thought", "thoughts", "reasoning", "reason", "description", "explanation", "task_progress", "intent", "rationale"}
)
"""Parameters that say why a call is made and not what it does."""
_INNER_EXPLANATIONS = EXPLANATION_FIELDS - {"description", "intent"}
"""The same below the first level, where a description may be what the call is about."""

_TEXT_LIMIT = 200_000
_QUOTED_PARAMS = 64
_TAIL = 4_096
_VOLATILE = re.compile(
    r"\x1b\[[0-9;]*[A-Za-z]"  # colours
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"  # timestamps
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"  # clock times
    r"|\b\d+\.\d+\s?(?:s|sec|secs|seconds)\b|\b\d+(?:\.\d+)?\s?(?:ms|µs|us|ns)\b"  # measured durations
    r"|(?:(?<=\bin )|(?<=\btook )|(?<=\bafter )|(?<=\())(?:\d+m ?)?\d+\s?(?:s|sec|secs|seconds)\b"
    r"|\b0x[0-9a-fA-F]{4,}\b"  # addresses
    r"|(?<=/)tmp[\w.-]*(?:/[\w.-]+)?|/var/folders/[\w/.+-]+|\bpytest-\d+\b"  # scratch paths
    r"|\b[Pp][Ii][Dd][ =:]+\d+"  # process ids
)
_NAMED_AT_RANDOM = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{12,64}\b|\b\d{9,}\b|\[\d+\]"
)
"""What differs between two failures that are the same: ids, hashes, epochs. In a result it may be the news itself."""
_SPACE = re.compile(r"\s+")
_ONLY_A_CODE = re.compile(
    r"^[\[(]?(?:command |process )?(?:exited|failed)?(?: with)? ?(?:exit )?(?:code|status):? ?\d+[\])]?$", re.IGNORECASE
)
_NOT_FOUND = re.compile(
    r"not found|no match|does not match|did not match|0 (occurrences|matches)|could not find|no (occurrences|"
    r"replacement)|not (exist|present) in",
    re.IGNORECASE,
)
_INFRASTRUCTURE = re.compile(
    r"\b429\b.{0,40}(too many|rate)|too many requests|rate.?limit|\bHTTP[/ \d.]*\s5\d\d\b|\b5\d\d\b\s+(internal|"
    r"bad gateway|service unavailable|gateway time)|status(?: code)?:? 5\d\d\b|service unavailable|bad gateway|"
    r"gateway time-?out|overloaded_error|\b529\b|quota exceeded|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|"
    r"EHOSTUNREACH|ENETUNREACH|connection (refused|reset|timed out|aborted)|operation timed out|socket hang up|"
    r"TLS handshake timeout|i/o timeout|fetch failed|temporary failure in name resolution|could not resolve host|"
    r"network is unreachable",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(
    r"^\s*(?:npm (?:ERR!|error)|curl: ?\(|wget:|fatal:|ssh:|E: |error:|Error:|error sending|"
    r"request (?:to|failed)|connect |dial tcp|Get \"|Failed to (?:fetch|connect)|"
    r"(?:\w+\.)*\w*(?:Connection|Timeout|Network|Http|URL)\w*(?:Error|Exception)\b)",
)
_TIMEOUT = re.compile(r"\btimed? ?-?out\b", re.IGNORECASE)
_EXHAUSTED = re.compile(r"\b429\b|quota|rate.?limit|too many requests|resource exhausted|out of memory", re.IGNORECASE)
_WINDOW = 400
"""Characters at either end of a failure text that tell its kind: in between it is what a program printed."""
_LINES = 2_000


def digest(text: str) -> str:
    """96 bits that identify ``text``."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def call_key(tool: str, params: JsonObject) -> str:
    """Identity of a call: tool and canonical parameters without :data:`EXPLANATION_FIELDS`, as a digest."""
    meant = {name: _meant(value) for name, value in params.items() if name not in EXPLANATION_FIELDS}
    return digest(keys.call_key(tool.casefold(), meant))


def _meant(value: Json, depth: int = 3) -> Json:
    if isinstance(value, Mapping) and depth:
        return {name: _meant(inner, depth - 1) for name, inner in value.items() if name not in _INNER_EXPLANATIONS}
    if isinstance(value, list | tuple) and depth:
        return [_meant(inner, depth - 1) for inner in value]
    return value


def normalise(text: str) -> str:
    """``text`` without what changes from run to run: white space runs, durations, times, addresses, scratch paths.

    Of a text above 200,000 characters the rest is told by its length and its end.
    """
    beyond = f"|{len(text)}|{digest(text[-_TAIL:])}" if len(text) > _TEXT_LIMIT else ""
    return _SPACE.sub(" ", _VOLATILE.sub("<~>", text[:_TEXT_LIMIT])).strip() + beyond


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
    """Identity of a failure text: normalised, without ids and without the call's own parameters that it quotes.

    None when nothing is left to compare, or an exit code alone; such a failure equals no other of other parameters.
    """
    text = error[:_TEXT_LIMIT]
    own = {s for s in strings(params) if 4 <= len(s) <= 4_000}
    for quoted in sorted(own, key=len, reverse=True)[:_QUOTED_PARAMS]:
        text = text.replace(quoted, "<param>")
    text = _NAMED_AT_RANDOM.sub("<~>", normalise(text))
    return digest(text) if text and not _ONLY_A_CODE.match(text) else None


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
    window = words if len(words) <= 2 * _WINDOW else f"{words[:_WINDOW]}\n{words[-_WINDOW:]}"
    timed_out = _TIMEOUT.search((error or "")[:_WINDOW]) is not None
    return Result(
        print_ or outcome if error is not None or not result_hash else outcome,
        empty=False,
        truncated=truncated,
        failed=True,
        fingerprint=print_,
        not_found=_NOT_FOUND.search(window) is not None,
        infrastructure=timed_out or _is_infrastructure(call, words, window),
        error_class=_error_class(window, timed_out=timed_out),
    )


def _is_infrastructure(call: Call, words: str, window: str) -> bool:
    """A network's or a service's failure. What a command printed counts only in a line that is an error message."""
    if all(op.command is None for op in call.ops):
        return _INFRASTRUCTURE.search(window) is not None
    lines = (words[:_LINES] + "\n" + words[-_LINES:]).splitlines()
    return any(_ERROR_LINE.match(line) and _INFRASTRUCTURE.search(line) for line in lines)


def _error_class(window: str, *, timed_out: bool) -> str:
    if timed_out:
        return "timeout"
    return "resource_exhausted" if _EXHAUSTED.search(window) else "execution_failure"
