"""The editor's process: when it dies, so does the language server, however it died.

The end of the input says so first; the watch is for an editor whose pipe another process still holds.
Limit: on Windows only the end of the input is seen. Source: spec sidecar.md section 3.
"""

import asyncio
import os
from typing import Final

INTERVAL: Final = 2.0
"""Seconds between two looks."""


async def parent_death(pid: int, interval: float = INTERVAL) -> None:
    """Return when process ``pid`` has ended. Ask :func:`is_alive` first.

    A process that cannot be seen to begin with is no reason to end: the number of an editor outside our container
    means nothing here.
    """
    while is_alive(pid):
        await asyncio.sleep(interval)


if os.name == "posix":

    def is_alive(pid: int) -> bool:
        """Whether there is a process with this number."""
        if pid <= 0:
            return False
        try:
            os.kill(pid, 0)
        except PermissionError:
            return True
        except (ProcessLookupError, OverflowError):
            return False
        return True

else:

    def is_alive(pid: int) -> bool:  # noqa: ARG001 - asking with signal 0, as above, would end the process here
        """Not known on this system."""
        return False
