"""What ``rulecore agent install cline`` generates: a plugin (CLI, SDK) and file hooks (VS Code, CLI without plugin).

Source: spec agents.md section 3.
"""

import json
import os
import shlex
import sys
from importlib.resources import files
from pathlib import Path

from rulecore_sidecar.agents.carrier import Carrier
from rulecore_sidecar.agents.files import RefusedError
from rulecore_sidecar.endpoint import lock_path, socket_path

PLUGIN = ".cline/plugins/rulecore.js"
HOOKS = ".clinerules/hooks"
_RELAY = Path(__file__).parents[1] / "relay.py"
_MERGE = Path(__file__).with_name("hook_merge.py")
EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit")
TRIED_VERSIONS = ("3.0.65",)
"""Versions of ``cline`` that the end-to-end tests have run against."""


def sockname_command(root: Path) -> list[str]:
    """The command that prints the endpoint of ``root`` and starts its sidecar if need be."""
    return [sys.executable, "-I", "-m", "rulecore_sidecar", "sockname", "--root", str(root)]


def carriers(root: Path, windows: bool = sys.platform == "win32") -> tuple[Carrier, ...]:
    """The files for the workspace ``root`` (absolute).

    Raises :class:`RefusedError` when its path is not UTF-8, ``EndpointError`` when it can have no endpoint.
    """
    if not _is_utf8(str(root)):
        raise RefusedError(f"{os.fsencode(root)!r} is not UTF-8, and neither JSON nor agents can name it; rename it")
    config = json.dumps({"root": str(root), "command": sockname_command(root)})
    plugin = Carrier(PLUGIN, _template("cline_plugin.js").replace('"@@CONFIG@@"', config), 0o644)
    hook = _powershell_hook if windows else _sh_hook
    return (plugin, *(hook(root, event) for event in EVENTS))


def _sh_hook(root: Path, event: str) -> Carrier:
    name = f"{HOOKS}/{event}"
    start = sockname_command(root)
    ask = [sys.executable, "-I", "-S", "-E", str(_RELAY), str(lock_path(root)), "cline", *start]
    text = _filled(
        _template("cline_hook.sh"),
        EVENT=event,
        RELAY=shlex.join(ask),
        MERGE=shlex.join([sys.executable, "-I", "-S", str(_MERGE)]),
    )
    return Carrier(name, text, 0o755, chains=True)


def _powershell_hook(root: Path, event: str) -> Carrier:
    text = _filled(
        _template("cline_hook.ps1"),
        PLUGIN=_powershell_quote(str(root / PLUGIN)),
        ENDPOINT=_powershell_quote(str(socket_path(root))),
    )
    return Carrier(f"{HOOKS}/{event}.ps1", text, 0o644)


def _powershell_quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _template(name: str) -> str:
    return (files("rulecore_sidecar.agents") / "carriers" / name).read_text(encoding="utf-8")


def _filled(template: str, **values: str) -> str:
    for name, value in values.items():
        template = template.replace(f"@@{name}@@", value)
    return template
