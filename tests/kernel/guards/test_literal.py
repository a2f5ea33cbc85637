"""The seed's OnError on raw results, beside the calibrated profile: what it does well and why it is not the default."""

import pytest
from kernel.guards.script import USER, actions, call, edit, outcomes, read, run, search

from rulecore_kernel.rules.guards.policy import Policy
from rulecore_kernel.rules.on_error import Limits

LITERAL = Policy(profile="literal")


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param([search("q", out="")] * 3, ["retry", "switch_strategy", "switch_strategy"], id="empty answers"),
        pytest.param(
            [search(q, out="") for q in "pqr" for _ in (0, 1)],
            ["retry", "switch_strategy"] * 2 + ["retry", "forcehalt"],
            id="three empties of one tool, whatever it was asked",
        ),
        pytest.param(
            [run(f"make {n}", "error", 2) for n in range(3)],
            ["halt+persist", "halt+persist", "forcehalt"],
            id="three failures in a row",
        ),
        pytest.param(
            [run("a", "error", 1), run("b", "ok"), run("c", "error", 1), run("d", "error", 1)],
            ["halt+persist", "continue", "halt+persist", "halt+persist"],
            id="a success ends the run of failures",
        ),
        pytest.param([call("get", {}, error="operation timed out")], ["halt+persist"], id="timeout"),
        pytest.param([call("get", {}, error="429 quota")], ["skip_remaining"], id="resources exhausted"),
        pytest.param([search("q", out="same")] * 6, ["continue"] * 6, id="a loop of non-empty answers is not seen"),
    ],
)
def test_literal(story, expected):
    assert outcomes(story, LITERAL) == expected


def test_it_halts_silent_shell_work_that_the_calibrated_profile_lets_be():
    story = [run(c, out) for n in range(4) for c, out in ((f"mkdir d{n}", ""), (f"mkdir d{n}", ""))]
    assert "forcehalt" in outcomes(story, LITERAL)
    assert "forcehalt" not in outcomes(story)


def test_the_other_guards_stay():
    assert actions([read("a.py"), read("a.py")], LITERAL) == ["allow", "deny"]


def test_its_limits_are_parameters():
    policy = Policy(profile="literal", literal=Limits(retry_limit=5))
    assert outcomes([run(f"make {n}", "error", 2) for n in range(5)], policy)[-1] == "forcehalt"


def test_a_halt_is_a_halt():
    story = [run(f"make {n}", "error", 2) for n in range(3)] + [edit("a", "b", "c"), USER, edit("a", "b", "c")]
    assert actions(story, LITERAL)[3:] == ["stop", "deny"]


def test_the_calibrated_ladder_is_not_in_its_way():
    assert set(actions([search("q", out="same")] * 8, LITERAL)) == {"allow"}
