"""What the guard would have done: recorded sessions in the neutral event format, decided without a file system.

Contents are known only by the hashes that the events carry. A call that the guard would deny still gets its ``post``,
with the recorded result, so that the record stays comparable. Source: spec sidecar.md section 4.
"""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rulecore_kernel.rules.guards import decide
from rulecore_kernel.rules.guards.decide import Verdict
from rulecore_kernel.rules.guards.events import Call, FileFact, OpKind
from rulecore_kernel.rules.guards.policy import Policy
from rulecore_kernel.rules.guards.session import Session
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar import wire
from rulecore_sidecar.store import SessionName


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


class Replay:
    """The guard over one record. Sessions and sub-agents have their own state, files belong to all of them."""

    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._sessions: dict[SessionName, Session] = {}
        self._contents: dict[str, str] = {}

    def run(self, events: Iterable[JsonObject]) -> Iterator[Step]:
        """Decide each event. Raises :class:`~rulecore_sidecar.wire.WireError` for one that cannot be understood."""
        for index, plain in enumerate(events):
            yield self._step(index, plain)

    def _step(self, index: int, plain: JsonObject) -> Step:
        name = wire.session_name(plain)
        session = self._sessions.setdefault(name, Session())
        kind = wire.text(plain, "event", "call")
        if kind == "call":
            return self._call(index, session, plain)
        if kind == "user":
            session.apply(decide.user_message(session))
        elif kind in ("compact", "resume"):
            session.apply(decide.compacted(session))
        elif kind == "external_write":
            self._external(wire.text(plain, "path") or "", wire.text(plain, "hash"))
        return Step(index)

    def _external(self, path: str, content: str | None) -> None:
        self._contents[path] = content or f"?{len(self._contents)}"
        for session in self._sessions.values():
            session.apply(decide.external_write(session, path, content))

    def _call(self, index: int, session: Session, plain: JsonObject) -> Step:
        seen = wire.event(plain)
        call = wire.delivered_by(seen)
        for op in call.ops:
            if op.kind is OpKind.READ and op.path is not None and op.hash is not None:
                self._contents[op.path] = op.hash
        before = decide.pre(session, call, self._facts(call), self._policy)
        session.apply(before.writes)
        result = wire.result(seen)
        if not result.failed:
            self._remember_edits(session, call)
        after = decide.post(session, call, result, self._facts(call), self._policy, ran=not before.denied)
        session.apply(after.writes)
        return Step(index, before, after)

    def _remember_edits(self, own: Session, call: Call) -> None:
        for op in call.ops:
            if op.kind is OpKind.EDIT and op.path is not None:
                content = op.hash or f"{self._contents.get(op.path, '')}+{call.key}"
                self._contents[op.path] = content
                for session in self._sessions.values():
                    if session is not own:
                        session.apply(decide.external_write(session, op.path, content))

    def _facts(self, call: Call) -> dict[str, FileFact]:
        return {
            op.path: FileFact(self._contents[op.path])
            for op in call.ops
            if op.path is not None and op.path in self._contents
        }


def read_events(lines: Iterable[str]) -> Iterator[JsonObject]:
    """Parse JSON Lines, blank ones skipped. Raises :class:`~rulecore_sidecar.wire.WireError` with the line number."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            plain = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise wire.WireError(f"line {number}: not JSON: {error}") from None
        if not isinstance(plain, dict):
            raise wire.WireError(f"line {number}: an event is an object, not {type(plain).__name__}")
        yield plain
