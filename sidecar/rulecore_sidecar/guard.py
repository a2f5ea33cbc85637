"""The guard service: decode → look at the files → ask the kernel → remember → answer.

Everything happens in wire order on one thread, and an answer leaves only after what it means has been committed.
Nothing here decides: the decisions are :mod:`rulecore_kernel.rules.guards`.

Life of a call: ``pre`` opens it as a pending operation, ``post`` ends it. A call that the guard denies is judged at
once, with its key's last outcome, and a post that still comes for it is ignored. A call whose post never came is ended
by the pre of the agent's next message. What was pending when the process died is pending, without an owner, when it
comes back.

Limits: 32 sessions in memory (the store has the rest), 256 denied call ids and 16 command windows a session.
Source: spec agents.md section 2, sidecar.md section 4.
"""

import json
import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from rulecore_hooks.project_config import PLACES
from rulecore_kernel.rules.guards import decide, loops
from rulecore_kernel.rules.guards import edits as edits_guard
from rulecore_kernel.rules.guards.commands import head, is_waiting, writes_to
from rulecore_kernel.rules.guards.events import Action, Call, Decision, FileFact, Op, OpKind, Result
from rulecore_kernel.rules.guards.outcome import digest, strings
from rulecore_kernel.rules.guards.policy import Policy
from rulecore_kernel.rules.guards.session import Session, Write
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar import wire
from rulecore_sidecar.agents import adapt
from rulecore_sidecar.project import PERSONS_KEYS
from rulecore_sidecar.store import Cached, Operation, Recorded, SessionName, Store
from rulecore_sidecar.workspace import Window, Workspace

SESSIONS_IN_MEMORY = 32
CLOSED_KEPT = 256
WINDOWS_KEPT = 16
FORMATTER_SECONDS = 2.0
"""A save in the editor this soon after an agent's edit is taken for a formatter's."""
_FILE_OPS = (OpKind.READ, OpKind.EDIT)
_PERSONS_FILES = frozenset((*PLACES, ".rulecore", ".rulecore/", ".rulecore/guard.db"))
"""What commands of an agent may not write: the guards' parameters and memory."""
_NOT_COUNTED = (decide.RULE_HALT, decide.RULE_PERSON)
"""Denials that say nothing about whether the agent is stuck. Neither does unsaved text, which only a person can end."""


class Open(NamedTuple):
    """A call that was let through."""

    call: Call
    started: float
    contents: Mapping[str, str | None]
    """Hashes, on the disk, of the files it reads or edits when it was let through."""


class Live:
    """A session in memory: the guards' state and what belongs to this process only."""

    def __init__(self, number: int, name: SessionName, state: Session, orphans: Iterable[str]) -> None:
        self.number = number
        self.name = name
        self.state = state
        self.open: dict[str, Open] = {}
        self.orphans = list(orphans)
        """Operations of an earlier process that are still pending."""
        self.denied: deque[str] = deque(maxlen=CLOSED_KEPT)
        self.windows: deque[Window] = deque(maxlen=WINDOWS_KEPT)
        self.wrote: deque[tuple[str, float]] = deque(maxlen=WINDOWS_KEPT)
        """The latest edits that succeeded: path and when (seconds since the epoch)."""

    def __str__(self) -> str:
        agent_id = "" if self.name.agent_id == wire.DEFAULT_AGENT_ID else f" ({self.name.agent_id})"
        return f"{self.name.agent} session {self.name.session}{agent_id}"


