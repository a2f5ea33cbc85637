"""What the naming hook judges: the next commit or a push, against what has reached the shared history.

spec: aiwork.md §6
"""

from collections.abc import Mapping

from rulecore_kernel.aiwork.layout import place_of
from rulecore_kernel.aiwork.naming import Listing

from .gitdata import Push, Repository


def naming_listing(repository: Repository, default_branch: str | None, environ: Mapping[str, str]) -> Listing:
    """The paths to check and what they are compared with, for the git hook that `environ` tells of."""
    push = Push.of(environ)
    if push:
        return _pushed(repository, push, default_branch)
    now = repository.index_paths()
    memories = memories_of(now)
    heads = repository.heads(environ) if memories else ()
    if not heads:
        return Listing(now)
    tip = repository.default_tip(default_branch)
    base = repository.merge_base(tip, heads) if tip else heads[0]
    merged = heads if len(heads) > 1 else ()
    return Listing(
        now,
        base=_paths(repository, base, memories),
        merged=[path for head in merged for path in repository.commit_paths(head, memories)],
    )


def _pushed(repository: Repository, push: Push, default_branch: str | None) -> Listing:
    now = repository.commit_paths(push.commit)
    memories = memories_of(now)
    if not memories:
        return Listing(now)
    tip = repository.default_tip(default_branch, push.remote)
    base = repository.commit(f"refs/remotes/{push.remote}/{push.branch}")
    if base is None and tip:
        base = repository.merge_base(tip, (push.commit,))
    return Listing(now, base=_paths(repository, base, memories), taken=_paths(repository, tip, memories))


def memories_of(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The `.aiWork` folders, as they are spelled, that the paths are in."""
    return tuple(dict.fromkeys(place.prefix for place in map(place_of, paths) if place))


def _paths(repository: Repository, commit: str | None, memories: tuple[str, ...]) -> tuple[str, ...]:
    return repository.commit_paths(commit, memories) if commit else ()
