"""The kernel's wire, held by vectors that the TypeScript side reads too.

Each line of ``kernel_eval.jsonl`` is ``{name, request, answer}``; an error is compared by its code only.
"""

import json
from pathlib import Path

import pytest

from rulecore_kernel.rules.registry import RULES
from rulecore_sidecar.kernel_eval import answer_line

VECTORS = [json.loads(line) for line in Path(__file__).with_name("kernel_eval.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vectors(vector: dict[str, dict[str, object]]) -> None:
    answer = json.loads(answer_line(json.dumps(vector["request"], ensure_ascii=False).encode()))
    if "error" in vector["answer"]:
        assert list(answer) == ["error"]
        answer = {"error": {"code": answer["error"]["code"]}}
    assert answer == vector["answer"]


def test_every_rule_has_a_vector() -> None:
    assert {rule.name for rule in RULES} <= {vector["request"].get("rule") for vector in VECTORS}
