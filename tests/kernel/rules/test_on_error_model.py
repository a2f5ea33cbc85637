"""OnError against a second, plain reading of kernel.md section 6, over random histories.

The model keeps the state as the wire has it and follows the numbered steps with ifs; it shares no code with the rule.
"""

import json
import math
from typing import NamedTuple, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.values import Json

ERRORS = (
    "timeout",
    "execution_failure",
    "compilation_error",
    "partial_output",
    "warning",
    "resource_exhausted",
    "irrecoverable",
)


class Event(NamedTuple):
    """One tool call and what came of it. ``cleared``: the user clears before it. ``ran``: the executor counts it."""

    tool: str
    query: str
    result_empty: bool
    error: str | None
    phase_changed: bool
    scope: str
    ran: bool
    cleared: bool


class Model:
    def __init__(self) -> None:
        self.retry = 0
        self.switch = 0
        self.force_halt = False
        self.halted_rounds = 0
        self.rounds = 0
        self.empty_tool: dict[str, int] = {}
        self.empty_call: dict[tuple[str, str], int] = {}
        self.call_count: dict[tuple[str, str], int] = {}

    def clear(self) -> None:
        self.force_halt = False
        self.retry = self.switch = self.halted_rounds = 0
        self.empty_tool, self.empty_call = {}, {}

    def decide(self, event: Event) -> tuple[str, bool]:
        call = (event.tool, event.query)
        in_loop = event.scope == "loop_body"
        if event.phase_changed:  # 1
            self.switch = math.floor(self.switch / 2)
        if self.force_halt:  # 2
            if event.error is None and not event.result_empty:
                self.halted_rounds += 1
            else:
                self.halted_rounds = 0
            return "forcehalt", self.halted_rounds in range(5, 1_000, 5)
        if event.result_empty and self.call_count.get(call, 0) == 0:  # 3
            return "retry", False
        if event.error == "execution_failure":  # 4
            self.retry += 1
        if event.error == "compilation_error" and not in_loop:
            self.retry += 1
        if event.result_empty:
            self.empty_tool[event.tool] = self.empty_tool.get(event.tool, 0) + 1
            self.empty_call[call] = self.empty_call.get(call, 0) + 1
        if not event.result_empty and event.error is None:
            self.empty_tool[event.tool] = 0
            self.empty_call[call] = 0
            self.retry = 0
        decision = self.steps_5_to_7(event, call)
        if decision == "switch_strategy":  # 8
            if self.switch >= 3:
                decision = "forcehalt"
            else:
                self.empty_call[call] = 0
                if not in_loop:
                    self.switch += 1
        self.rounds += 1  # 9
        if decision == "switch_strategy":
            self.rounds = 0
        if self.rounds >= (8 if in_loop else 10):
            self.switch = max(self.switch - 1, 0)
            self.rounds = 0
        if decision == "forcehalt":  # 10
            self.force_halt = True
        return decision, False

    def steps_5_to_7(self, event: Event, call: tuple[str, str]) -> str:
        if self.retry >= 3 or self.empty_tool.get(event.tool, 0) >= 3:
            return "forcehalt"
        if self.empty_call.get(call, 0) >= 2 or event.result_empty:
            return "switch_strategy"
        if event.error == "compilation_error":
            return "retry" if self.retry <= 1 else "switch_strategy"
        if event.error in ("timeout", "execution_failure"):
            return "halt+persist"
        if event.error == "resource_exhausted":
            return "skip_remaining"
        return "halt" if event.error == "irrecoverable" else "continue"


