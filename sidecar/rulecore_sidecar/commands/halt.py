"""``rulecore halt get | clear``: see and lift what stopped an agent."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.client import Refused, call, ensure_served
from rulecore_sidecar.commands.live import Root
from rulecore_sidecar.endpoint import EndpointError, workspace_of

app = typer.Typer(help="See and lift what stopped an agent.", no_args_is_help=True)
Session = Annotated[str | None, typer.Option("--session", help="Only this session.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


@app.command("get")
def get(root: Root = None, session: Session = None, as_json: AsJson = False) -> None:
    """List the sessions that are halted, with the reason.

    [bold]Example:[/] rulecore halt get
    """
    answer = _ask(root, "rulecore/halt/get", {} if session is None else {"session": session})
    if as_json:
        print(json.dumps(answer, ensure_ascii=False))
        return
    halts = answer.get("halts")
    assert isinstance(halts, list)
    if not halts:
        print("No session is halted.")
    for halt in halts:
        assert isinstance(halt, dict)
        print(f"{halt['agent']} session {halt['session']} ({halt['agent_id']}): {halt['reason']}")


@app.command("clear")
def clear(
    root: Root = None,
    session: Session = None,
    everything: Annotated[bool, typer.Option("--all", help="Every session of the workspace.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let a halted agent go on; several need --session or --all. For a person: it needs a terminal.

    [bold]Examples:[/] rulecore halt clear · rulecore halt clear --all · rulecore halt clear --session ID
    """
    if not sys.stdin.isatty():
        print(
            "rulecore halt clear: clearing belongs to a person and needs a terminal on standard input; "
            "run it in your own shell, or use the editor's command",
            file=sys.stderr,
        )
        raise typer.Exit(2)
    if session is None and not everything:
        halts = _ask(root, "rulecore/halt/get", {})["halts"]
        assert isinstance(halts, list)
        if len(halts) > 1:
            print("rulecore halt clear: several sessions are halted; say --all or --session ID:", file=sys.stderr)
            for halt in halts:
                assert isinstance(halt, dict)
                print(f"  --session {halt['session']}  {halt['reason']}", file=sys.stderr)
            raise typer.Exit(2)
        everything = True
    answer = _ask(root, "rulecore/halt/clear", {"all": True} if session is None else {"session": session})
    print(json.dumps(answer) if as_json else f"Cleared: {answer['cleared']}.")


def _ask(root: Path | None, method: str, params: JsonObject) -> dict[str, Json]:
    try:
        workspace = workspace_of(root)
        ensure_served(workspace)
        answer = call(workspace, method, params)
    except (EndpointError, Refused) as error:
        print(f"rulecore halt: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    assert isinstance(answer, dict)
    return answer
