"""The guards in the order in which they are asked, before and after a call.

Before: a halt · a person's prerogatives · the loop ladder, SyncGuard and IdempotencyGuard, of which the strongest
answer counts. After: what the call taught is remembered, then OnError judges it.

Invariants: a decision never depends on the agent's name; nothing here looks at a file or a clock; the same advice is
not given twice in a row; ``observe`` and ``advise`` change the answer, never what is remembered, except that a halt is
only set under ``enforce``.

Source: spec agents.md section 2, items 1–3 and 7–9.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from rulecore_kernel.rules.guards import edits, literal, loops, reads
from rulecore_kernel.rules.guards.commands import is_person_only
from rulecore_kernel.rules.guards.events import Action, Call, Decision, FileFact, OpKind, Result, brief
from rulecore_kernel.rules.guards.outcome import digest
from rulecore_kernel.rules.guards.policy import ADVISE, ENFORCE, LITERAL, OBSERVE, Policy
from rulecore_kernel.rules.guards.relevance import HASHES_KEPT
from rulecore_kernel.rules.guards.session import ReadRecord, Scalars, Session, Write, stamped
from rulecore_kernel.values import JsonObject

RULE_HALT = "OnError.forcehalt"
RULE_PERSON = "OnError.person_only"
_NUMBER = re.compile(r"\d+")
"""The same advice with another count in it is the same advice."""


class Verdict(NamedTuple):
    """A decision and the writes that go with it; ``would`` is the decision before the guard's mode weakened it."""

    decision: Decision
    writes: tuple[Write, ...] = ()
    would: Decision = Decision()

    @property
    def denied(self) -> bool:
        """The call does not run."""
        return self.decision.action in (Action.DENY, Action.STOP)


def pre(session: Session, call: Call, facts: Mapping[str, FileFact], policy: Policy) -> Verdict:
    """Decide whether ``call`` should go ahead, be advised, denied or stopped.

    Arguments: ``facts`` holds the present state of each path that the call names.
    """
    halted = _halted(session, call, policy)
    if halted is not None:
        return halted
    if call.touches_guard_keys or any(op.command is not None and is_person_only(op.command) for op in call.ops):
        text = f"{RULE_PERSON}: this belongs to a person. Ask the user to do it in a terminal or in the editor."
        return _verdict(session.scalars, Decision(Action.DENY, RULE_PERSON, text), policy.mode, [])
    candidates: list[tuple[Decision, str, list[Write]]] = []
    laddered = None
    if policy.profile != LITERAL and policy.loop_mode != OBSERVE:
        laddered = loops.check(session, call, facts, enforced=policy.loop_mode == ENFORCE)
    if laddered is not None:
        candidates.append((laddered[0], policy.loop_mode, laddered[1]))
    elif (redundant := reads.check(session, call, facts)) is not None:
        candidates.append((redundant[0], policy.redundant_read_mode, redundant[1]))
    if (stale := edits.check(session, call, facts, policy.unread_edit)) is not None:
        candidates.append((stale, policy.stale_edit_mode, []))
    if not candidates:
        return Verdict(Decision())
    decision, mode, writes = max(candidates, key=lambda c: _weakened(c[0], c[1]).strength)
    return _verdict(session.scalars, decision, mode, writes)


def post(
    session: Session, call: Call, result: Result, facts: Mapping[str, FileFact], policy: Policy, *, ran: bool = True
) -> Verdict:
    """Remember what ``call`` brought and judge it.

    Arguments: ``facts`` are the files after the call; ``ran`` is False for a call that the guard itself denied.
    Returns OnError's decision (``outcome`` continue, switch_strategy, forcehalt, …) and the writes.
    """
    now = session.numbered()
    writes: list[Write] = []
    if ran:
        ledger = list(reads.learn(now, call, result, facts))
        delivered = {write.key: write.value for write in ledger if isinstance(write.value, ReadRecord)}
        writes = [*ledger, *edits.learn(now, call, result, facts, delivered)]
    judged = loops.decide(now, call, result, facts, policy, ran=ran)
    scalars = judged.scalars
    writes += judged.writes
    if scalars.force_halt:
        scalars, decision = _still_halted(scalars, result, policy.literal.forcehalt_notify_rounds)
    elif policy.profile == LITERAL:
        scalars, decision, counts = literal.decide(now, scalars, call, result, policy.literal, ran=ran)
        writes += counts
    else:
        decision = _spoken(judged.finding, enforced=policy.loop_mode == ENFORCE)
        scalars = _decayed(scalars, decision, policy.literal.switch_decay_rounds)
    if decision.outcome == loops.HALT and policy.loop_mode == ENFORCE and not scalars.force_halt:
        reason = judged.finding.message if judged.finding is not None else decision.message
        scalars = scalars._replace(force_halt=True, halt_reason=reason, halt_stops=0, halted_rounds=0)
    return _verdict(scalars, decision, policy.loop_mode, writes, always=True)


def user_message(session: Session) -> list[Write]:
    """A person spoke: every run starts anew. A halt stays."""
    seq = session.scalars.seq + 1
    return [Write("scalars", "", session.scalars._replace(seq=seq, fresh_seq=seq, idle=0, window=(), last_advice=""))]


