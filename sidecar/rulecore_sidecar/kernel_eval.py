"""JSON Lines in, JSON Lines out: the loop of ``rulecore kernel eval``. Source: spec kernel.md section 1.

One answer for each line that is not blank, in order; blank lines have none. A line that is not a request is
answered with an error object and never ends the run. Answers are written as soon as the lines that were there are
answered, so a caller may write one request and wait for its answer. Nothing is kept between lines. Limit: a line is
held in memory whole.
"""

import json
import os
import sys
from collections.abc import Iterator
from io import BufferedIOBase
from math import isfinite

from rulecore_kernel.rules.evaluate import evaluate, failure
from rulecore_kernel.rules.model import Code
from rulecore_kernel.state.config import DEFAULTS, Settings
from rulecore_kernel.state.domain import shown
from rulecore_kernel.values import Json

_CHUNK = 65_536
_BOM = "\ufeff"


def eval_lines(stdin: BufferedIOBase, stdout: BufferedIOBase, settings: Settings = DEFAULTS) -> int:
    """Answer every line of ``stdin`` on ``stdout``, both binary.

    Arguments: ``settings`` are the workspace's parameters. Returns the exit code: 0 when every line was answered, 2
    when the reader of the answers went away.
    """
    try:
        for lines in _batches(stdin):
            stdout.write(b"".join(answer_line(line, settings) for line in lines if line.strip()))
            stdout.flush()
    except BrokenPipeError:
        return 2
    return 0


def eval_stdio(settings: Settings = DEFAULTS) -> int:
    """:func:`eval_lines` on this process's standard streams."""
    stdout = os.fdopen(sys.stdout.fileno(), "wb", closefd=False)
    code = eval_lines(os.fdopen(sys.stdin.fileno(), "rb", closefd=False), stdout, settings)
    if code:  # nobody reads any more: what is still buffered must not raise when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    return code


def answer_line(line: bytes, settings: Settings = DEFAULTS) -> bytes:
    """The answer to one line, as a line."""
    try:
        request = _DECODER.decode(line.decode().removeprefix(_BOM).strip())
        if isinstance(request, dict):
            return _encoded(evaluate(request, settings))
        reason = f"a request is an object, this is {shown(request)}"
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start}"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError as error:
        reason = str(error)
    return _encoded(failure(Code.BAD_JSON, f"{reason}; allowed: one JSON object a line"))


def _batches(stream: BufferedIOBase) -> Iterator[list[bytes]]:
    """The lines that each read completes."""
    rest: list[bytes] = []
    while chunk := stream.read1(_CHUNK):
        head, newline, tail = chunk.rpartition(b"\n")
        if newline:
            yield b"".join((*rest, head)).split(b"\n")
            rest = [tail]
        else:
            rest.append(chunk)
    yield [b"".join(rest)]


def _encoded(answer: dict[str, object]) -> bytes:
    try:
        return f"{_ENCODER.encode(answer)}\n".encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        return f"{json.dumps(answer)}\n".encode()


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {shown(twice)} is given twice")
    return fields


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"the number {shown(text)} is out of range")
    return number


def _no_constant(text: str) -> Json:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
