"""Commands of the editor: each is one ``rulecore/*`` request in the clothes of ``workspace/executeCommand``.

Source: spec sidecar.md section 3; LSP 3.17, workspace/executeCommand.
"""

from collections.abc import Awaitable, Mapping
from types import MappingProxyType
from typing import Final

from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from rulecore_kernel.values import Json
from rulecore_sidecar.rpc import RpcError

from ..server import EditorServer

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rulecore.clearHalt": "rulecore/halt/clear",
        "rulecore.explain": "rulecore/explain",
        "rulecore.showState": "rulecore/state/get",
    }
)
"""Command → method."""


def register(server: EditorServer) -> None:
    """Add the commands whose method some workspace answers."""
    methods = server.workspaces.methods()
    for command, method in COMMANDS.items():
        if method in methods:
            _register(server, command, method)


def _register(server: EditorServer, command: str, method: str) -> None:
    @server.command(command)
    async def execute(ls: EditorServer, *arguments: Json) -> Json:
        params = arguments[0] if arguments else {}
        if len(arguments) > 1 or not isinstance(params, Mapping):
            raise JsonRpcInvalidParams(f"{command} takes one argument, an object: the params of {method}")
        try:
            result = ls.dispatch(method, params)
            return await result if isinstance(result, Awaitable) else result
        except RpcError as error:
            raise JsonRpcException(f"{command}: {error.message}", error.code) from error
