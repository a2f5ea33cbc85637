"""The ``rulecore`` command line: composition only, every command lives in a module of its own.

Exit codes: 0 ok, 1 findings, 2 could not check or bad usage, 3 internal error with a log file.
Source: spec architecture.md, sidecar.md section 1.
"""

from collections.abc import Sequence

import typer

from rulecore_sidecar import __version__
from rulecore_sidecar.agents.cli import app as agent_app
from rulecore_sidecar.commands import demo, halt, live, replay
from rulecore_sidecar.kernel_cmd import app as kernel_app

app = typer.Typer(
    name="rulecore",
    help="The deterministic rule core for AI coding agents: guards, git hooks and diagnostics. Code, not prompts.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.add_typer(agent_app, name="agent")
app.add_typer(kernel_app, name="kernel")
app.add_typer(halt.app, name="halt")
app.command("serve", help=live.SERVE_HELP)(live.serve)
app.command("sockname", help=live.SOCKNAME_HELP)(live.sockname)
app.command("stop", help=live.STOP_HELP)(live.stop)
app.command("lsp", help=live.LSP_HELP)(live.lsp)
app.command("replay", help=replay.HELP)(replay.replay)
app.command("demo", help=demo.HELP)(demo.demo)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        print(f"rulecore {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def run(argv: Sequence[str]) -> int:
    """Run the command line; returns the exit code."""
    try:
        app(list(argv), standalone_mode=True)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    return 0
