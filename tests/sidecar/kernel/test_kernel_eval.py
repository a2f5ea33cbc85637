"""``rulecore kernel eval``: one answer a line, whatever the line is."""

import json
import subprocess
import sys
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulecore_sidecar.kernel_eval import answer_line, eval_lines

GOOD = b'{"rule": "StateRecovery", "args": {"validity": "valid"}}'
ANSWER = {"rule": "StateRecovery", "decision": "no_action"}
EVAL = "from rulecore_sidecar.kernel_eval import eval_stdio; raise SystemExit(eval_stdio())"


def run(data: bytes) -> list[Any]:
    out = BytesIO()
    assert eval_lines(BytesIO(data), out) == 0
    text = out.getvalue().decode()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def code(answer: dict[str, Any]) -> str:
    assert list(answer) == ["error"], answer
    found: str = answer["error"]["code"]
    return found


BAD_LINES = [
    b"{",
    b"nonsense",
    b"[1]",
    b'"StateRecovery"',
    b"7",
    b"null",
    b'{"rule": "StateRecovery"} {"rule": "StateRecovery"}',
    b'{"rule": "StateRecovery", "args": {"validity": NaN}}',
    b'{"rule": "StateRecovery", "args": {"validity": -Infinity}}',
    b'{"rule": "StateRecovery", "args": {"validity": 1e999}}',
    b'{"rule": "StateRecovery", "rule": "ReadStrategy"}',
    b'{"rule": "StateRecovery", "args": {"validity": "valid", "validity": "invalid"}}',
    b'{"rule": "\xff\xfe"}',
    b"\xff\xfe{\x00}\x00",
    b"\x00",
    b"[" * 200_000,
    b'{"a":' * 200_000,
    b"1" * 5_000,
]


@pytest.mark.parametrize("line", BAD_LINES, ids=[repr(line[:40]) for line in BAD_LINES])
def test_a_bad_line_is_answered_on_its_line_and_ends_nothing(line: bytes) -> None:
    first, bad, last = run(b"\n".join((GOOD, line, GOOD)))
    assert (first, last) == (ANSWER, ANSWER)
    assert code(bad) == "bad_json"
    assert bad["error"]["message"].endswith("allowed: one JSON object a line")


@pytest.mark.parametrize(
    ("data", "answers"),
    [
        (b"", 0),
        (b"\n \r\n\t\n", 0),  # blank lines have no answer
        (GOOD, 1),  # the last line needs no end
        (GOOD + b"\n", 1),
        (b"\n" + GOOD + b"\r\n\r\n" + GOOD + b"\r\n", 2),
        (b"\xef\xbb\xbf" + GOOD, 1),  # a byte order mark
    ],
)
def test_lines(data: bytes, answers: int) -> None:
    assert run(data) == [ANSWER] * answers


def test_only_a_line_feed_ends_a_line() -> None:
    text = '{"rule": "ConfigInjection", "args": {"key": "x", "runtime": {"x": "a\u2028b\u0085c\u000c"}}}'
    (answer,) = run(json.dumps(json.loads(text.replace("\u000c", "\\f")), ensure_ascii=False).encode())
    assert answer["decision"] == "a\u2028b\u0085c\f"


def test_a_huge_line() -> None:
    text = "x" * 20_000_000
    line = json.dumps({"rule": "ConfigInjection", "args": {"key": "k", "runtime": {"k": text}}}).encode()
    big, small = run(line + b"\n" + GOOD)
    assert big["decision"] == text
    assert small == ANSWER


def test_half_a_surrogate_pair_comes_back() -> None:
    line = b'{"rule": "ConfigInjection", "args": {"key": "k", "runtime": {"k": "\\ud800"}}}'
    answer = answer_line(line)
    assert b"\\ud800" in answer
    assert json.loads(answer)["decision"] == "\ud800"


def test_nesting_that_can_be_read_can_be_written() -> None:
    for depth in (10, 100, 300, 900, 990, 1_100):
        value = b"[" * depth + b"]" * depth
        line = b'{"rule": "ConfigInjection", "args": {"key": "k", "runtime": {"k": ' + value + b"}}}"
        answer = json.loads(answer_line(line))
        assert answer.get("source") == "runtime" or code(answer) in ("bad_json", "bad_argument")


@settings(max_examples=500, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60).map(lambda b: b.replace(b"\n", b"")), st.just(GOOD)), max_size=8))
def test_one_answer_for_each_line_that_is_not_blank(lines: list[bytes]) -> None:
    answers = run(b"\n".join(lines))
    asked = [line for line in lines if line.strip()]
    assert [answer == ANSWER for answer in answers] == [line == GOOD for line in asked]


def start(*args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_a_caller_may_wait_for_each_answer() -> None:
    with start("-c", EVAL) as process:
        assert process.stdin
        assert process.stdout
        for _ in range(3):
            process.stdin.write(GOOD + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == ANSWER
        process.stdin.close()
        assert process.wait(20) == 0


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    with start("-c", EVAL) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(GOOD + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        try:
            process.stdin.write((GOOD + b"\n") * 10_000)
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.wait(20) == 2
        assert process.stderr.read() == b""


def test_the_loop_needs_no_typer() -> None:
    probe = "import sys, rulecore_sidecar.kernel_eval; print('typer' in sys.modules, 'difflib' in sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
