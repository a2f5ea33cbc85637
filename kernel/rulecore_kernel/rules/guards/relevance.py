"""Relevant change: whether anything happened between two calls that could make the second one worth making.

Who wrote which file when is kept per path and for the whole session (the latest two writers each, so that a call's own
writes can be told from others'). A file's contents are known by their hashes; what this session saw of it last is the
newest of them.

Source: spec agents.md section 2.2 ("relevant change").
"""

from collections.abc import Mapping
from typing import Any

from rulecore_kernel.rules.guards.commands import is_read_only
from rulecore_kernel.rules.guards.events import Call, FileFact, Op, OpKind, Result
from rulecore_kernel.rules.guards.reads import UNSTABLE
from rulecore_kernel.rules.guards.session import CallRecord, FileRecord, Scalars, Session, latest_by_other, stamped

HASHES_KEPT = 16
TOUCHING = (OpKind.READ, OpKind.EDIT)
_UNSEEN = FileRecord()

Files = tuple[tuple[str, FileRecord], ...]


def changed_since(
    session: Session, call: Call, record: CallRecord, facts: Mapping[str, FileFact], *, wrote: bool = False
) -> bool:
    """True when something relevant to ``call`` changed after its last time, which left ``record``.

    ``wrote`` says that the call itself has just written the files it edits, so that their contents tell nothing.
    """
    return written_since(session, call, record) or any(
        _is_news(session, op, facts) for op in call.ops if not (wrote and op.kind is OpKind.EDIT)
    )


def written_since(session: Session, call: Call, record: CallRecord) -> bool:
    """The same, from what calls and other people wrote, without a look at the files."""
    if not call.ops:
        return _changed_anywhere(session, call.key, record.seq)
    return any(_changed_for(session, call.key, op, record) for op in call.ops)


def _changed_for(session: Session, key: str, op: Op, record: CallRecord) -> bool:
    """A file that the operation names was written by another call. What names no file (a command, a search, a fetch,
    a tool of which nothing is known) may depend on any file, and so may a read that failed; a command may also depend
    on what an unknown tool did."""
    if op.path is not None:
        file = session.files.get(op.path)
        if file is not None and latest_by_other(file.writes, key) > record.seq:
            return True
    if op.kind is OpKind.EXEC and latest_by_other(session.scalars.unknowns, key) > record.seq:
        return True
    if op.kind is OpKind.EDIT:
        return record.failed and latest_by_other(session.scalars.execs, key) > record.seq
    return (op.kind is not OpKind.READ or record.failed) and _changed_anywhere(session, key, record.seq)


def _changed_anywhere(session: Session, key: str, seq: int) -> bool:
    scalars = session.scalars
    return latest_by_other(scalars.writes, key) > seq or latest_by_other(scalars.execs, key) > seq


def _is_news(session: Session, op: Op, facts: Mapping[str, FileFact]) -> bool:
    """The file has another content than this session last knew of it."""
    if op.path is None or op.kind not in TOUCHING:
        return False
    known = session.files.get(op.path)
    fact = facts.get(op.path)
    content = op.hash or (fact.hash if fact else None)
    return known is not None and content not in (None, UNSTABLE) and known.hashes[-1:] not in ((), (content,))


def changes(
    session: Session, scalars: Scalars, call: Call, result: Result, facts: Mapping[str, FileFact]
) -> tuple[dict[str, Any], Files]:
    """What the call, or somebody before it, did to the files it names, as far as their contents show it.

    Returns the scalars that moved, by name, and the files' records.
    """
    moved: dict[str, Any] = {}
    files: dict[str, FileRecord] = {}
    for op in call.ops:
        edited = op.kind is OpKind.EDIT and not result.failed
        if edited and op.path is None:
            moved["writes"] = stamped(moved.get("writes", scalars.writes), call.key, scalars.seq)
        if op.path is None or op.kind not in TOUCHING:
            continue
        writer = call.key if edited else "*"
        fact = facts.get(op.path)
        before = files.get(op.path) or session.files.get(op.path) or _UNSEEN
        if before.returns and before.writes and before.writes[0][1] < scalars.fresh_seq:
            before = before._replace(hashes=before.hashes[-1:], returns=0)
        after = _observed(before, op.hash or (fact.hash if fact else None), scalars.seq, writer)
        if after is not before:
            files[op.path] = after
        if after.writes != before.writes:
            moved["writes"] = stamped(moved.get("writes", scalars.writes), writer, scalars.seq)
        if edited:
            moved["edit_seq"] = scalars.seq
    if not result.failed and not (call.poll or call.passive):
        if any(op.command is not None and not is_read_only(op.command) for op in call.ops):
            moved["execs"] = stamped(scalars.execs, call.key, scalars.seq)
        elif all(op.kind is OpKind.OTHER for op in call.ops):
            moved["unknowns"] = stamped(scalars.unknowns, call.key, scalars.seq)
    return moved, tuple(files.items())


def _observed(before: FileRecord, content: str | None, seq: int, writer: str) -> FileRecord:
    """``before`` once ``content`` was seen. A first sight is no change, unless the call itself wrote the file."""
    if content == UNSTABLE or (content is None and writer == "*"):
        return before
    if content is not None and before.hashes[-1:] == (content,):
        return before
    own = writer != "*"
    writes = stamped(before.writes, writer, seq) if own or before.hashes else before.writes
    if content is None:
        return before._replace(writes=writes)
    returns = before.returns + int(own and content in before.hashes)
    return FileRecord((*before.hashes, content)[-HASHES_KEPT:], returns, writes)
