"""The language server's process: streams, signals, services and their end.

Guarantee: the process ends when the editor says so, when its input ends, when it dies, and on SIGTERM and SIGINT;
nothing that still runs then holds it up for longer than the services' own limits.
Source: spec sidecar.md sections 1 and 3.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from .features import FEATURES
from .pump import pump
from .server import EditorServer
from .services import MakeServices
from .stdio import open_streams, take_stdio

log = logging.getLogger("rulecore.lsp")

FLUSH_LIMIT: Final = 1.0
"""Seconds for the last messages to be read."""
INTERNAL_ERROR: Final = 3
"""Exit code after a defect of ours."""
_SIGNALS: Final = tuple(name for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


def run(make_services: MakeServices, docs: str | None = None) -> NoReturn:
    """Serve the editor on stdin and stdout and end the process, without waiting for threads. Never returns."""
    try:
        loop = asyncio.new_event_loop()
        code = loop.run_until_complete(serve_stdio(make_services, docs))
    except BaseException:
        log.critical("the language server ended because of a defect", exc_info=True)
        code = INTERNAL_ERROR
    logging.shutdown()
    os._exit(code)


async def serve_stdio(make_services: MakeServices, docs: str | None = None, threads: bool | None = None) -> int:
    """Serve the editor on stdin and stdout until it ends; the exit code.

    ``docs``: the address that the rules' pages ``<rule>.md`` lie under. ``threads``: see
    :func:`rulecore_sidecar.lsp.stdio.open_streams`. From here on ``print`` goes to stderr.
    """
    source, target = take_stdio()
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    server = EditorServer(make_services, end, docs)
    for register in FEATURES:
        register(server)
    streams = await open_streams(source, target, lambda: end(server.protocol.exit_code), threads)
    server.protocol.connect(streams.output.write)
    reading = asyncio.create_task(pump(streams.read, server.protocol))
    reading.add_done_callback(lambda task: end(_code_after(task, server)))
    with _signals(lambda: end(0)):
        code = await ended
        reading.cancel()
        await server.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(streams.output.close(), FLUSH_LIMIT)
    return code


def _code_after(reading: asyncio.Task[None], server: EditorServer) -> int:
    """The exit code when the input has ended, or reading it has failed."""
    if reading.cancelled() or (error := reading.exception()) is None:
        return server.protocol.exit_code
    log.critical("reading the editor's messages failed", exc_info=error)
    return INTERNAL_ERROR


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` on the loop when somebody wants the process to end."""
    loop = asyncio.get_running_loop()
    for name in _SIGNALS:
        number = getattr(signal, name)
        if sys.platform == "win32":
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
        else:
            loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        if sys.platform != "win32":
            for name in _SIGNALS:
                loop.remove_signal_handler(getattr(signal, name))
