"""The services of every workspace folder of the editor, started and stopped with it.

Guarantee: a folder whose services fail is said aloud and left out; the editor goes on without them.
Source: spec sidecar.md sections 1 and 3 (multi-root).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from rulecore_kernel.values import JsonObject
from rulecore_sidecar.rpc import METHOD_NOT_FOUND, RpcError

from .services import MakeServices, Services

log = logging.getLogger("rulecore.lsp")

START_LIMIT: Final = 10.0
STOP_LIMIT: Final = 5.0
"""Seconds."""
_PLACES: Final = ("root", "cwd", "path")
"""Fields of ``rulecore/*`` params that say which workspace is meant, in this order."""


class Workspaces:
    """Folders and their services.

    ``tell`` gets a text for the person in front of the editor. ``moving`` surrounds every change of what
    :meth:`of` answers, so that open documents can be handed over.
    """

    def __init__(
        self, make: MakeServices, tell: Callable[[str], None], moving: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._make = make
        self._tell = tell
        self._moving = moving
        self._services: dict[Path, Services] = {}
        self._turn = asyncio.Lock()

    def __bool__(self) -> bool:
        return bool(self._services)

    async def add(self, root: Path) -> None:
        """Start the services of a folder."""
        async with self._turn:
            if root not in self._services and (services := await self._started(root)) is not None:
                with self._moving():
                    self._services[root] = services

    async def _started(self, root: Path) -> Services | None:
        try:
            services = self._make(root)
            await asyncio.wait_for(services.start(), START_LIMIT)
        except Exception as error:
            log.exception("the services of a workspace could not be started")
            reason = str(error) or type(error).__name__
            self._tell(f"rulecore: no guard for {root}: {reason}. The server's log says more.")
            return None
        return services

    async def remove(self, root: Path) -> None:
        """Stop the services of a folder."""
        async with self._turn:
            if root in self._services:
                with self._moving():
                    services = self._services.pop(root)
                await _stop(services)

    async def close(self) -> None:
        """Stop everything; whoever is just starting is left behind."""
        await asyncio.gather(*(_stop(services) for services in self._services.values()))

    def _root_of(self, path: Path) -> Path | None:
        inside = [root for root in self._services if path.is_relative_to(root)]
        return max(inside, key=lambda root: len(root.parts), default=None)

    def of(self, path: Path) -> Services | None:
        """The services of the innermost folder that ``path`` lies in."""
        root = self._root_of(path)
        return None if root is None else self._services[root]

    def meant_by(self, params: JsonObject) -> Services:
        """The services that a request is for: by its root, cwd or path, else the first folder's.

        Raises :class:`RpcError` when no folder has services.
        """
        for name in _PLACES:
            place = params.get(name)
            if isinstance(place, str) and (services := self.of(Path(place))) is not None:
                return services
        for services in self._services.values():
            return services
        raise RpcError(METHOD_NOT_FOUND, "no workspace folder is open, so there is no guard; open a folder")

    def methods(self) -> frozenset[str]:
        """The names of all methods that any folder's services answer."""
        return frozenset(name for services in self._services.values() for name in services.dispatch.methods)

    def touched(self, paths: Iterable[Path]) -> None:
        """Tell every folder's services what the editor's watcher saw in it."""
        sorted_by_root: dict[Path, list[Path]] = {}
        for path in paths:
            if (root := self._root_of(path)) is not None:
                sorted_by_root.setdefault(root, []).append(path)
        for root, inside in sorted_by_root.items():
            self._services[root].sink.touched(inside)


async def _stop(services: Services) -> None:
    try:
        await asyncio.wait_for(services.stop(), STOP_LIMIT)
    except Exception:
        log.exception("the services of a workspace did not stop cleanly")