class Guard:
    """Answers ``rulecore/guard/*``, ``rulecore/session/*`` and ``rulecore/halt/*`` for one workspace."""

    def __init__(
        self, workspace: Workspace, store: Store, policy: Callable[[], Policy], clock: Callable[[], float] = time.time
    ) -> None:
        self._workspace = workspace
        self._store = store
        self._policy = policy
        self._clock = clock
        self._live: OrderedDict[SessionName, Live] = OrderedDict()
        self._orphans: dict[int, list[str]] = {}
        for operation in store.operations():
            self._orphans.setdefault(operation.session_id, []).append(operation.op_id)
        workspace.editor.saved = self.saved_in_editor

    # -- calls

    def pre(self, params: JsonObject) -> Json:
        """``rulecore/guard/pre``: an Event before its call runs → Decision."""
        event = wire.event(adapt(params))
        live = self._session(event.who)
        call = self._keyed(event)
        ended = self._end_abandoned(live, call)
        facts, contents = self._workspace.facts(call, live.state, self._windows_of(live))
        verdict = decide.pre(live.state, call, facts, self._policy())
        writes, opened = live.state.apply(verdict.writes), None
        op_id = self._op_id(live, call)
        if verdict.denied:
            live.denied.append(op_id)
            if verdict.decision.rule not in _NOT_COUNTED and not verdict.decision.evidence.get("unsaved"):
                judged = self._judge_denied(live, call, verdict.decision, facts)
                writes += live.state.apply(judged.writes)
                if judged.decision.action is Action.STOP:
                    verdict = judged
        else:
            if op_id in live.denied:
                live.denied.remove(op_id)
            live.open[op_id] = Open(call, self._clock(), contents)
            opened = Operation(op_id, live.number, os.getpid(), self._clock())
        return self._commit(live, writes, "pre", call, verdict, opened=opened, ended=ended)

    def post(self, params: JsonObject) -> Json:
        """``rulecore/guard/post``: the same Event with its result → Decision."""
        event = wire.event(adapt(params))
        live = self._session(event.who)
        call = wire.delivered_by(event._replace(call=self._keyed(event)))
        op_id = self._op_id(live, call)
        opened = live.open.pop(op_id, None)
        if opened is None and op_id in live.denied:
            live.denied.remove(op_id)
            return wire.decision(decide.Verdict(Decision(outcome="continue")))
        result = wire.result(event)
        self._note_window(live, call, opened)
        self._look_around(live, call)
        facts = self._workspace.facts_after(call, live.state, opened.contents if opened else {})
        verdict = decide.post(live.state, call, result, facts, self._policy())
        writes = live.state.apply(verdict.writes)
        cached = list(self._workspace.cached(call, result))
        if not result.failed:
            self._tell_others(live, call, facts)
        return self._commit(live, writes, "post", call, verdict, ended=[op_id], cached=cached)

    def _keyed(self, event: wire.Event) -> Call:
        """The call with paths as this workspace names them, and the mark of an edit that belongs to a person."""
        ops = tuple(
            op if op.path is None else op._replace(path=self._workspace.key(op.path, event.cwd))
            for op in event.call.ops
        )
        commands = [op.command for op in ops if op.command is not None]
        edits_project = any(op.kind is OpKind.EDIT and op.path in PLACES for op in ops)
        touches = edits_project and any(PERSONS_KEYS.search(value) for value in strings(event.params))
        touches = touches or any(writes_to(command, _PERSONS_FILES) for command in commands)
        polls = event.call.poll or any(is_waiting(command) for command in commands)
        return event.call._replace(ops=ops, touches_guard_keys=touches, poll=polls)

    def _op_id(self, live: Live, call: Call) -> str:
        """An id for the call; agents that give none have one call of a kind open at a time."""
        return f"{live.number}:{call.call_id or call.key}"

    def _end_abandoned(self, live: Live, call: Call) -> list[str]:
        """Calls that will get no post any more: all that are open, except those of the same message.

        What such a call was to edit and did change is taken for its own work, not for somebody else's.
        """
        siblings = {op_id for op_id, o in live.open.items() if call.group is not None and o.call.group == call.group}
        ended = [op_id for op_id in live.open if op_id not in siblings]
        for op_id in ended:
            opened = live.open.pop(op_id)
            edits = [op for op in opened.call.ops if op.kind is OpKind.EDIT and op.path in opened.contents]
            self._learn_own(live, opened.call._replace(ops=tuple(edits)), opened.contents)
        ended += live.orphans
        live.orphans = []
        return ended

    def _learn_own(self, live: Live, call: Call, before: Mapping[str, str | None]) -> None:
        """What ``call`` edits is this agent's own work as it lies on the disk now, unless it is still as ``before``."""
        facts = self._workspace.facts_after(call, live.state, {})
        changed = {path: fact for path, fact in facts.items() if path not in before or fact.hash != before[path]}
        if changed:
            writes = edits_guard.learn(live.state, call, Result(""), changed, {})
            self._store.commit(live.number, live.state.apply(writes))

    def _windows_of(self, live: Live) -> list[Window]:
        """When this agent's commands ran or still run."""
        now = self._clock()
        running = [
            Window(o.started, now, _heads(o.call)) for o in live.open.values() if any(op.command for op in o.call.ops)
        ]
        return [*live.windows, *running]

    def windows(self) -> list[Window]:
        """When any agent's commands ran or still run."""
        return [window for live in self._live.values() for window in self._windows_of(live)]

    def _look_around(self, live: Live, call: Call) -> None:
        """Before a call is held against an agent: did somebody change what it may depend on?"""
        files_only = call.ops and all(op.path is not None and op.kind in _FILE_OPS for op in call.ops)
        if not files_only and loops.about_to_act(live.state, call, self._policy()):
            self.external_writes(self._workspace.look_around(self.windows()))

    def _judge_denied(self, live: Live, call: Call, denial: Decision, facts: Mapping[str, FileFact]) -> decide.Verdict:
        """The post of a call that did not run: the key's last outcome, else the denial itself."""
        last = live.state.calls.get(call.key)
        if last is not None and last.run > 0:
            result = Result(last.outcome, failed=last.failed, fingerprint=last.fingerprint)
        else:
            mark = digest(f"denied|{denial.rule}|{denial.evidence.get('path')}")
            result = Result(mark, failed=denial.rule != "IdempotencyGuard.delivered", fingerprint=mark)
        return decide.post(live.state, call, result, facts, self._policy(), ran=False)

    def _note_window(self, live: Live, call: Call, opened: Open | None) -> None:
        if any(op.command is not None for op in call.ops):
            now = self._clock()
            live.windows.append(Window(opened.started if opened else now, now, _heads(call)))

    def _tell_others(self, live: Live, call: Call, facts: Mapping[str, FileFact]) -> None:
        """What this agent wrote is news to every other session."""
        for op in call.ops:
            if op.kind is OpKind.EDIT and op.path is not None:
                content = facts[op.path].hash if op.path in facts else None
                live.wrote.append((op.path, self._clock()))
                self._workspace.wrote(op.path, content, str(live))
                self.external_writes({op.path: content}, but=live)

    def saved_in_editor(self, key: str, content: str | None) -> None:
        """An editor saved ``key``.

        Right after an agent's edit of it that is the editor's formatter at work on the edit, and so the agent's own.
        For everybody else, and at any other time, somebody changed the file.
        """
        now = self._clock()
        for live in self._live.values():
            editing = any(op.path == key and op.kind is OpKind.EDIT for o in live.open.values() for op in o.call.ops)
            if editing or any(path == key and now - when <= FORMATTER_SECONDS for path, when in live.wrote):
                self._learn_own(live, Call("save", "", (Op(OpKind.EDIT, key),)), {})
            else:
                self._learn_others(live, {key: content})

    def external_writes(self, changed: Mapping[str, str | None], but: Live | None = None) -> None:
        """Tell every session in memory, except ``but``, that somebody else changed files: path → content."""
        for other in self._live.values():
            if changed and other is not but:
                self._learn_others(other, changed)

    def _learn_others(self, live: Live, changed: Mapping[str, str | None]) -> None:
        self._store.commit(live.number, live.state.apply(decide.external_writes(live.state, changed)))

    # -- sessions and halts

    def session_event(self, kind: str, params: JsonObject) -> Json:
        """``rulecore/session/<kind>``. Answers whether the session is halted."""
        live = self._session(wire.session_name(params))
        lost = wire.number(params, "lost") or 0
        if lost > 0:
            self._store.count("lost_calls", lost)
        writes: list[Write] = []
        if kind == "prompt":
            writes = decide.user_message(live.state)
        elif kind in ("start", "resume", "compact", "end"):
            writes = decide.compacted(live.state)
        ended: list[str] = []
        if kind in ("stop", "end"):
            ended = [*live.open, *live.orphans]
            live.open, live.orphans = {}, []
        self._store.commit(live.number, live.state.apply(writes), ended=ended)
        return {"ok": True, "halted": live.state.scalars.force_halt}

    def halts(self, params: JsonObject) -> Json:
        """``rulecore/halt/get``: every halted (session, agent) of the workspace, or of one session."""
        wanted = wire.text(params, "session")
        found: list[Json] = []
        for name, scalars in self._store.scalars():
            if scalars.force_halt and wanted in (None, name.session):
                found.append({**name._asdict(), "reason": scalars.halt_reason, "since_call": scalars.seq})
        return {"halts": found}

    def clear_halts(self, params: JsonObject) -> Json:
        """``rulecore/halt/clear``: only for a person. Needs ``session`` or ``all``."""
        wanted = wire.text(params, "session")
        if wanted is None and not wire.flag(params, "all"):
            raise wire.WireError("say which session to clear, or all: true")
        cleared = 0
        for name, scalars in list(self._store.scalars()):
            if scalars.force_halt and wanted in (None, name.session):
                live = self._session(name)
                self._store.commit(live.number, live.state.apply(decide.cleared(live.state)))
                cleared += 1
        return {"cleared": cleared}

    def remember_all(self, store: Store) -> None:
        """Write every session in memory into ``store``, which replaces the one that was lost."""
        self._store = store
        for live in self._live.values():
            live.number = store.session_id(live.name)
            store.commit(live.number, live.state.dump())

    def operation_log(self) -> dict[str, dict[str, Json]]:
        """The kernel's operationLog: pending operations with the process that runs them, or None when it died."""
        me = os.getpid()
        return {
            op.op_id: {"status": "pending", "owner": me if op.owner == me else None} for op in self._store.operations()
        }

    def state(self, params: JsonObject) -> Json:
        """``rulecore/state/get``: what the guards know of one session, for people."""
        live = self._session(wire.session_name(params))
        scalars = live.state.scalars
        return {
            "session": {**live.name._asdict()},
            "calls": scalars.seq,
            "context_epoch": scalars.epoch,
            "forceHalt": scalars.force_halt,
            "halt_reason": scalars.halt_reason,
            "switchCounter": scalars.switch_counter,
            "retryCounter": scalars.retry_counter,
            "files_read": len(live.state.reads),
            "pending": list(live.open),
        }

    def _session(self, name: SessionName) -> Live:
        live = self._live.get(name)
        if live is None:
            number = self._store.session_id(name)
            live = Live(number, name, self._store.load(number), self._orphans.pop(number, ()))
            self._live[name] = live
            while len(self._live) > SESSIONS_IN_MEMORY:
                _, gone = self._live.popitem(last=False)
                self._orphans[gone.number] = [*gone.orphans, *gone.open]
        self._live.move_to_end(name)
        return live

    def _commit(
        self,
        live: Live,
        writes: Iterable[Write],
        phase: str,
        call: Call,
        verdict: decide.Verdict,
        *,
        opened: Operation | None = None,
        ended: Iterable[str] = (),
        cached: Iterable[Cached] = (),
    ) -> Json:
        """Make durable what one message changed; returns the answer, which may leave now."""
        decided = wire.decision(verdict)
        inputs = json.dumps(_described(call), separators=(",", ":"))
        answer = json.dumps(decided, separators=(",", ":"))
        action = verdict.decision.action.value
        record = Recorded(phase, action, call.tool, call.key, inputs, answer, self._workspace.generation)
        self._store.commit(live.number, writes, opened=opened, ended=ended, decision=record, cached=cached)
        return decided


def _heads(call: Call) -> str:
    return ", ".join(filter(None, (head(op.command) for op in call.ops if op.command is not None)))


def _described(call: Call) -> Json:
    """A call as it may be kept: no file text, no whole commands."""
    ops: list[Json] = []
    for op in call.ops:
        plain: dict[str, Json] = {"kind": op.kind.value}
        for field in ("path", "start", "end", "hash", "edit_kind"):
            value = getattr(op, field)
            if value is not None:
                plain[field] = value
        if op.command is not None:
            plain["command"] = head(op.command)
        ops.append(plain)
    return {"tool": call.tool, "key": call.key, "group": call.group, "ops": ops}
