"""``rulecore serve | sockname | lsp``: the processes that live as long as an editor or an agent."""

from pathlib import Path
from typing import Annotated

import typer

SERVE_HELP = """Serve the guard of a workspace until it is stopped.

Agents start it by themselves (through [bold]rulecore sockname[/]); start it by hand to watch it.

[bold]Example:[/] rulecore serve --root ~/project
"""
SOCKNAME_HELP = """Print the socket of a workspace's guard; starts the guard when none runs.

[bold]Example:[/] rulecore sockname --root ~/project
"""
STOP_HELP = """End the guard of a workspace; agents and editors start it again when they need it.

[bold]Example:[/] rulecore stop
"""
LSP_HELP = """Run the language server on standard input and output, with the guard of the workspace beside it.

Your editor starts it.

[bold]Example:[/] rulecore lsp
"""

Root = Annotated[
    Path | None, typer.Option("--root", help="A folder of the workspace. Default: the current one.", show_default=False)
]


def serve(
    root: Root = None,
    idle_exit: Annotated[float | None, typer.Option(help="End after so many seconds without a client.")] = None,
) -> None:
    """See :data:`SERVE_HELP`."""
    from rulecore_sidecar.daemon import serve_main

    raise typer.Exit(serve_main([*_root(root), *(["--idle-exit", str(idle_exit)] if idle_exit is not None else [])]))


def sockname(root: Root = None) -> None:
    """See :data:`SOCKNAME_HELP`."""
    from rulecore_sidecar.daemon import sockname_main

    raise typer.Exit(sockname_main(_root(root)))


def stop(root: Root = None) -> None:
    """See :data:`STOP_HELP`."""
    from rulecore_sidecar.daemon import stop_main

    raise typer.Exit(stop_main(root))


def lsp() -> None:
    """See :data:`LSP_HELP`."""
    from rulecore_sidecar.editor_process import lsp_main

    lsp_main()


def _root(root: Path | None) -> list[str]:
    return [] if root is None else ["--root", str(root)]
