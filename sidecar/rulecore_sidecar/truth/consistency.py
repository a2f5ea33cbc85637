"""ExternalConsistency by looking: are the files what the kernel's fileCache says they were?

The content hash is the authority. Timestamps are its record, and no clock is believed.
Source: spec kernel.md (SyncGuard, ExternalConsistency), sidecar.md §2.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from rulecore_sidecar.truth.filetruth import FileTruth
from rulecore_sidecar.truth.values import Kind, View


class Newer(StrEnum):
    """Who has something newer than the record."""

    DISK = "disk"
    EDITOR = "editor"
    """Text that is not saved."""
    BOTH = "both"
    """Text that is not saved, over a file that has changed as well."""


class Drift(NamedTuple):
    """A file that is not what was recorded."""

    path: str
    """As the fileCache has it."""
    kind: Kind
    hash: str | None
    """Of the present content, where there is one."""
    newer: Newer
    who: str | None
    """The last known writer of the present content."""


class ExternalConsistency(NamedTuple):
    """The answer for a whole fileCache, at one generation."""

    drifted: tuple[Drift, ...]
    unverified: tuple[str, ...]
    """Paths that cannot be looked at: outside the root, unreadable, or too large to hash."""
    generation: int

    @property
    def consistent(self) -> bool:
        """No file is known to differ."""
        return not self.drifted


def external_consistency(truth: FileTruth, file_cache: Mapping[str, Mapping[str, object]]) -> ExternalConsistency:
    """Compare each record ``{hash, …}`` (hash null: there was no file) with the file as it is now."""
    drifted: list[Drift] = []
    unverified: list[str] = []
    for path, record in file_cache.items():
        recorded = record.get("hash")
        current = truth.effective(path, need_hash=True)
        if current.kind in (Kind.OUTSIDE, Kind.UNREADABLE) or (current.kind is Kind.FILE and current.hash is None):
            unverified.append(path)
            continue
        newer = _newer(truth, current, recorded)
        if newer is not None:
            drifted.append(Drift(path, current.kind, current.hash, newer, truth.writer_of(current.key)))
    return ExternalConsistency(tuple(drifted), tuple(unverified), truth.generation)


def _newer(truth: FileTruth, current: View, recorded: object) -> Newer | None:
    as_recorded = current.kind is Kind.ABSENT if recorded is None else current.hash == recorded
    buffer = truth.overlays.get(current.key) if current.open else None
    if buffer is None:
        return None if as_recorded else Newer.DISK
    disk_moved = truth.disk(current.key, need_hash=True).hash not in (recorded, buffer.on_disk)
    if as_recorded:
        return Newer.DISK if disk_moved else None
    return Newer.BOTH if disk_moved else Newer.EDITOR
