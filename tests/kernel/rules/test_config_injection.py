"""ConfigInjection by name."""

from itertools import product

import pytest

from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.values import Json

KEY = "onerror.retry_limit"
VARIABLE = "RULECORE_ONERROR_RETRY_LIMIT"


def inject(**args: Json) -> dict[str, object]:
    answer = evaluate({"rule": "ConfigInjection", "args": args})
    assert answer.pop("rule", None) == "ConfigInjection", answer
    return answer


@pytest.mark.parametrize("has", list(product((True, False), repeat=3)))
def test_config_injection_table(has: tuple[bool, bool, bool]) -> None:
    """The first source that has the key wins: runtime, project.md, environment, default."""
    runtime, project, env = has
    answer = inject(
        key=KEY,
        runtime={KEY: 11} if runtime else {},
        project={KEY: 12} if project else {},
        env={VARIABLE: "13"} if env else {},
    )
    order = [(runtime, 11, "runtime"), (project, 12, "project.md"), (env, 13, "environment"), (True, 3, "default")]
    expected = next(row for row in order if row[0])
    assert answer == {"decision": expected[1], "source": expected[2]}


@pytest.mark.parametrize("has", list(product((True, False), repeat=3)))
def test_a_key_that_is_not_registered_has_no_default(has: tuple[bool, bool, bool]) -> None:
    runtime, project, env = has
    answer = inject(
        key="path.root",
        runtime={"path": {"root": "/r"}} if runtime else None,
        project={"path.root": "/p"} if project else None,
        env={"RULECORE_PATH_ROOT": "/e"} if env else None,
    )
    order = [(runtime, "/r", "runtime"), (project, "/p", "project.md"), (env, "/e", "environment")]
    expected = next((row for row in order if row[0]), None)
    if expected is None:
        assert answer == {"decision": None, "degraded": True, "missing": "path.root"}
    else:
        assert answer == {"decision": expected[1], "source": expected[2]}


@pytest.mark.parametrize("wrong", ["three", True, 0, 2.5, None, [3], {"a": 1}])
def test_an_unusable_value_falls_back_to_the_default_and_is_reported(wrong: Json) -> None:
    answer = inject(key=KEY, project={KEY: wrong}, env={VARIABLE: "5"})
    assert (answer["decision"], answer["source"]) == (3, "default")
    (warning,) = answer["warnings"] if isinstance(answer["warnings"], list) else []
    for part in ("project.md", KEY, "an integer ≥ 1", "default 3"):
        assert part in warning


def test_a_null_that_the_parameter_allows_is_a_value() -> None:
    answer = inject(key="guard.loop.mode", runtime={"guard.loop.mode": None}, project={"guard.loop.mode": "advise"})
    assert answer == {"decision": None, "source": "runtime"}


def test_lists_come_back_as_lists() -> None:
    assert inject(key="code_standard.allowed")["decision"] == []
    assert inject(key="code_standard.allowed", project={"AllowedCodeViolations": ["magicNumber"]})["decision"] == [
        "magicNumber"
    ]
    env: Json = {"RULECORE_CODE_STANDARD_ALLOWED": "magicNumber, todoFIXME"}
    assert inject(key="code_standard.allowed", env=env)["decision"] == ["magicNumber", "todoFIXME"]
