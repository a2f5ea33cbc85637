"""Values that cross the guard's door: operations, calls, results, file facts, decisions.

Lines are 1-based and inclusive; an end of ``None`` means "to the last line". Paths are the caller's normalised keys and
are only compared, never opened. Source: spec agents.md section 1.
"""

from enum import StrEnum
from typing import NamedTuple

from rulecore_kernel.values import JsonObject

MESSAGE_LIMIT = 300
"""Longest message, in characters, that is put into an agent's context."""


class OpKind(StrEnum):
    """What one operation of a call does."""

    READ = "read"
    EDIT = "edit"
    EXEC = "exec"
    SEARCH = "search"
    FETCH = "fetch"
    OTHER = "other"


class Action(StrEnum):
    """What the agent is to be told, weakest first."""

    ALLOW = "allow"
    ADVISE = "advise"
    SUBSTITUTE = "substitute"
    DENY = "deny"
    STOP = "stop"


class Range(NamedTuple):
    """Lines ``start``..``end``; ``end`` None reaches the last line."""

    start: int
    end: int | None


class Op(NamedTuple):
    """One operation of a call. ``hash`` is the content of ``path`` after the operation, where the caller knows it."""

    kind: OpKind
    path: str | None = None
    start: int | None = None
    end: int | None = None
    command: str | None = None
    query: str | None = None
    url: str | None = None
    hash: str | None = None
    edit_kind: str | None = None
    delivered: tuple[Range, ...] | None = None

    def range(self) -> Range:
        """The lines a read asks for."""
        return Range(self.start or 1, self.end)


class Call(NamedTuple):
    """A call that an agent is about to make or has made.

    ``key`` identifies tool and parameters (see :func:`~.outcome.call_key`); ``group`` is equal for calls that the agent
    made in one message, so that none of them knew the others' results.
    """

    tool: str
    key: str
    ops: tuple[Op, ...]
    call_id: str | None = None
    group: str | None = None
    poll: bool = False
    passive: bool = False
    """Asks the user, finishes, or otherwise touches nothing; always passes a halt."""
    touches_guard_keys: bool = False
    """The edit would change ``guard.*``, ``halt.*``, ``compile.*`` or ``rollback.*`` in project.md."""


class Result(NamedTuple):
    """What came back. ``outcome`` identifies the normalised result, ``fingerprint`` the normalised failure text."""

    outcome: str
    empty: bool = False
    truncated: bool = False
    failed: bool = False
    fingerprint: str | None = None
    not_found: bool = False
    infrastructure: bool = False
    error_class: str | None = None
    """The failure in OnError's own words (``timeout``, ``execution_failure``, …), for the literal profile."""


class FileFact(NamedTuple):
    """A file as it is now, for one path that a call names.

    ``hash`` is None when the file is absent, "unstable" content equals nothing. ``changed`` holds the line ranges (of
    the present content) that differ from what this session saw last, None when that is not known; ``who`` made the
    change.
    """

    hash: str | None
    lines: str | None = None
    changed: tuple[Range, ...] | None = None
    who: str | None = None
    unsaved: bool = False
    """What counts is text in an editor that is not on the disk; reading again cannot bring it."""


class Decision(NamedTuple):
    """The guard's answer. ``outcome`` is OnError's own word and only set by a post."""

    action: Action = Action.ALLOW
    rule: str = ""
    message: str = ""
    outcome: str | None = None
    evidence: JsonObject = {}  # noqa: RUF012 - a NamedTuple default, never changed

    @property
    def strength(self) -> int:
        """Rank on the ladder allow < advise < substitute < deny < stop."""
        return _STRENGTH[self.action]


_STRENGTH = {action: rank for rank, action in enumerate(Action)}


def brief(text: str) -> str:
    """Cut ``text`` to :data:`MESSAGE_LIMIT` characters."""
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1].rstrip() + "…"
