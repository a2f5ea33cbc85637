"""StateValidity of a live workspace: the three laws, computed from what is really there.

Internal: no call is pending without the process that let it through. External: no file that an agent was told about has
another content now (SyncGuard's physical check). Historical: no completed phase lacks its reasoning; nothing completes
phases yet, so it holds. The decision itself is the kernel's rule.

Source: spec kernel.md section 4, sidecar.md section 2.
"""

from typing import cast

from rulecore_kernel.rules.evaluate import evaluate
from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.guard import Guard
from rulecore_sidecar.store import Store
from rulecore_sidecar.workspace import Workspace


def validity(guard: Guard, workspace: Workspace, store: Store) -> Json:
    """``rulecore/state/validity``: the kernel's answer, with the operations and files that break a law."""
    operations = guard.operation_log()
    dangling: list[Json] = [op_id for op_id, operation in operations.items() if operation["owner"] is None]
    cached = list(store.file_cache())
    found = workspace.consistency(cached)
    drift: list[Json] = [{"path": d.path, "newer": d.newer.value, "who": d.who} for d in found.drifted]
    answer = evaluate(
        {
            "rule": "StateValidity",
            "args": {
                "internal": not dangling,
                "external": not drift,
                "historical": True,
                "skip_external": not cached,
                "skip_historical": False,
                "sync_available": True,
            },
        }
    )
    return {**cast(JsonObject, answer), "dangling": dangling, "drift": drift}
