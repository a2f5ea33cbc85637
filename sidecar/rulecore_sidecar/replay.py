"""What the guard would have done: recorded sessions in the neutral event format, decided without a file system.

Contents are known only by the hashes that the events carry. A call that the guard would deny still gets its ``post``,
with the recorded result, so that the record stays comparable. Source: spec sidecar.md section 4.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from rulecore_kernel.rules.guards import decide
from rulecore_kernel.rules.guards.decide import Verdict
from rulecore_kernel.rules.guards.events import Call, FileFact, OpKind, Result
from rulecore_kernel.rules.guards.policy import Policy
from rulecore_kernel.rules.guards.session import Session
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar import wire
from rulecore_sidecar.store import SessionName

EVENTS = ("call", "user", "message", "compact", "resume", "external_write")


class Step(NamedTuple):
    """One event of the record and what the guard says to it; both None for events that are not calls."""

    number: int
    pre: Verdict | None = None
    post: Verdict | None = None

    def plain(self) -> dict[str, Json]:
        """As ``rulecore replay --decisions`` prints it."""
        line: dict[str, Json] = {"i": self.number}
        if self.pre is not None and self.post is not None:
            before, after = self.pre.decision, self.post.decision
            line["pre"] = {"action": before.action.value, "rule": before.rule}
            line["post"] = {"action": after.action.value, "rule": after.rule, "decision": after.outcome}
        return line


class _Asked(NamedTuple):
    """A call between its pre and its post."""

    number: int
    session: Session
    call: Call
    result: Result
    before: Verdict


def _batch(numbered: tuple[int, JsonObject]) -> tuple[str, ...]:
    """Equal for calls of one batch, different for everything else."""
    number, plain = numbered
    batch = plain.get("batch")
    if plain.get("event", "call") != "call" or batch is None:
        return (str(number),)
    return (*wire.session_name(plain), f"batch {batch}")


class Replay:
    """The guard over one record. Sessions and sub-agents have their own state, files belong to all of them."""

    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._sessions: dict[SessionName, Session] = {}
        self._contents: dict[str, str] = {}

    def run(self, events: Iterable[JsonObject]) -> Iterator[Step]:
        """Decide each event. Raises :class:`~rulecore_sidecar.wire.WireError` for one that cannot be understood.

        Calls of one ``batch`` are all asked before any of them is answered, as an agent's parallel calls are.
        """
        for _, group in groupby(enumerate(events), key=_batch):
            numbered = list(group)
            try:
                if numbered[0][1].get("event", "call") == "call":
                    asked = [self._pre(number, plain) for number, plain in numbered]
                    steps = [self._post(call) for call in asked]
                else:
                    steps = [self._step(number, plain) for number, plain in numbered]
            except wire.WireError as error:
                raise wire.WireError(f"event {numbered[0][0]}: {error}") from None
            yield from steps

    def _step(self, number: int, plain: JsonObject) -> Step:
        session = self._session(wire.session_name(plain))
        kind = wire.text(plain, "event")
        if kind == "user":
            session.apply(decide.user_message(session))
        elif kind in ("compact", "resume"):
            session.apply(decide.compacted(session))
        elif kind == "external_write":
            path = wire.text(plain, "path")
            if path is None:
                raise wire.WireError("external_write: path is missing: the file that was written")
            self._external(path, wire.text(plain, "hash"))
        elif kind != "message":
            raise wire.WireError(f"event must be one of {', '.join(EVENTS)}, got {kind!r}")
        return Step(number)

    def _session(self, name: SessionName) -> Session:
        return self._sessions.setdefault(name, Session())

    def _external(self, path: str, content: str | None) -> None:
        self._contents[path] = content or f"?{len(self._contents)}"
        for session in self._sessions.values():
            session.apply(decide.external_writes(session, {path: content}))

    def _pre(self, number: int, plain: JsonObject) -> "_Asked":
        seen = wire.event(plain)
        session, call = self._session(seen.who), wire.delivered_by(seen)
        for op in call.ops:
            if op.kind is OpKind.READ and op.path is not None and op.hash is not None:
                self._contents[op.path] = op.hash
        before = decide.pre(session, call, self._facts(call), self._policy)
        session.apply(before.writes)
        return _Asked(number, session, call, wire.result(seen), before)

    def _post(self, asked: "_Asked") -> Step:
        number, session, call, result, before = asked
        if not result.failed:
            self._remember_edits(session, call)
        after = decide.post(session, call, result, self._facts(call), self._policy, ran=not before.denied)
        session.apply(after.writes)
        return Step(number, before, after)

    def _remember_edits(self, own: Session, call: Call) -> None:
        for op in call.ops:
            if op.kind is OpKind.EDIT and op.path is not None:
                content = op.hash or f"{self._contents.get(op.path, '')}+{call.key}"
                self._contents[op.path] = content
                for session in self._sessions.values():
                    if session is not own:
                        session.apply(decide.external_writes(session, {op.path: content}))

    def _facts(self, call: Call) -> dict[str, FileFact]:
        return {
            op.path: FileFact(self._contents[op.path])
            for op in call.ops
            if op.path is not None and op.path in self._contents
        }


def read_events(lines: Iterable[str]) -> Iterator[JsonObject]:
    """Parse JSON Lines, blank ones skipped. Raises :class:`~rulecore_sidecar.wire.WireError` with the line number."""
    for number, text in enumerate(lines, 1):
        line = text.removeprefix("\ufeff")
        if not line.strip():
            continue
        try:
            plain = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise wire.WireError(f"line {number}: not JSON: {error}") from None
        if not isinstance(plain, dict):
            raise wire.WireError(f"line {number}: an event is an object, not {type(plain).__name__}")
        yield plain
