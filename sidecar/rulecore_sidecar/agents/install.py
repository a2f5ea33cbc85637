"""Hooking agents up and taking the hooks out again: plan first, then write; with ``dry_run`` only the plan.

Guarantees: a file that is not ours is never overwritten or removed: it is chained where the carrier can do that, else
left and reported; a generated file that somebody changed is left and reported; what was there before comes back byte
for byte, with its mode; doing it twice changes nothing more. The manifest is written before the files, so that a crash
leaves nothing that ``uninstall`` does not know; when it is lost, generated files are known by their mark.
Source: spec agents.md section 3.
"""

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from rulecore_sidecar.agents import cline_carriers, exclude, manifest
from rulecore_sidecar.agents.carrier import KEPT, Carrier, is_generated
from rulecore_sidecar.agents.files import RefusedError, place, read, sha256, write
from rulecore_sidecar.agents.manifest import Installed

CARRIERS: Final[Mapping[str, Callable[[Path], tuple[Carrier, ...]]]] = {"cline": cline_carriers.carriers}
"""What is generated for each agent."""

CREATED, UPDATED, CHAINED, UNCHANGED = "created", "updated", "chained", "unchanged"
REMOVED, RESTORED, MISSING, LEFT, REFUSED = "removed", "restored", "missing", "left", "refused"
_PROBLEMS = frozenset({LEFT, REFUSED})


class Change(NamedTuple):
    """What happens, or would happen, to one file. ``why`` explains what was left alone."""

    name: str
    kind: str
    why: str = ""


class Report(NamedTuple):
    """The outcome for one agent; ``diff`` is unified and empty when nothing changes."""

    agent: str
    changes: tuple[Change, ...]
    diff: str = ""

    @property
    def ok(self) -> bool:
        """Nothing was left alone that should have been changed."""
        return not any(change.kind in _PROBLEMS for change in self.changes)


def install(root: Path, agents: Iterable[str], dry_run: bool = False) -> list[Report]:
    """Generate the carriers of ``agents`` in the workspace ``root`` (absolute).

    Raises :class:`RefusedError` when the manifest cannot be believed, ``EndpointError`` when there can be no endpoint.
    """
    return [_install(root, agent, dry_run) for agent in agents]


def uninstall(root: Path, agents: Iterable[str], dry_run: bool = False) -> list[Report]:
    """Take the carriers of ``agents`` out of ``root`` again. Raises :class:`RefusedError` like :func:`install`."""
    return [_uninstall(root, agent, dry_run) for agent in agents]


def status(root: Path, agents: Iterable[str]) -> list[Report]:
    """What :func:`install` would find: ``unchanged`` is up to date, ``created`` not installed, ``updated`` outdated."""
    return [Report(agent, _install(root, agent, dry_run=True).changes) for agent in agents]


def _installed(root: Path) -> dict[str, Installed]:
    """What is installed in ``root``: by the manifest, or by mark for an agent that it does not list."""
    known = manifest.load(root)
    missing = {agent: _found(root, CARRIERS[agent](root)) for agent in CARRIERS if agent not in known}
    return known | {agent: part for agent, part in missing.items() if part.files}


def _found(root: Path, carriers: Iterable[Carrier]) -> Installed:
    """The generated files that lie in ``root``, the originals beside them, and the folders that they are in."""
    files = {c.name: sha256(data) for c in carriers if (data := _read(root, c.name)) and is_generated(data)}
    kept = tuple(name + KEPT for name in files if _read(root, name + KEPT) is not None)
    return Installed(files, kept, tuple(sorted({name for file in files for name in _parents(file)})))


def _read(root: Path, name: str) -> bytes | None:
    """Like :func:`read`, None also for what is not to be touched."""
    try:
        return read(place(root, name))
    except RefusedError:
        return None


def _parents(name: str) -> list[str]:
    return [parent.as_posix() for parent in PurePosixPath(name).parents if parent.name]


# ---- install


