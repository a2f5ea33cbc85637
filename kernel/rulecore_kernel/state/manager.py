"""StateManager: the only door to a session's state.

Invariants: nothing is read or written without the permission of the variable table; ``forceHalt`` goes back to
false only in the user's name; no caller sets a skip flag; a snapshot never changes. Limit:
permission is by the role a caller names, which stops mistakes, not a caller that lies. Source: spec kernel.md
section 3.
"""

from collections.abc import Mapping

from rulecore_kernel.state.merge import Branch, Path, assign
from rulecore_kernel.state.model import INITIAL, State, freeze
from rulecore_kernel.state.names import hint
from rulecore_kernel.state.variables import BY_NAME, HOOK, USER, Variable
from rulecore_kernel.values import Json

CLEARED = ("retryCounter", "emptyCount", "switchCounter", "haltedRounds", "forceHalt")
"""What the user's clearing sets back. Source: spec kernel.md section 6, step 10."""


class StatePermissionError(PermissionError):
    """A role read or wrote a variable that the table does not open to it."""


class StateValueError(ValueError):
    """A value outside the variable's domain, or a variable that does not exist."""


class StateManager:
    """Holds one state. ``keys`` lead into a map: ``read("callCount", "OnError", "calls", key)``."""

    __slots__ = ("_state",)

    def __init__(self, state: State = INITIAL) -> None:
        self._state = state

    def snapshot(self) -> State:
        """The state as it is now; it never changes afterwards."""
        return self._state

    def read(self, variable: str, reader: str, *keys: str) -> Json:
        """The value of ``variable``, or of the entry that ``keys`` lead to (None when there is none).

        Raises :class:`StatePermissionError` unless ``reader`` may read it, :class:`StateValueError` for an unknown
        variable.
        """
        row = _row(variable)
        if reader not in row.readers:
            raise StatePermissionError(f"{variable}: {reader} may not read it; {', '.join(row.readers)} may")
        value: Json = getattr(self._state, row.field)
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def write(self, variable: str, value: Json, writer: str, *keys: str) -> None:
        """Set ``variable``, or the entry that ``keys`` lead to, and run the initialisation hook.

        Raises :class:`StatePermissionError` unless ``writer`` may write it (``forceHalt``: only the user may make
        it false; skip flags: nobody), :class:`StateValueError` for an unknown variable or a value that it cannot
        hold.
        """
        row = _row(variable)
        if writer not in row.writers or writer == HOOK:
            raise StatePermissionError(f"{variable}: {writer} may not write it; {', '.join(row.writers)} may")
        if row.set_only and value is not True and writer != USER:
            raise StatePermissionError(f"{variable}: {writer} may only set it; {USER} takes it back")
        domain = row.domain
        for key in keys:
            domain = domain.at(key)
        mismatch = domain.mismatch(value)
        if mismatch is not None:
            place = f"{'.'.join((variable, *keys))}{mismatch.path}"
            raise StateValueError(f"{place}: given {mismatch.given}; allowed: {mismatch.allowed}")
        self._state = assign(self._state, (variable, *keys), freeze(value))

    def clear(self) -> None:
        """The user's clearing: ``forceHalt`` and the counters that led to it go back to their initial values."""
        for name in CLEARED:
            self.write(name, BY_NAME[name].initial, USER)

    def validity_judged(self) -> None:
        """Tell the initialisation hook that a StateValidity was evaluated: both skip flags are cleared."""
        self._state = self._state._replace(skip_external_consistency=False, skip_historical_integrity=False)


class Step(StateManager):
    """A parallel step's own door, on its own snapshot. Records what is read and written, to be merged afterwards."""

    __slots__ = ("_reads", "_writes")

    def __init__(self, snapshot: State) -> None:
        super().__init__(snapshot)
        self._reads: set[Path] = set()
        self._writes: dict[Path, Json] = {}

    def read(self, variable: str, reader: str, *keys: str) -> Json:
        """As :meth:`StateManager.read`."""
        value = super().read(variable, reader, *keys)
        self._reads.add((variable, *keys))
        return value

    def write(self, variable: str, value: Json, writer: str, *keys: str) -> None:
        """As :meth:`StateManager.write`."""
        super().write(variable, value, writer, *keys)
        path = (variable, *keys)
        for inside in [written for written in self._writes if written[: len(path)] == path]:
            del self._writes[inside]
        self._writes[path] = freeze(value)

    def branch(self, branch_id: str) -> Branch:
        """What this step did, for :func:`~.merge.merge`."""
        return Branch(branch_id, frozenset(self._reads), tuple(self._writes.items()))


def _row(variable: str) -> Variable:
    row = BY_NAME.get(variable)
    if row is None:
        raise StateValueError(f"{variable}: no such variable{hint(variable, BY_NAME)}")
    return row