class Session:
    """The rule by name, with the caller's part: keep what changed, count what ran, clear when the user says so."""

    def __init__(self) -> None:
        self.state: dict[str, Json] = {}
        self.calls: dict[str, int] = {}

    def decide(self, event: Event) -> tuple[str, bool]:
        args: Json = {
            "tool": event.tool,
            "params": {"q": event.query},
            "result_empty": event.result_empty,
            "error": event.error,
            "step_index": 0,
            "toolchain_len": 3,
            "phase_changed": event.phase_changed,
            "scope": event.scope,
        }
        state = {**self.state, "callCount": {"calls": self.calls}}
        wire = json.loads(json.dumps({"rule": "OnError", "args": args, "state": state}))
        answer = json.loads(json.dumps(evaluate(wire)))
        self.state.update(answer["state"])
        return answer["decision"], answer.get("notify", False)

    def count(self, event: Event) -> None:
        key = f'{event.tool}|{{"q":"{event.query}"}}'
        self.calls[key] = self.calls.get(key, 0) + 1

    def clear(self) -> None:
        for name in ("retryCounter", "emptyCount", "switchCounter", "haltedRounds", "forceHalt"):
            self.state.pop(name, None)

    def number(self, name: str) -> Json:
        return self.state.get(name, 0)

    def empties(self, group: str) -> dict[str, int]:
        counts = cast(dict[str, dict[str, int]], self.state.get("emptyCount", {}))
        return {key: count for key, count in counts.get(group, {}).items() if count}


results = st.one_of(st.just((False, None)), st.just((True, None)), st.tuples(st.just(False), st.sampled_from(ERRORS)))
events = st.builds(
    lambda tool, query, result, phase, scope, ran, cleared: Event(
        tool, query, result[0], result[1], phase, scope, ran, cleared
    ),
    st.sampled_from(["grep", "read"]),
    st.sampled_from(["x", "y"]),
    results,
    st.sampled_from([False, False, False, True]),
    st.sampled_from(["global", "global", "loop_body", "procedure", "single_call"]),
    st.sampled_from([True, True, True, False]),
    st.sampled_from([False] * 9 + [True]),
)
calm = st.builds(
    lambda tool, scope, times: [Event(tool, "x", False, None, False, scope, True, False)] * times,
    st.sampled_from(["grep", "read"]),
    st.sampled_from(["global", "loop_body"]),
    st.integers(1, 12),
)
"""Stretches without trouble, long enough for decay and for asking the user."""
histories = st.lists(st.one_of(events.map(lambda event: [event]), calm), max_size=40).map(
    lambda stretches: [event for stretch in stretches for event in stretch]
)


@settings(max_examples=2_000, deadline=None)
@given(histories)
def test_the_rule_decides_what_the_text_says(history: list[Event]) -> None:
    model, session = Model(), Session()
    for event in history:
        if event.cleared:
            model.clear()
            session.clear()
        assert session.decide(event) == model.decide(event), event
        assert session.number("retryCounter") == model.retry
        assert session.number("switchCounter") == model.switch
        assert bool(session.number("forceHalt")) is model.force_halt
        assert session.number("haltedRounds") == model.halted_rounds
        assert session.number("roundsWithoutSwitch") == model.rounds
        assert session.empties("tools") == {tool: n for tool, n in model.empty_tool.items() if n}
        assert session.empties("calls") == {f'{t}|{{"q":"{q}"}}': n for (t, q), n in model.empty_call.items() if n}
        if event.ran:
            model.call_count[(event.tool, event.query)] = model.call_count.get((event.tool, event.query), 0) + 1
            session.count(event)


@settings(max_examples=1_000, deadline=None)
@given(histories)
def test_the_free_retry_happens_at_most_once_for_a_call_and_a_halt_stands_until_the_user_clears(
    history: list[Event],
) -> None:
    session = Session()
    free: set[tuple[str, str]] = set()
    for event in history:
        if event.cleared:
            session.clear()
        halted = bool(session.number("forceHalt"))
        decision, _ = session.decide(event)
        if halted:
            assert decision == "forcehalt"
            assert session.number("forceHalt") is True
        if event.result_empty and decision == "retry":
            assert (event.tool, event.query) not in free
        if event.result_empty and event.ran and not halted:
            free.add((event.tool, event.query))
        if event.ran:
            session.count(event)
        for name in ("retryCounter", "switchCounter", "haltedRounds", "roundsWithoutSwitch"):
            number = session.number(name)
            assert isinstance(number, int)
            assert number >= 0
        assert all(count > 0 for group in ("tools", "calls") for count in session.empties(group).values())