def _install(root: Path, agent: str, dry_run: bool) -> Report:
    known = _installed(root)
    before = known.get(agent, Installed({}))
    wanted = CARRIERS[agent](root)
    changes = tuple(_judge(root, carrier, before) for carrier in wanted)
    ours = [c for c, change in zip(wanted, changes, strict=True) if change.kind not in _PROBLEMS]
    chained = [change.name + KEPT for change in changes if change.kind == CHAINED]
    after = Installed(
        {**before.files, **{carrier.name: sha256(carrier.data) for carrier in ours}},
        (*before.kept, *chained),
        tuple(dict.fromkeys((*before.folders, *_folders_to_make(root, ours)))),
    )
    known = {**known, agent: after} if after.files else known
    texts = _Texts(root)
    if known and not (root / manifest.FOLDER).exists():
        texts.put(manifest.IGNORE_NAME, manifest.IGNORE_TEXT)
    if known:
        texts.put(manifest.NAME, manifest.dump(known))
    for name in chained:
        texts.move(name.removesuffix(KEPT), name)
    for carrier in ours:
        texts.put(carrier.name, carrier.text, carrier.mode)
    diff = texts.diff() + _exclude_diff(root, known)
    if diff and not dry_run:
        texts.apply()
        _write_exclude(root, known)
    return Report(agent, changes, diff)


def _judge(root: Path, carrier: Carrier, before: Installed) -> Change:
    try:
        path = place(root, carrier.name)
        present = read(path)
    except RefusedError as refused:
        return Change(carrier.name, REFUSED, str(refused))
    if present is None:
        return Change(carrier.name, CREATED)
    if present == carrier.data and path.stat().st_mode & 0o777 == carrier.mode:
        return Change(carrier.name, UNCHANGED)
    if present == carrier.data or sha256(present) == before.files.get(carrier.name):
        return Change(carrier.name, UPDATED)
    if is_generated(present):
        return Change(carrier.name, LEFT, "was changed since it was generated; remove it, then install again")
    if not carrier.chains:
        return Change(carrier.name, REFUSED, "a file of that name is not ours; move it away, then install again")
    if exclude.is_tracked(root, carrier.name):
        return Change(carrier.name, REFUSED, "a hook of yours that git tracks; a generated one would be committed")
    if place(root, carrier.name + KEPT).exists():
        return Change(carrier.name, REFUSED, f"{carrier.name}{KEPT} is in the way of keeping the hook that is there")
    return Change(carrier.name, CHAINED)


def _folders_to_make(root: Path, carriers: Iterable[Carrier]) -> list[str]:
    """Parents of ``carriers`` that do not exist, outermost first."""
    return sorted({name for carrier in carriers for name in _parents(carrier.name) if not (root / name).exists()})


# ---- uninstall


def _uninstall(root: Path, agent: str, dry_run: bool) -> Report:
    known = _installed(root)
    before = known.get(agent, Installed({}))
    changes = tuple(_judge_removal(root, name, digest, before) for name, digest in sorted(before.files.items()))
    left = {change.name for change in changes if change.kind == LEFT}
    kept = tuple(name for name in before.kept if name.removesuffix(KEPT) in left)
    after = Installed({name: before.files[name] for name in left}, kept, before.folders if left else ())
    known = {**known, agent: after} if left else {name: part for name, part in known.items() if name != agent}
    texts = _Texts(root)
    for change in changes:
        if change.kind == RESTORED:
            texts.move(change.name + KEPT, change.name)
        elif change.kind == REMOVED:
            texts.drop(change.name)
    texts.put(manifest.NAME, manifest.dump(known)) if known else texts.drop(manifest.NAME)
    diff = texts.diff() + _exclude_diff(root, known)
    if not dry_run:
        texts.apply()
        _write_exclude(root, known)
        _remove_folders(root, () if left else before.folders, manifest_gone=bool(changes) and not known)
    return Report(agent, changes, diff)


