"""``.rulecore/agents.json``: which files were generated for which agent, so that they can be taken out again.

A ``.rulecore`` that git tracks, or that is no folder of its own, came with somebody's clone and is not believed.
Source: spec agents.md section 3, sidecar.md section 5.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rulecore_kernel.values import Json
from rulecore_sidecar.agents import exclude
from rulecore_sidecar.agents.files import RefusedError, read

FOLDER = ".rulecore"
NAME = f"{FOLDER}/agents.json"
IGNORE_NAME = f"{FOLDER}/.gitignore"
IGNORE_TEXT = "*\n"


class Installed(NamedTuple):
    """One agent's part: sha256 by file name, the foreign files kept beside ours, the folders made for them."""

    files: Mapping[str, str]
    kept: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def load(root: Path) -> dict[str, Installed]:
    """Every installed agent of ``root``. Raises :class:`RefusedError` when the manifest cannot be believed or read."""
    folder = root / FOLDER
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RefusedError(f"{folder} is not a folder of its own; move it away")
    data = read(root / NAME)
    if data is None:
        return {}
    if exclude.is_tracked(root, FOLDER):
        raise RefusedError(f"{folder} is tracked by git: it came with a clone and is not believed; git rm --cached it")
    try:
        agents = json.loads(data)["agents"]
        return {name: _installed(plain) for name, plain in agents.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RefusedError(f"{root / NAME} is not a manifest of ours; move it away") from None


def _installed(plain: Mapping[str, Json]) -> Installed:
    files, kept, folders = plain["files"], plain["kept"], plain["folders"]
    if not (isinstance(files, dict) and isinstance(kept, list) and isinstance(folders, list)):
        raise TypeError
    return Installed({str(k): str(v) for k, v in files.items()}, tuple(map(str, kept)), tuple(map(str, folders)))


def dump(agents: Mapping[str, Installed]) -> str:
    """The manifest's text."""
    plain = {
        name: {"files": dict(part.files), "kept": list(part.kept), "folders": list(part.folders)}
        for name, part in sorted(agents.items())
    }
    return json.dumps({"version": 1, "agents": plain}, indent=2, sort_keys=True) + "\n"
