"""Steps of a scripted model that works with Cline's tools, and the file that most scripts are about."""

from collections.abc import Callable
from pathlib import Path

from e2e.cline.mock_openai import Turn, call

TEXT = "alpha = 1\nbeta = 2\n"
SHOWN = "1 | alpha = 1\\n2 | beta = 2"
"""TEXT as a model sees it: numbered, inside JSON."""

BLANKED = "[outdated - see the latest file content]"
"""What Cline puts in place of an earlier copy of a file."""


def read(path: Path, start: int | None = None, end: int | None = None) -> Turn:
    """Read a file, or some of its lines."""
    wanted = {"path": str(path), "start_line": start, "end_line": end}
    return call("read_files", {"files": [{name: value for name, value in wanted.items() if value is not None}]})


def edit(path: Path, old: str, new: str) -> Turn:
    """Replace ``old`` in a file."""
    return call("editor", {"path": str(path), "old_text": old, "new_text": new})


def command(text: str) -> Turn:
    """Run a shell command."""
    return call("run_commands", {"commands": [text]})


def after(turn: Turn, act: Callable[[], object]) -> Turn:
    """``turn``, with ``act()`` done just before Cline gets it."""
    return Turn(turn.calls, turn.text, act)
