"""File truth: what every file of a workspace is now, over the disk and the open editor buffers.

Source: spec sidecar.md §2.
"""

from rulecore_sidecar.truth.consistency import Drift, ExternalConsistency, Newer, external_consistency
from rulecore_sidecar.truth.filetruth import FileTruth, Scope, Sweep
from rulecore_sidecar.truth.lines import changed_ranges
from rulecore_sidecar.truth.listing import Listing, list_files
from rulecore_sidecar.truth.values import Kind, Snapshot, View

__all__ = [
    "Drift",
    "ExternalConsistency",
    "FileTruth",
    "Kind",
    "Listing",
    "Newer",
    "Scope",
    "Snapshot",
    "Sweep",
    "View",
    "changed_ranges",
    "external_consistency",
    "list_files",
]
