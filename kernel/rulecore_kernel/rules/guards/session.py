"""What the guards know of one agent in one session, and the writes that change it.

A session is read through :class:`Session` and changed only by applying :class:`Write` values, so that whoever keeps it
(memory, SQLite, a replay) stores exactly what changed. Every map is bounded; the oldest entry goes first.

Invariants: ``seq`` only grows; a record whose ``seq`` is below ``fresh_seq`` (the last user message or compaction) is
treated as absent by the loop guard; the read ledger of an older ``epoch`` is never used.

Source: spec agents.md section 2, sidecar.md section 4.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rulecore_kernel.rules.guards.events import Range
from rulecore_kernel.values import Json

LIMITS: Mapping[str, int] = {
    "calls": 4096,
    "reads": 4096,
    "seen": 1024,
    "files": 4096,
    "variants": 1024,
    "errors": 1024,
    "counts": 8192,
}
"""Entries each map of a session may hold."""


class Scalars(NamedTuple):
    """The single-valued part of a session."""

    seq: int = 0
    epoch: int = 0
    fresh_seq: int = 0
    edit_seq: int = 0
    last_key: str = ""
    window: tuple[tuple[str, str], ...] = ()
    """Latest (key, outcome) pairs, newest last, for cycles of 2–4."""
    writes: tuple[tuple[str, int], ...] = ()
    """Latest content-changing writes anywhere, by two different keys, newest first."""
    execs: tuple[tuple[str, int], ...] = ()
    """Latest successful commands not known to be read-only, by two different keys, newest first."""
    unknowns: tuple[tuple[str, int], ...] = ()
    """Latest successes of tools of which nothing is known, likewise; an MCP server may have written anything."""
    idle: int = 0
    last_advice: str = ""
    force_halt: bool = False
    halt_reason: str = ""
    halt_stops: int = 0
    """How many ``stop`` answers this halt has already given before calls."""
    halted_rounds: int = 0
    retry_counter: int = 0
    switch_counter: int = 0
    rounds_without_switch: int = 0


class CallRecord(NamedTuple):
    """One call key: how often, with what outcome, and where the loop guard stands with it."""

    seq: int
    outcome: str
    failed: bool = False
    fingerprint: str | None = None
    run: int = 1
    """Same outcome in a row."""
    fails: int = 0
    """Failures with this fingerprint."""
    repeats: int = 1
    """Calls since the last successful edit."""
    polls: int = 0
    stage: int = 0
    """0 free; 1 switched: the next identical call is advised; 2 advised: the next one is denied."""
    skipped: bool = False
    """The last identical read was denied, so the next one passes."""


class ReadRecord(NamedTuple):
    """What of a file was delivered to this agent in this context epoch."""

    hash: str
    ranges: tuple[Range, ...]
    epoch: int
    call_seq: int
    denied: int = 0
    """Denials since something of the file was last delivered."""


class SeenRecord(NamedTuple):
    """The content this agent read or wrote last; ``lines`` are its line digests where they were taken."""

    hash: str
    lines: str | None = None


class FileRecord(NamedTuple):
    """Contents a file went through, oldest first, and who changed it."""

    hashes: tuple[str, ...] = ()
    returns: int = 0
    writes: tuple[tuple[str, int], ...] = ()


class VariantRecord(NamedTuple):
    """Failures of one tool on one target under any parameters: (fingerprint, count), newest last."""

    seq: int
    failures: tuple[tuple[str, int], ...]


Record = CallRecord | ReadRecord | SeenRecord | FileRecord | VariantRecord | int


class Write(NamedTuple):
    """Set ``map[key]`` to ``value``; None removes it. Map ``scalars`` has the one key ``""``."""

    map: str
    key: str
    value: "Record | Scalars | None"


class Session:
    """State of one (session, agent). Read it freely, change it through :meth:`apply`."""

    __slots__ = ("calls", "counts", "errors", "files", "reads", "scalars", "seen", "variants")

    def __init__(self) -> None:
        self.scalars = Scalars()
        self.calls: dict[str, CallRecord] = {}
        self.reads: dict[str, ReadRecord] = {}
        self.seen: dict[str, SeenRecord] = {}
        self.files: dict[str, FileRecord] = {}
        self.variants: dict[str, VariantRecord] = {}
        self.errors: dict[str, int] = {}
        self.counts: dict[str, int] = {}

    def apply(self, writes: Iterable[Write]) -> list[Write]:
        """Carry out ``writes`` in order; returns them with the evictions that kept the maps within :data:`LIMITS`."""
        done: list[Write] = []
        for write in writes:
            done.append(write)
            if write.map == "scalars":
                assert isinstance(write.value, Scalars)
                self.scalars = write.value
                continue
            table: dict[str, object] = getattr(self, write.map)
            table.pop(write.key, None)
            if write.value is None:
                continue
            table[write.key] = write.value
            if len(table) > LIMITS[write.map]:
                oldest = next(iter(table))
                del table[oldest]
                done.append(Write(write.map, oldest, None))
        return done

    def dump(self) -> list[Write]:
        """The writes that rebuild this session."""
        tables = {name: getattr(self, name) for name in Session.__slots__ if name != "scalars"}
        records = [Write(name, key, value) for name, table in tables.items() for key, value in table.items()]
        return [*records, Write("scalars", "", self.scalars)]

    def numbered(self) -> "Session":
        """This session as the call that is ending sees it: one call further, sharing every map."""
        view = Session.__new__(Session)
        view.calls, view.counts, view.errors, view.files = self.calls, self.counts, self.errors, self.files
        view.reads, view.seen, view.variants = self.reads, self.seen, self.variants
        view.scalars = self.scalars._replace(seq=self.scalars.seq + 1)
        return view

    def fresh_call(self, key: str) -> CallRecord | None:
        """The record of ``key`` unless a user message or a compaction came after it."""
        record = self.calls.get(key)
        return record if record is not None and record.seq >= self.scalars.fresh_seq else None


_TYPES: Mapping[str, Any] = {
    "calls": CallRecord,
    "reads": ReadRecord,
    "seen": SeenRecord,
    "files": FileRecord,
    "variants": VariantRecord,
    "scalars": Scalars,
}


SHAPE = ";".join(f"{name}:{','.join(kind._fields)}" for name, kind in sorted(_TYPES.items()))
"""Names the fields of every record: what was stored under another shape cannot be read back."""


def from_plain(map_name: str, plain: Json) -> "Record | Scalars":
    """Rebuild the record of ``map_name`` from the nested lists that it is in JSON.

    Raises ``ValueError`` when the value is not of that shape (a store written by something else).
    """
    if map_name in ("errors", "counts"):
        if not isinstance(plain, int):
            raise ValueError(f"{map_name}: not an integer: {plain!r}")
        return plain
    kind = _TYPES.get(map_name)
    if kind is None or not isinstance(plain, list):
        raise ValueError(f"{map_name}: not a record: {plain!r}")
    try:
        fields = [_tupled(item) for item in plain]
        record: Record | Scalars = kind(*fields)
        if isinstance(record, ReadRecord):
            record = record._replace(ranges=tuple(Range(*pair) for pair in record.ranges))
    except (TypeError, IndexError) as error:
        raise ValueError(f"{map_name}: {error}") from None
    return record


def _tupled(value: Json) -> object:
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value


def stamped(history: tuple[tuple[str, int], ...], key: str, seq: int) -> tuple[tuple[str, int], ...]:
    """``history`` with (key, seq) first and at most one other key behind it."""
    others = tuple(entry for entry in history if entry[0] != key)
    return ((key, seq), *others[:1])


def latest_by_other(history: tuple[tuple[str, int], ...], key: str) -> int:
    """Sequence number of the newest entry whose key is not ``key``; −1 when there is none."""
    return next((seq for other, seq in history if other != key), -1)
