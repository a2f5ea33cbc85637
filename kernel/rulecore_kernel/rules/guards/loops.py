"""OnError, calibrated: the same decisions as the seed's OnError, fed with information instead of emptiness.

A call that is repeated and brings nothing new is a loop; a repeat after something relevant changed is progress.

| branch | what is counted | 3rd | 5th |
| --- | --- | --- | --- |
| a | same key, same outcome, in a row (a verify command that passes: no halt) | switch | halt |
| b | same key, same failure | switch | halt |
| b.varied | same tool, target and failure, other parameters | switch | – |
| c | cycles of 2–4 (key, outcome) pairs | switch | – |
| d | same read, search or exec since the last successful edit: 4th | switch (advice) | – |
| e | a file's content returning a second time to an earlier value | switch | – |
| f | an edit that succeeded and now does not find its text | "already applied" | – |
| g | infrastructure errors | back-off advice, never counted | – |
| h | unchanged polls: 10th | switch | – |
| i | 40 calls without an edit, a new file, a new error or a verify command | advice | – |

Numbers are calls and parameters (``guard.*``). *Relevant change* = a write that changed the content of a path the call
names, by another key; for what names no file (a command, a search, a fetch, an unknown tool) and for a read that failed
any other write, or another successful command that is not known to be read-only; a file whose content is new to this
session. Runs start anew after a relevant change, a success of what had failed, a user message, a compaction.
After a switch the next identical call is advised, the one after it denied (not for b.varied, d, h: those only advise).

Source: spec agents.md section 2.2; kernel.md section 6 (steps 1, 2, 9 and 10 stay as they are there).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rulecore_kernel.rules.guards.commands import head, is_read_only, is_verify
from rulecore_kernel.rules.guards.events import Action, Call, Decision, FileFact, OpKind, Result, brief
from rulecore_kernel.rules.guards.policy import Policy
from rulecore_kernel.rules.guards.relevance import Files, changed_since, changes, written_since
from rulecore_kernel.rules.guards.session import (
    CallRecord,
    FileRecord,
    Scalars,
    Session,
    VariantRecord,
    Write,
)

RULE = "OnError.calibrated"
CONTINUE, SWITCH, HALT = "continue", "switch_strategy", "forcehalt"
_RETURNS_TO_SWITCH = 2
_VARIANTS_KEPT = 8
_CYCLE_PERIODS = (2, 3, 4)
_LADDER = frozenset("abce")
"""Branches whose switch makes the next identical call advised and the one after it denied."""


class Finding(NamedTuple):
    """What one branch has to say about the call that just ended."""

    branch: str
    outcome: str
    message: str
    keys: tuple[str, ...] = ()
    """Calls that the ladder applies to."""
    times: int = 0


def check(
    session: Session, call: Call, facts: Mapping[str, FileFact], *, enforced: bool = True
) -> tuple[Decision, list[Write]] | None:
    """The ladder before a call: advise the first identical call after a switch, deny the next.

    ``facts`` are the files as they are now: content that is new to this session makes the call worth making.
    ``enforced`` False words the advice for a mode that never denies.
    """
    record = session.fresh_call(call.key)
    if record is None or record.stage == 0 or changed_since(session, call, record, facts):
        return None
    if record.stage == 1:
        warning = "Once more is let through; the next identical one will not run. " if enforced else ""
        message = brief(
            f"{RULE}: this call gave the same result before ({record.run} in a row). {warning}"
            "Change the parameters or the approach."
        )
        return Decision(Action.ADVISE, RULE, message), [Write("calls", call.key, record._replace(stage=2))]
    what = "fails the same way" if record.failed else "brings the same result"
    message = brief(
        f"{RULE}: this exact call {what} every time and nothing relevant has changed. "
        "Try something else: other parameters, another tool, or ask the user."
    )
    evidence = {"run": record.run, "failures": record.fails}
    relent = [Write("calls", call.key, record._replace(stage=1))] if _only_looks(call) else []
    return Decision(Action.DENY, RULE, message, evidence=evidence), relent


def _only_looks(call: Call) -> bool:
    """A call that only looks is denied every other time: should its bytes be gone, asking again brings them."""
    looking = (OpKind.READ, OpKind.SEARCH, OpKind.FETCH)
    return bool(call.ops) and all(
        op.kind in looking or (op.command is not None and is_read_only(op.command)) for op in call.ops
    )


def about_to_act(session: Session, call: Call, policy: Policy) -> bool:
    """True when one more identical outcome of ``call`` would be answered: then it is worth looking for changes."""
    record = session.fresh_call(call.key)
    return record is not None and (
        max(record.run, record.fails) >= policy.repeat_switch - 1 or record.repeats >= policy.same_read_limit - 1
    )


def decide(
    session: Session, call: Call, result: Result, facts: Mapping[str, FileFact], policy: Policy, *, ran: bool = True
) -> "Judged":
    """Judge the call that just ended.

    ``session.scalars.seq`` is already this call's number; ``facts`` are the files after it; ``ran`` is False for a call
    that the guard denied, which counts as a repeat but changes nothing.
    """
    scalars = session.scalars
    previous = session.fresh_call(call.key)
    if previous is not None and changed_since(session, call, previous, facts if ran else {}, wrote=not result.failed):
        previous = None
        scalars = scalars._replace(window=())
    if result.infrastructure:
        text = f"{RULE}.g: {call.tool} met an infrastructure error. Wait before you try again; it counts for nothing."
        return Judged(scalars._replace(last_key=call.key), (), Finding("g", CONTINUE, text))
    record = _record(scalars, call, result, previous)
    moved, files = changes(session, scalars, call, result, facts) if ran else ({}, ())
    if not call.poll:
        pair = (call.key, result.outcome)
        moved["window"] = (*scalars.window, pair)[-max(_CYCLE_PERIODS) * policy.cycle_repeats :]
    new_error = result.fingerprint is not None and result.fingerprint not in session.errors
    idle = 0 if new_error or files or _is_progress(session, call, result) else scalars.idle + 1
    scalars = scalars._replace(last_key=call.key, idle=idle, **moved)
    failures, variants = _variant(session, scalars, call, result)
    finding = _strongest(call, result, previous, record, scalars, files, failures, policy)
    if finding is not None and finding.branch == "e":
        files = tuple((path, _settled(f)) for path, f in files)
    remembered = (Write("files", path, f) for path, f in files)
    if not ran and (earlier := session.calls.get(call.key)) is not None:
        record = record._replace(skipped=earlier.skipped)
    news = [Write("errors", result.fingerprint, scalars.seq)] if new_error and result.fingerprint else []
    ladder = _with_ladder(session, call, record, finding)
    return Judged(scalars, (*news, *remembered, *variants, *ladder), finding)


def _strongest(
    call: Call,
    result: Result,
    previous: CallRecord | None,
    record: CallRecord,
    scalars: Scalars,
    files: Files,
    failures: int,
    policy: Policy,
) -> Finding | None:
    findings = (
        _polls(call, record, policy),
        _repeats(call, record, policy),
        _returns(call, files),
        _cycles(scalars, policy),
        _already_applied(call, previous, result),
        _varied(call, failures, policy),
        _often(call, record, policy),
        _no_progress(scalars, policy),
    )
    return max((f for f in findings if f is not None), key=lambda f: _RANK[f.outcome], default=None)


def _settled(record: FileRecord) -> FileRecord:
    """The record after its going back and forth was reported: a new run starts."""
    return record._replace(hashes=record.hashes[-1:], returns=0) if record.returns >= _RETURNS_TO_SWITCH else record


_RANK = {CONTINUE: 0, SWITCH: 1, HALT: 2}


class Judged(NamedTuple):
    """Scalars after the call, writes beside them, and the strongest finding."""

    scalars: Scalars
    writes: tuple[Write, ...]
    finding: Finding | None


def _record(scalars: Scalars, call: Call, result: Result, previous: CallRecord | None) -> CallRecord:
    seq = scalars.seq
    if previous is None:
        return CallRecord(
            seq, result.outcome, result.failed, result.fingerprint, fails=int(result.failed), polls=int(call.poll)
        )
    same = previous.run > 0 and previous.outcome == result.outcome and previous.failed == result.failed
    in_a_row = same and scalars.last_key == call.key
    recovered = previous.failed and not result.failed
    fails = 0
    if result.failed:
        fails = previous.fails + 1 if previous.failed and previous.fingerprint == result.fingerprint else 1
    return CallRecord(
        seq,
        result.outcome,
        result.failed,
        result.fingerprint,
        run=previous.run + 1 if in_a_row else 1,
        fails=fails,
        repeats=1 if recovered or previous.seq < scalars.edit_seq else previous.repeats + 1,
        polls=previous.polls + 1 if same else int(call.poll),
        stage=previous.stage if same or (result.failed and fails > 1) else 0,
    )


def _target(call: Call) -> str:
    names = [op.path or op.url or (head(op.command) if op.command else "") for op in call.ops]
    return "|".join(sorted(filter(None, names)))


def _variant(session: Session, scalars: Scalars, call: Call, result: Result) -> tuple[int, list[Write]]:
    """Failures of this tool on this target with this fingerprint so far, and the writes to remember it."""
    key = f"{call.tool}|{_target(call)}"
    earlier = session.variants.get(key)
    if not result.failed:
        return 0, [Write("variants", key, None)] if earlier is not None else []
    if result.fingerprint is None or call.poll:
        return 0, []
    failures: dict[str, int] = {}
    if (
        earlier is not None
        and earlier.seq >= scalars.fresh_seq
        and not written_since(session, call, CallRecord(earlier.seq, "", failed=True))
    ):
        failures = dict(earlier.failures)
    count = failures.pop(result.fingerprint, 0) + 1
    failures[result.fingerprint] = count
    return count, [Write("variants", key, VariantRecord(scalars.seq, tuple(failures.items())[-_VARIANTS_KEPT:]))]


def _is_progress(session: Session, call: Call, result: Result) -> bool:
    """A new file, an edit that worked, or a check of the work (branch i)."""
    for op in call.ops:
        if op.path is not None and op.path not in session.files:
            return True
        if op.kind is OpKind.EDIT and not result.failed:
            return True
        if op.command is not None and is_verify(op.command):
            return True
    return False


def _polls(call: Call, record: CallRecord, policy: Policy) -> Finding | None:
    if not call.poll or record.polls < policy.poll_bound:
        return None
    text = f"{RULE}.h: polled {record.polls} times without a change. Wait longer between polls, or do something else."
    return Finding("h", SWITCH, text, times=record.polls)


def _repeats(call: Call, record: CallRecord, policy: Policy) -> Finding | None:
    if call.poll:
        return None
    checked = not record.failed and any(op.command is not None and is_verify(op.command) for op in call.ops)
    branch, count = ("b", record.fails) if record.fails >= record.run else ("a", record.run)
    if count < policy.repeat_switch:
        return None
    what = "failed the same way" if branch == "b" else "gave the same result"
    if count >= policy.repeat_halt and not checked:
        text = f"{RULE}.{branch}: {call.tool} {what} {count} times over and nothing relevant changed."
        return Finding(branch, HALT, text, (call.key,), count)
    text = (
        f"{RULE}.{branch}: {call.tool} {what} {count} times with nothing relevant changed between. "
        "Change the parameters, the tool or the plan."
    )
    return Finding(branch, SWITCH, text, (call.key,), count)


def _returns(call: Call, files: Files) -> Finding | None:
    for path, record in files:
        if record.returns >= _RETURNS_TO_SWITCH:
            text = f"{RULE}.e: {path} goes back and forth between the same contents. Decide which is right and keep it."
            return Finding("e", SWITCH, text, (call.key,), record.returns)
    return None


def _cycles(scalars: Scalars, policy: Policy) -> Finding | None:
    for period in _CYCLE_PERIODS:
        needed = period * policy.cycle_repeats
        window = scalars.window[-needed:]
        if len(window) < needed or window[-1] != window[-1 - period] or len(set(window[:period])) == 1:
            continue
        if all(pair == window[i % period] for i, pair in enumerate(window)):
            text = (
                f"{RULE}.c: the same {period} calls with the same results, {policy.cycle_repeats} times over. "
                "Nothing new comes of them; change the approach."
            )
            return Finding("c", SWITCH, text, tuple(key for key, _ in window[:period]), policy.cycle_repeats)
    return None


def _varied(call: Call, failures: int, policy: Policy) -> Finding | None:
    if failures < policy.repeat_switch:
        return None
    target = _target(call)
    text = (
        f"{RULE}.b.varied: {call.tool}{f' on {target}' if target else ''} failed {failures} times with the same "
        "error under different parameters. Read the current content or change the approach."
    )
    return Finding("b.varied", SWITCH, text, times=failures)


def _already_applied(call: Call, previous: CallRecord | None, result: Result) -> Finding | None:
    if previous is None or previous.failed or not (result.failed and result.not_found):
        return None
    if all(op.kind is not OpKind.EDIT for op in call.ops):
        return None
    return Finding("f", CONTINUE, f"{RULE}.f: this edit was already applied: the same call succeeded before. Go on.")


def _often(call: Call, record: CallRecord, policy: Policy) -> Finding | None:
    repeatable = {op.kind for op in call.ops} & {OpKind.READ, OpKind.SEARCH, OpKind.EXEC}
    if call.poll or not repeatable or record.repeats < policy.same_read_limit:
        return None
    text = f"{RULE}.d: the same {call.tool} call {record.repeats} times since the last edit. "
    text += "Use what it said, or change something first."
    return Finding("d", SWITCH, text, times=record.repeats)


def _no_progress(scalars: Scalars, policy: Policy) -> Finding | None:
    if scalars.idle == 0 or scalars.idle % policy.no_progress_calls:
        return None
    text = (
        f"{RULE}.i: {scalars.idle} calls without an edit, a new file, a new error or a check. "
        "Say what is missing, or act on what is known."
    )
    return Finding("i", CONTINUE, text, times=scalars.idle)


def _with_ladder(session: Session, call: Call, record: CallRecord, finding: Finding | None) -> Iterator[Write]:
    keys = finding.keys if finding is not None and finding.branch in _LADDER else ()
    yield Write("calls", call.key, record._replace(stage=max(record.stage, 1)) if call.key in keys else record)
    for key in keys:
        other = session.calls.get(key)
        if key != call.key and other is not None and other.stage == 0:
            yield Write("calls", key, other._replace(stage=1))
