"""``rulecore serve`` and ``rulecore sockname``: the guard service alone, without pygls.

Source: spec sidecar.md section 1.
"""

import argparse
import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rulecore_sidecar.endpoint import EndpointError, workspace_of

IDLE_CHECK_SECONDS = 15.0
LOG_LIMIT = 1 << 20
"""Bytes of the log file before it is begun anew; one older file is kept."""


log = logging.getLogger("rulecore")


def _arguments(argv: Sequence[str], program: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"rulecore {program}")
    parser.add_argument("--root", type=Path, default=None)
    if program == "serve":
        parser.add_argument("--idle-exit", type=float, default=None, metavar="SECONDS")
    return parser.parse_args(argv)


def sockname_main(argv: Sequence[str]) -> int:
    """Print the endpoint of a workspace; starts a sidecar when none runs. Exit code 2 when none comes up."""
    from rulecore_sidecar.client import ensure_served

    try:
        print(ensure_served(workspace_of(_arguments(argv, "sockname").root)))
    except EndpointError as error:
        print(f"rulecore sockname: {error}", file=sys.stderr)
        return 2
    return 0


def serve_main(argv: Sequence[str]) -> int:
    """Serve a workspace until a signal comes, it disappears, or nobody was there for ``--idle-exit`` seconds.

    Exit codes: 0 ended, or already served by another process; 2 cannot serve.
    """
    options = _arguments(argv, "serve")
    try:
        root = workspace_of(options.root)
    except EndpointError as error:
        print(f"rulecore serve: {error}", file=sys.stderr)
        return 2
    return asyncio.run(_serve(root, options.idle_exit))


async def _serve(root: Path, idle_exit: float | None) -> int:
    from rulecore_sidecar.sidecar import AlreadyOwned, Sidecar

    sidecar = Sidecar(root)
    try:
        await sidecar.start()
    except AlreadyOwned as already:
        print(f"rulecore serve: {already}; nothing to do", file=sys.stderr)
        return 0
    except (EndpointError, OSError) as error:
        print(f"rulecore serve: {error}", file=sys.stderr)
        return 2
    if sys.stderr.isatty():
        print(f"rulecore serves {root}; Ctrl-C ends it", file=sys.stderr)
    log_to(root)
    for notice in sidecar.notices:
        log.warning(notice)
    gc.freeze()  # what start-up made stays; collections need not walk it on an agent's time
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name) and sys.platform != "win32":
            loop.add_signal_handler(getattr(signal, name), ended.set)
    try:
        while not ended.is_set():
            try:
                await asyncio.wait_for(ended.wait(), IDLE_CHECK_SECONDS)
            except TimeoutError:
                idle = not sidecar.busy and idle_exit is not None and time.time() - sidecar.last_used > idle_exit
                if idle or not root.is_dir():
                    ended.set()
    finally:
        await sidecar.stop()
    return 0


def log_to(root: Path) -> None:
    """Send the log to ``.rulecore/sidecar.log`` when that folder exists, else to standard error."""
    folder = root / ".rulecore"
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if folder.is_dir() and not folder.is_symlink():
        path = folder / "sidecar.log"
        try:
            if path.exists() and path.stat().st_size > LOG_LIMIT:
                path.replace(path.with_suffix(".log.1"))
            handler = logging.FileHandler(path, encoding="utf-8")
        except OSError:
            pass
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger("rulecore").addHandler(handler)
    logging.getLogger("rulecore").setLevel(logging.INFO)


def stop_main(root: Path | None) -> int:
    """End the sidecar of a workspace. Exit codes: 0 ended or none ran, 2 it cannot be asked."""
    from rulecore_sidecar.client import Refused, call, is_served

    try:
        workspace = workspace_of(root)
        if not is_served(workspace):
            print(f"No sidecar serves {workspace}.")
            return 0
        pong = call(workspace, "rulecore/ping", {})
    except (EndpointError, Refused) as error:
        print(f"rulecore stop: {error}", file=sys.stderr)
        return 2
    pid = pong.get("pid") if isinstance(pong, dict) else None
    if not isinstance(pid, int):
        print("rulecore stop: the sidecar does not say its process id", file=sys.stderr)
        return 2
    os.kill(pid, signal.SIGTERM)
    print(f"Ended the sidecar of {workspace}.")
    return 0