def compacted(session: Session) -> list[Write]:
    """The agent's context was cut or resumed: nothing that was delivered before can be relied on."""
    (write,) = user_message(session)
    assert isinstance(write.value, Scalars)
    return [Write("scalars", "", write.value._replace(epoch=write.value.epoch + 1))]


def external_writes(session: Session, changed: Mapping[str, str | None]) -> list[Write]:
    """Somebody other than this agent changed files (path → content, None when it is gone): a relevant change for
    whatever names them. Only files that this session knows are remembered one by one."""
    scalars = session.scalars
    seq = scalars.seq + 1
    writes: list[Write] = []
    for path, content in changed.items():
        before = session.files.get(path)
        if before is not None:
            hashes = before.hashes if content is None else (*before.hashes, content)[-HASHES_KEPT:]
            record = before._replace(hashes=hashes, writes=stamped(before.writes, "*", seq))
            writes.append(Write("files", path, record))
    return [*writes, Write("scalars", "", scalars._replace(seq=seq, writes=stamped(scalars.writes, "*", seq)))]


def cleared(session: Session) -> list[Write]:
    """The user cleared the halt: the flag, retryCounter, emptyCount, switchCounter and haltedRounds go."""
    (write,) = user_message(session)
    assert isinstance(write.value, Scalars)
    scalars = write.value._replace(
        force_halt=False, halt_reason="", halt_stops=0, halted_rounds=0, switch_counter=0, retry_counter=0
    )
    emptied = [Write("counts", key, None) for key in session.counts if key.startswith(literal.EMPTY)]
    return [*emptied, Write("scalars", "", scalars)]


def _halted(session: Session, call: Call, policy: Policy) -> Verdict | None:
    scalars = session.scalars
    if not scalars.force_halt or policy.loop_mode != ENFORCE:
        return None
    looking = (OpKind.READ, OpKind.SEARCH, OpKind.FETCH)
    harmless = call.passive or (bool(call.ops) and all(op.kind in looking for op in call.ops))
    if harmless and (policy.halt_allow_reads or call.passive):
        return Verdict(Decision())
    action = Action.STOP if scalars.halt_stops == 0 else Action.DENY
    text = brief(
        f"{RULE_HALT}: halted. A person goes on with: rulecore halt clear. Reading and asking still work. "
        f"Why: {scalars.halt_reason}"
    )
    counted = scalars._replace(halt_stops=scalars.halt_stops + 1)
    decision = Decision(action, RULE_HALT, text, evidence={"stops": counted.halt_stops})
    return Verdict(decision, (Write("scalars", "", counted),), decision)


def _still_halted(scalars: Scalars, result: Result, notify_rounds: int) -> tuple[Scalars, Decision]:
    """OnError step 2: nothing moves but haltedRounds; at 5 and every further 5 the user is asked."""
    rounds = 0 if result.failed or result.empty else scalars.halted_rounds + 1
    notify = rounds > 0 and rounds % notify_rounds == 0
    decision = Decision(rule=RULE_HALT, outcome=loops.HALT, evidence={"notify": True} if notify else {})
    return scalars._replace(halted_rounds=rounds), decision


def _spoken(finding: loops.Finding | None, *, enforced: bool) -> Decision:
    if finding is None:
        return Decision(outcome=loops.CONTINUE)
    halted = finding.outcome == loops.HALT
    action = Action.STOP if halted else Action.ADVISE
    way_out = f"{loops.RULE}: stopped. A person goes on with: rulecore halt clear. " if halted and enforced else ""
    message = brief(way_out + finding.message)
    evidence: JsonObject = {"branch": finding.branch, "count": finding.times}
    return Decision(action, f"{loops.RULE}.{finding.branch}", message, finding.outcome, evidence)


def _decayed(scalars: Scalars, decision: Decision, decay_rounds: int) -> Scalars:
    """OnError step 9 (the general scope)."""
    rounds = 0 if decision.outcome == loops.SWITCH else scalars.rounds_without_switch + 1
    if rounds < decay_rounds:
        return scalars._replace(rounds_without_switch=rounds)
    return scalars._replace(rounds_without_switch=0, switch_counter=max(0, scalars.switch_counter - 1))


def _weakened(decision: Decision, mode: str) -> Decision:
    if mode == OBSERVE:
        return decision._replace(action=Action.ALLOW, message="")
    if mode == ADVISE and decision.action is not Action.ALLOW:
        return decision._replace(action=Action.ADVISE)
    return decision


def _verdict(scalars: Scalars, would: Decision, mode: str, writes: list[Write], *, always: bool = False) -> Verdict:
    """Apply the mode, drop advice that was just given, and write the scalars if anything in them moved."""
    decision = _weakened(would, mode)
    advice = digest(_NUMBER.sub("#", decision.message)) if decision.action is Action.ADVISE else ""
    if advice and advice == scalars.last_advice:
        decision = decision._replace(action=Action.ALLOW, message="")
    elif advice:
        scalars, always = scalars._replace(last_advice=advice), True
    stored = (*writes, Write("scalars", "", scalars)) if always else tuple(writes)
    return Verdict(decision, stored, would)
