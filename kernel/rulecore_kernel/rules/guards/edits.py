"""SyncGuard: an edit from a stale copy is refused, with who changed what and which lines to read again.

Stale means: the file's content is not what this agent read or wrote last, and the changed lines have not been delivered
to it since. The refusal stands until they have. An edit of an existing file that the agent never read is advised
(``guard.unread_edit``). Creating a file that does not exist is never stale.

Limits: a change between the decision and the agent's own write is not seen here; when the changed lines are not known
(no digests: binary, very large, or remembered from before a restart without them) any read of the present content
counts. Source: spec agents.md section 2.3.
"""

from collections.abc import Iterator, Mapping

from rulecore_kernel.rules.guards.events import Action, Call, Decision, FileFact, OpKind, Range, Result, brief
from rulecore_kernel.rules.guards.reads import UNSTABLE, covers, ledger
from rulecore_kernel.rules.guards.session import ReadRecord, SeenRecord, Session, Write
from rulecore_kernel.values import JsonObject

RULE_STALE = "SyncGuard.stale_edit"
RULE_UNREAD = "SyncGuard.unread_edit"
_SHOWN_RANGES = 4


def check(session: Session, call: Call, facts: Mapping[str, FileFact], unread_edit: Action) -> Decision | None:
    """Refuse ``call`` if one of its edits starts from a stale copy.

    ``unread_edit`` is what an edit of a file that was never read gets. None when nothing is to be said.
    """
    unread: Decision | None = None
    for op in call.ops:
        if op.kind is not OpKind.EDIT or op.path is None:
            continue
        fact = facts.get(op.path)
        if fact is None or fact.hash is None:
            continue
        seen = session.seen.get(op.path)
        if seen is None:
            unread = unread or _unread(op.path, unread_edit)
        elif _differs(seen, fact) and not _caught_up(ledger(session, op.path, fact.hash), fact):
            return _stale(op.path, seen, fact)
    return unread


def _differs(seen: SeenRecord, fact: FileFact) -> bool:
    return seen.hash != fact.hash or fact.hash == UNSTABLE


def _caught_up(delivered: ReadRecord | None, fact: FileFact) -> bool:
    """The agent has since been delivered the lines that changed."""
    if delivered is None or not delivered.ranges:
        return False
    return fact.changed is None or all(covers(delivered.ranges, lines) for lines in fact.changed)


def _stale(path: str, seen: SeenRecord, fact: FileFact) -> Decision:
    who = fact.who or "someone else"
    where = _spell(fact.changed)
    if fact.unsaved:
        text = f"{RULE_STALE}: {path} has unsaved changes in the editor{f' ({where})' if where else ''}. "
        message = brief(f"{text}Ask the user to save or discard them, then read {where or 'it'} and edit.")
        return Decision(Action.DENY, RULE_STALE, message, evidence={"path": path, "who": who, "unsaved": True})
    message = brief(
        f"{RULE_STALE}: {path} was changed by {who} after you last read it"
        f"{f' ({where})' if where else ''}. Read {where or 'it'} again, then edit."
    )
    evidence: JsonObject = {"path": path, "seen": seen.hash, "now": fact.hash, "who": who, "lines": where}
    return Decision(Action.DENY, RULE_STALE, message, evidence=evidence)


def _unread(path: str, strength: Action) -> Decision | None:
    if strength is Action.ALLOW:
        return None
    message = brief(f"{RULE_UNREAD}: {path} was not read in this session. Read the part you change first.")
    return Decision(strength, RULE_UNREAD, message, evidence={"path": path})


def _spell(ranges: tuple[Range, ...] | None) -> str:
    if not ranges:
        return ""
    shown = ranges
    if len(ranges) > _SHOWN_RANGES:
        shown = (*ranges[: _SHOWN_RANGES - 1], Range(ranges[_SHOWN_RANGES - 1].start, ranges[-1].end))
    spelled = [f"{r.start}" if r.end == r.start else f"{r.start}-{r.end or 'end'}" for r in shown]
    noun = "line" if len(spelled) == 1 and "-" not in spelled[0] else "lines"
    return f"{noun} {', '.join(spelled)}"


def learn(
    session: Session, call: Call, result: Result, facts: Mapping[str, FileFact], delivered: Mapping[str, ReadRecord]
) -> Iterator[Write]:
    """Remember the content that this agent has read or written last.

    A read moves the memory to the present content only when the agent is then up to date with it: never read before,
    unchanged, or every changed line delivered. ``delivered`` is the ledger that this call leaves, by path.
    """
    if result.failed:
        return
    for op in call.ops:
        fact = facts.get(op.path) if op.path is not None else None
        content = op.hash or (fact.hash if fact else None)
        if op.path is None or content is None or content == UNSTABLE:
            continue
        now = SeenRecord(content, fact.lines if fact else None)
        if op.kind is OpKind.EDIT:
            yield Write("seen", op.path, now)
        elif op.kind is OpKind.READ:
            seen = session.seen.get(op.path)
            if seen is None or seen.hash == content or _caught_up(delivered.get(op.path), fact or FileFact(content)):
                yield Write("seen", op.path, now)
