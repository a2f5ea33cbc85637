"""How a hook's console script starts and ends.

Only modules that are loaded already when Python starts are imported at the top: what comes later must not be found in
the workspace. Limit: a PYTHONPATH that holds a package named like ours has won before the first line here runs.

spec: architecture.md invariant 9, hooks.md §1
"""

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

INTERNAL_ERROR = 3
INTERRUPTED = 130
COULD_NOT = 2


def run_hook(name: str, main: "Callable[[], int]") -> int:
    """Run a hook's main function; an error of ours is one line and a log file, never a traceback."""
    try:
        isolate()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        code = main()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output went away; what is still buffered must not raise at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return COULD_NOT
    except Exception as error:  # the edge: whatever it is, the user gets one line
        line = f"{name}: internal error, {type(error).__name__}: {error}".replace("\n", " ")
        print(f"{line}; the details are in {_write_log(name)}", file=sys.stderr)
        return INTERNAL_ERROR


def isolate() -> None:
    """Take the current folder, where Python put it first, and the PYTHONPATH entries off `sys.path`.

    Windows would also look for git.exe in the current folder first.
    """
    os.environ["NODEFAULTCURRENTDIRECTORYINEXEPATH"] = "1"
    here = _real(os.curdir)
    named = {_real(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry}
    if sys.path and _real(sys.path[0]) == here:
        del sys.path[0]
    sys.path[:] = [entry for entry in sys.path if entry and _real(entry) not in named]


def _real(path: str) -> str:
    """The path without symlinks; as it is where the current folder is gone, in which nothing can be found then."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def state_folder(environ: "Mapping[str, str]", platform: str) -> "Path":
    """The folder for our logs: below LOCALAPPDATA on Windows, XDG_STATE_HOME elsewhere, or in ~/.local/state."""
    from pathlib import Path

    base = environ.get("LOCALAPPDATA" if platform == "win32" else "XDG_STATE_HOME")
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is none
    return (Path(base) if base else Path(home, ".local", "state")) / "rulecore"


def _write_log(name: str) -> str:
    """Append the current exception to the log; where that fails, to one in the folder for temporary files."""
    from datetime import UTC, datetime
    from pathlib import Path
    from tempfile import gettempdir
    from traceback import format_exc

    text = f"{datetime.now(UTC).isoformat()} {name} {sys.argv}\n{format_exc()}\n"
    for folder in (state_folder(os.environ, sys.platform), Path(gettempdir(), "rulecore")):
        path = folder / "hooks.log"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(text)
        except OSError:
            continue
        return str(path)
    return "no file, since no folder could be written"
