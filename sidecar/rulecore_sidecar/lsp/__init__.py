"""The language server. The only package that imports pygls and lsprotocol, and only when it is started.

Source: spec sidecar.md section 3.
"""

from typing import NoReturn

from .services import MakeServices

__all__ = ["run", "serve_stdio"]


def run(make_services: MakeServices, docs: str | None = None) -> NoReturn:
    """Serve the editor on stdin and stdout and end the process with its exit code. See :func:`serve_stdio`.

    Unlike ``asyncio.run`` this does not wait for threads that are still at work.
    """
    from .main import run

    run(make_services, docs)


async def serve_stdio(make_services: MakeServices, docs: str | None = None) -> int:
    """Serve the editor on stdin and stdout until it ends; the exit code: 0, 1 for an end without ``shutdown``, 3.

    ``make_services`` is asked once for every workspace folder, after ``initialize``. ``docs`` is the address that
    the rules' pages ``<rule>.md`` lie under. From here on ``print`` goes to stderr.
    """
    from .main import serve_stdio

    return await serve_stdio(make_services, docs)
