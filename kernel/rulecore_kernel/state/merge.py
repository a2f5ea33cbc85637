"""Merging parallel branches: the order of declaration decides, never the order of completion.

A branch is what a step read and wrote on its own snapshot. A path names a variable or an entry of a map
(``("fileCache", "a.py")``); two paths touch when one is a prefix of the other.

Invariant: merging, then running the returned branches again on the merged state in the returned order, ends in the
state that running all branches one after the other would have given. Limit: this needs a step to touch, when it
runs again, no path that it did not touch the first time. Source: spec kernel.md section 3 (StateMerge,
StateIsolation).
"""

from collections.abc import Mapping, Sequence, Set
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from rulecore_kernel.state.model import State, changed, freeze
from rulecore_kernel.state.variables import BY_NAME
from rulecore_kernel.values import Json

Path: TypeAlias = tuple[str, ...]


class Conflict(StrEnum):
    """Why a branch was not merged."""

    PARALLEL_WRITE = "parallel_write_conflict"
    STALE_READ = "stale_read"


class Branch(NamedTuple):
    """What one step read, and what it wrote, in order."""

    id: str
    reads: frozenset[Path]
    writes: tuple[tuple[Path, Json], ...]


class Rerun(NamedTuple):
    """A branch that has to run again on the merged state."""

    id: str
    conflict: Conflict


def merge(base: State, branches: Sequence[Branch]) -> tuple[State, tuple[Rerun, ...]]:
    """Merge ``branches``, given in declaration order, into ``base``.

    A branch that wrote what an earlier one wrote, or read what an earlier one wrote, is left out and returned to be run
    again; so is one that wrote what a left-out earlier one read, which would otherwise see a later step's value.
    """
    state = base
    written: set[Path] = set()
    awaited: set[Path] = set()
    rerun: list[Rerun] = []
    for branch in branches:
        own = {path for path, _ in branch.writes}
        conflict = None
        if _touch(own, written):
            conflict = Conflict.PARALLEL_WRITE
        elif _touch(branch.reads, written) or _touch(own, awaited):
            conflict = Conflict.STALE_READ
        written |= own
        if conflict is None:
            for path, value in branch.writes:
                state = assign(state, path, freeze(value))
        else:
            awaited |= branch.reads
            rerun.append(Rerun(branch.id, conflict))
    return state, tuple(rerun)


def assign(state: State, path: Path, value: Json) -> State:
    """``state`` with the frozen ``value`` at ``path``. Runs the initialisation hook: an empty fileCache or a
    forceHalt sets both skip flags."""
    variable, *keys = path
    field = BY_NAME[variable].field
    after = changed(state, {field: _placed(getattr(state, field), keys, value)})
    if (field == "file_cache" and not after.file_cache) or (field == "force_halt" and after.force_halt):
        return after._replace(skip_external_consistency=True, skip_historical_integrity=True)
    return after


def _placed(into: Json, keys: Sequence[str], value: Json) -> Json:
    if not keys:
        return value
    entries = dict(into) if isinstance(into, Mapping) else {}
    entries[keys[0]] = _placed(entries.get(keys[0]), keys[1:], value)
    return MappingProxyType(entries)


def _touch(paths: Set[Path], others: Set[Path]) -> bool:
    return _reaches(paths, others) or _reaches(others, paths)


def _reaches(paths: Set[Path], others: Set[Path]) -> bool:
    """One of ``paths`` is one of ``others`` or lies inside it."""
    return any(path[:length] in others for path in paths for length in range(1, len(path) + 1))
