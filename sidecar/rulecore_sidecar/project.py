"""The workspace's parameters as they are now: project.md, read again when it changes.

Limit: a change is seen at the next question after the file's signature (mtime, size, inode) changed.
Source: spec kernel.md section 2, agents.md section 2.9.
"""

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path

from rulecore_hooks.project_config import PLACES, read_project_config
from rulecore_kernel.rules.guards.events import Action
from rulecore_kernel.rules.guards.policy import Policy
from rulecore_kernel.rules.on_error import Limits
from rulecore_kernel.state.config import Settings, resolve
from rulecore_kernel.state.parameters import BY_KEY
from rulecore_kernel.values import Json

log = logging.getLogger("rulecore.project")

_PERSONS = ("guard", "halt", "compile", "rollback")
_PERSONS_NAMES = {*_PERSONS, *(key.rpartition(".")[2] for key in BY_KEY if key.partition(".")[0] in _PERSONS)}
PERSONS_KEYS = re.compile(rf"^\s*[\"']?({'|'.join(sorted(_PERSONS_NAMES, reverse=True))})[\"']?\s*[.:]", re.MULTILINE)
"""A line of project.md that sets a parameter which belongs to a person, dotted or nested."""

Signature = tuple[tuple[int, int, int] | None, ...]


class Project:
    """Settings of one workspace, resolved over runtime values, project.md, the environment and defaults."""

    def __init__(self, root: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._root = root
        self._files = [os.path.join(root, place) for place in PLACES]
        self._environment = environment
        self._signature: Signature = ()
        self._settings = resolve()
        self._policy = Policy()
        self.notices: list[str] = []

    def settings(self) -> Settings:
        """Every parameter with its source."""
        now = tuple(_signature(path) for path in self._files)
        if now != self._signature:
            self._signature = now
            self._read()
        return self._settings

    def policy(self) -> Policy:
        """The guards' parameters."""
        self.settings()
        return self._policy

    def _read(self) -> None:
        values, findings = read_project_config(self._root)
        self._settings = resolve(None, values, self._environment)
        self._policy = policy_of(self._settings)
        self.notices = [str(finding) for finding in findings]
        self.notices += [warning.message for warning in self._settings.warnings]
        for notice in self.notices:
            log.warning(notice)


def policy_of(settings: Settings) -> Policy:
    """The guards' parameters out of ``settings``."""
    mode = settings.text("guard.mode")

    def own(key: str) -> str:
        value: Json = settings.value(key)
        return value if isinstance(value, str) else mode

    return Policy(
        profile=settings.text("guard.profile"),
        mode=mode,
        redundant_read_mode=own("guard.redundant_read.mode"),
        loop_mode=own("guard.loop.mode"),
        stale_edit_mode=own("guard.stale_edit.mode"),
        repeat_switch=settings.integer("guard.repeat_switch"),
        repeat_halt=settings.integer("guard.repeat_halt"),
        cycle_repeats=settings.integer("guard.cycle_repeats"),
        same_read_limit=settings.integer("guard.same_read_limit"),
        poll_bound=settings.integer("guard.poll_bound"),
        no_progress_calls=settings.integer("guard.no_progress_calls"),
        unread_edit=Action(settings.text("guard.unread_edit")),
        halt_allow_reads=settings.flag("halt.allow_reads"),
        literal=Limits(**{name: settings.integer(f"onerror.{name}") for name in Limits._fields}),
    )


def _signature(path: str) -> tuple[int, int, int] | None:
    try:
        info = os.stat(path)  # noqa: PTH116 - asked before every decision
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino
