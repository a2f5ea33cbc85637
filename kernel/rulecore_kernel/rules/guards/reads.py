"""IdempotencyGuard: a read is redundant only when its bytes are already in front of this agent.

Denied only if *all* hold: every read op's range lies inside ranges that were delivered to this agent, in this context
epoch, of content that still has the same hash; and the last identical read was not denied already. Whoever asks twice
gets the bytes: the guard may have missed that the context was cut.

Limits: identity is the hash of the whole file, so a change anywhere in it makes every range readable again; two
denials in a row for one file, under whatever ranges, are followed by a pass. Source: spec agents.md section 2.1.
"""

from collections.abc import Iterator, Mapping

from rulecore_kernel.rules.guards.events import Action, Call, Decision, FileFact, Op, OpKind, Range, Result, brief
from rulecore_kernel.rules.guards.session import CallRecord, ReadRecord, Session, Write
from rulecore_kernel.values import JsonObject

RULE = "IdempotencyGuard.delivered"
_DENIALS_PER_FILE = 2
UNSTABLE = "unstable"
"""Hash of content that changed while it was read. It equals nothing, itself included."""


def merge(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """The same lines as sorted ranges that neither overlap nor touch."""
    merged: list[Range] = []
    for start, end in sorted(ranges, key=lambda r: r.start):
        if merged and (merged[-1].end is None or start <= merged[-1].end + 1):
            last = merged[-1]
            reach = None if last.end is None or end is None else max(last.end, end)
            merged[-1] = Range(last.start, reach)
        else:
            merged.append(Range(start, end))
    return tuple(merged)


def covers(delivered: tuple[Range, ...], wanted: Range) -> bool:
    """True when every line of ``wanted`` lies in ``delivered`` (merged)."""
    return any(
        have.start <= wanted.start and (have.end is None or (wanted.end is not None and wanted.end <= have.end))
        for have in delivered
    )


def ledger(session: Session, path: str, content: str | None) -> ReadRecord | None:
    """What of ``path``, if it still has ``content``, lies in this agent's present context."""
    record = session.reads.get(path)
    usable = record is not None and record.hash == content != UNSTABLE and record.epoch == session.scalars.epoch
    return record if usable else None


def check(session: Session, call: Call, facts: Mapping[str, FileFact]) -> tuple[Decision, list[Write]] | None:
    """Deny ``call`` if it is a redundant read.

    Returns the decision with the writes that remember the denial, or None when the call should go ahead.
    """
    reads = [op for op in call.ops if op.kind is OpKind.READ]
    if not reads or len(reads) != len(call.ops):
        return None
    records: list[tuple[str, ReadRecord]] = []
    for op in reads:
        fact = facts.get(op.path or "")
        record = ledger(session, op.path or "", fact.hash if fact else None)
        if record is None or record.denied >= _DENIALS_PER_FILE or not covers(record.ranges, op.range()):
            return None
        records.append((op.path or "", record))
    earlier = session.calls.get(call.key)
    if earlier is not None and earlier.skipped:
        return None
    first_path, first = records[0]
    ago = session.scalars.seq + 1 - first.call_seq
    message = brief(
        f"{RULE}: {_lines(reads[0])} of {first_path} unchanged (content {first.hash[:8]}) since you read it "
        f"{ago} call{'s' if ago != 1 else ''} ago"
        + (f", likewise the other {len(records) - 1}" if len(records) > 1 else "")
        + ". Use that copy above. If it is no longer in your context, repeat this call and it will be served."
    )
    writes = [Write("reads", path, record._replace(denied=record.denied + 1)) for path, record in records]
    mark = earlier or CallRecord(seq=session.scalars.seq, outcome="", run=0, repeats=0)
    writes.append(Write("calls", call.key, mark._replace(skipped=True)))
    evidence: JsonObject = {"path": first_path, "hash": first.hash, "delivered_at": first.call_seq}
    return Decision(Action.DENY, RULE, message, evidence=evidence), writes


def _lines(op: Op) -> str:
    wanted = op.range()
    if wanted.end is None:
        return "the whole file" if wanted.start == 1 else f"lines {wanted.start} to the end"
    return f"lines {wanted.start}-{wanted.end}"


def learn(session: Session, call: Call, result: Result, facts: Mapping[str, FileFact]) -> Iterator[Write]:
    """The ledger after a call that ran: what was delivered, and of which content.

    A whole-file read replaces what the ledger held of that file: agents that clear superseded copies out of their
    context (Cline does) drop the earlier ranges once a later whole read exists, even where that one was cut.
    """
    if result.failed:
        return
    for op in call.ops:
        if op.kind is not OpKind.READ or op.path is None:
            continue
        fact = facts.get(op.path)
        content = op.hash or (fact.hash if fact else None)
        if content is None or content == UNSTABLE:
            continue
        delivered = op.delivered if op.delivered is not None else (() if result.truncated else (op.range(),))
        earlier = ledger(session, op.path, content)
        if earlier is not None and op.range() != Range(1, None):
            delivered = (*earlier.ranges, *delivered)
        record = ReadRecord(content, merge(delivered), session.scalars.epoch, session.scalars.seq)
        yield Write("reads", op.path, record)
