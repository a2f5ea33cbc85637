"""Merging parallel branches."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulecore_kernel.state.manager import Step
from rulecore_kernel.state.merge import Branch, Path, merge
from rulecore_kernel.state.model import INITIAL, State
from rulecore_kernel.values import Json

A, B = ("fileCache", "a"), ("fileCache", "b")
ALL = ("fileCache",)


def branch(id_: str, reads: tuple[Path, ...] = (), writes: dict[Path, Json] | None = None) -> Branch:
    return Branch(id_, frozenset(reads), tuple((writes or {}).items()))


@pytest.mark.parametrize(
    ("branches", "rerun"),
    [
        ([branch("1", writes={A: {}}), branch("2", writes={B: {}})], []),
        ([branch("1", writes={A: {}}), branch("2", writes={A: {}})], [("2", "parallel_write_conflict")]),
        ([branch("1", writes={A: {}}), branch("2", reads=(A,))], [("2", "stale_read")]),
        ([branch("1", reads=(A,)), branch("2", writes={A: {}})], []),  # an earlier read of the old value is right
        ([branch("1", writes={A: {}}), branch("2", reads=(B,), writes={B: {}})], []),
        ([branch("1", writes={A: {}}), branch("2", reads=(ALL,))], [("2", "stale_read")]),
        ([branch("1", writes={ALL: {}}), branch("2", writes={A: {}})], [("2", "parallel_write_conflict")]),
        ([branch("1", writes={A: {}}), branch("2", reads=(A,), writes={A: {}})], [("2", "parallel_write_conflict")]),
        # 3 would see nothing of 1, but 2 comes again after the merge and has to come before 3
        (
            [branch("1", writes={A: {}}), branch("2", reads=(A,), writes={B: {}}), branch("3", writes={B: {}})],
            [("2", "stale_read"), ("3", "parallel_write_conflict")],
        ),
        (
            [branch("1", writes={A: {}}), branch("2", reads=(A, B)), branch("3", writes={B: {}})],
            [("2", "stale_read"), ("3", "stale_read")],
        ),
    ],
)
def test_which_branches_run_again(branches: list[Branch], rerun: list[tuple[str, str]]) -> None:
    assert list(merge(INITIAL, branches)[1]) == rerun


def test_merge_is_pure_and_what_it_merged_is_read_only() -> None:
    base = INITIAL
    entry: dict[str, Json] = {"hash": "h"}
    merged, _ = merge(base, [branch("1", writes={A: entry}), branch("2", writes={B: {"hash": "i"}})])
    entry["hash"] = "changed later"
    assert merged.file_cache == {"a": {"hash": "h"}, "b": {"hash": "i"}}
    assert base == INITIAL
    with pytest.raises(TypeError):
        merged.file_cache["a"] = {}  # type: ignore[index]


def test_merging_runs_the_initialisation_hook() -> None:
    base = INITIAL._replace(skip_external_consistency=False, skip_historical_integrity=False)
    merged, _ = merge(base, [branch("1", writes={("forceHalt",): True})])
    assert merged.skip_external_consistency
    assert merged.skip_historical_integrity


def test_what_a_step_touched_is_recorded() -> None:
    door = Step(INITIAL)
    door.read("callCount", "OnError", "calls", "k")
    door.write("callCount", 1, "executor", "calls", "k")
    door.write("fileCache", {"a": {"hash": "1"}}, "SyncGuard")
    door.write("fileCache", {"hash": "2"}, "SyncGuard", "b")
    door.write("fileCache", {"c": {"hash": "3"}}, "SyncGuard")
    assert door.branch("step") == Branch(
        "step",
        frozenset({("callCount", "calls", "k")}),
        ((("callCount", "calls", "k"), 1), (("fileCache",), {"c": {"hash": "3"}})),
    )


# A step is a list of assignments: path ← sum of the read counters + a constant. It touches the same paths every time.
PATHS: list[Path] = [("callCount", "calls", key) for key in "wxyz"] + [("retryCounter",), ("switchCounter",)]
Program = list[tuple[Path, list[Path], int]]
steps = st.lists(
    st.tuples(st.sampled_from(PATHS), st.lists(st.sampled_from(PATHS), max_size=2), st.integers(0, 9)), max_size=3
)
WRITER = {"callCount": "executor", "retryCounter": "OnError", "switchCounter": "OnError"}


def run(step: Program, snapshot: State, name: str) -> Branch:
    door = Step(snapshot)
    for path, sources, constant in step:
        total = constant
        for source in sources:
            value = door.read(source[0], "OnError", *source[1:])
            total += value if isinstance(value, int) else 0
        door.write(path[0], total, WRITER[path[0]], *path[1:])
    return door.branch(name)


def serial(program: list[Program]) -> State:
    state = INITIAL
    for step in program:
        state, rerun = merge(state, [run(step, state, "")])
        assert rerun == ()
    return state


@settings(deadline=None)
@given(st.lists(steps, max_size=5))
def test_merging_and_running_again_ends_in_the_serial_result(program: list[Program]) -> None:
    state, waiting = INITIAL, {str(index): step for index, step in enumerate(program)}
    while waiting:
        branches = [run(step, state, name) for name, step in waiting.items()]
        state, rerun = merge(state, branches)
        left = {again.id: waiting[again.id] for again in rerun}
        assert list(left) == [name for name in waiting if name in left], "declaration order"
        assert len(left) < len(waiting), "the first branch always merges"
        waiting = left
    assert state == serial(program)


@settings(deadline=None, max_examples=50)
@given(st.lists(steps, min_size=2, max_size=4))
def test_the_order_of_completion_does_not_matter(program: list[Program]) -> None:
    results = set()
    for order in permutations(range(len(program))):
        done: dict[int, Branch] = {}
        for index in order:
            done[index] = run(program[index], INITIAL, str(index))
        merged, rerun = merge(INITIAL, [done[index] for index in sorted(done)])
        results.add((repr(merged), rerun))
    assert len(results) == 1


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 30), st.integers(0, 9), max_size=6), max_size=5))
def test_disjoint_branches_lose_no_write(writes: list[dict[int, int]]) -> None:
    branches, expected = [], {}
    for index, entries in enumerate(writes):
        own: dict[Path, Json] = {("callCount", "calls", f"{index}:{key}"): value for key, value in entries.items()}
        expected.update({path[2]: value for path, value in own.items()})
        branches.append(branch(str(index), reads=tuple(own), writes=own))
    merged, rerun = merge(INITIAL, branches)
    assert rerun == ()
    assert merged.call_count.get("calls", {}) == expected