def _judge_removal(root: Path, name: str, digest: str, before: Installed) -> Change:
    try:
        present = read(place(root, name))
        keeps = name + KEPT in before.kept and read(place(root, name + KEPT)) is not None
    except RefusedError as refused:
        return Change(name, LEFT, str(refused))
    if present is not None and (sha256(present) != digest or not is_generated(present)):
        return Change(name, LEFT, "was changed since it was generated; remove it yourself")
    if keeps:
        return Change(name, RESTORED)
    return Change(name, MISSING if present is None else REMOVED)


def _remove_folders(root: Path, folders: Iterable[str], manifest_gone: bool) -> None:
    """Remove the folders that were made for us and are empty now, innermost first."""
    own = root / manifest.FOLDER
    if manifest_gone and own.is_dir() and [entry.name for entry in own.iterdir()] == [".gitignore"]:
        (root / manifest.IGNORE_NAME).unlink()
        own.rmdir()
    for name in sorted(folders, reverse=True):
        folder = place(root, name)
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()


# ---- what is written


class _Texts:
    """Files to put, move and drop, in that order of thinking: shown as a diff, or carried out."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._steps: list[Callable[[], object]] = []
        self._views: list[tuple[str, bytes | None, bytes | None]] = []

    def put(self, name: str, text: str, mode: int = 0o644) -> None:
        path = place(self._root, name)
        data, present = text.encode(), read(path)
        moved = any(view[0] == name and view[2] is None for view in self._views)
        if moved or present != data or path.stat().st_mode & 0o777 != mode:
            self._views.append((name, None if moved else present, data))
            self._steps.append(lambda: write(path, data, mode))

    def move(self, name: str, to: str) -> None:
        old, new = place(self._root, name), place(self._root, to)
        data = read(old)
        self._views += [(name, data, None), (to, read(new), data)]
        self._steps.append(lambda: old.replace(new))

    def drop(self, name: str) -> None:
        path = place(self._root, name)
        self._views.append((name, read(path), None))
        self._steps.append(lambda: path.unlink(missing_ok=True))

    def diff(self) -> str:
        return "".join(_diff(name, before, after) for name, before, after in self._views)

    def apply(self) -> None:
        for step in self._steps:
            step()


def _diff(name: str, before: bytes | None, after: bytes | None) -> str:
    old, new = (
        [] if data is None else data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after)
    )
    labels = ("/dev/null" if before is None else f"a/{name}", "/dev/null" if after is None else f"b/{name}")
    lines = difflib.unified_diff(old, new, *labels)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _exclude_texts(root: Path, known: Mapping[str, Installed]) -> tuple[Path, bytes | None, bytes | None] | None:
    """Git's exclude file, what is in it and what should be; None outside git."""
    path = exclude.exclude_file(root)
    if path is None:
        return None
    present = read(path)
    text = None if present is None else present.decode("utf-8", "surrogateescape")
    names = {name for part in known.values() for name in (*part.files, *part.kept)}
    names.update(*map(_names_in, exclude.other_worktrees(root)))
    wanted = exclude.with_block(text, root, sorted(names)) if names else exclude.without_block(text)
    return path, present, None if wanted is None else wanted.encode("utf-8", "surrogateescape")


def _names_in(worktree: Path) -> set[str]:
    """What another work tree has installed; nothing when its manifest cannot be believed."""
    try:
        return {name for part in _installed(worktree).values() for name in (*part.files, *part.kept)}
    except RefusedError:
        return set()


def _exclude_diff(root: Path, known: Mapping[str, Installed]) -> str:
    found = _exclude_texts(root, known)
    return "" if found is None else _diff(Path(os.path.relpath(found[0], root)).as_posix(), *found[1:])


def _write_exclude(root: Path, known: Mapping[str, Installed]) -> None:
    found = _exclude_texts(root, known)
    if found is None or found[1] == found[2]:
        return
    path, _, wanted = found
    if wanted is None:
        path.unlink()
    else:
        write(path, wanted, path.stat().st_mode & 0o777 if path.exists() else 0o644)
