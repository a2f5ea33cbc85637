"""``rulecore kernel eval | list | explain``: the rule library on the command line. Source: spec kernel.md section 1.

Exit codes: 0 ok; 2 an unknown rule, phase or scope, or the reader of ``eval``'s answers went away.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from rulecore_kernel.rules.activity import FOCUS, is_active
from rulecore_kernel.rules.model import Arg, Rule, Scope
from rulecore_kernel.rules.registry import BY_NAME, RULES
from rulecore_kernel.state.names import hint
from rulecore_sidecar.docgen import rule_page
from rulecore_sidecar.kernel_eval import eval_stdio
from rulecore_sidecar.project import Project

app = typer.Typer(help="Ask the rule library.", no_args_is_help=True)

_COLUMNS = ("name", "kind", "category", "layer", "scope", "provides")


@app.command("eval")
def eval_command(
    root: Annotated[Path, typer.Option(help="The workspace whose project.md holds the parameters.")] = Path(),
) -> None:
    """Answer requests: JSON Lines on standard input, one answer a line on standard output; blank lines are skipped.

    A request is {"rule": NAME, "args": {…}, "state": {…}, "config": {…}}; its config goes above project.md.

    [bold]Example:[/] rulecore kernel eval < requests.jsonl > answers.jsonl
    """
    if not root.is_dir():
        typer.echo(f"rulecore kernel eval: {root} is not a folder", err=True)
        raise typer.Exit(2)
    raise typer.Exit(eval_stdio(Project(root).settings()))  # what is wrong with project.md goes to the log: stderr


@app.command("list")
def list_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with arguments, state and parameters.")] = False,
    phase: Annotated[str | None, typer.Option(help=f"Only rules active in this phase: {', '.join(FOCUS)}.")] = None,
    scope: Annotated[str | None, typer.Option(help=f"Only rules active in this scope: {', '.join(Scope)}.")] = None,
) -> None:
    """List the rules.

    [bold]Examples:[/] rulecore kernel list · rulecore kernel list --phase P_exec_core --scope loop_body --json
    """
    _known("phase", phase, FOCUS)
    _known("scope", scope, Scope)
    rules = [rule for rule in RULES if is_active(rule, phase, scope)]
    if as_json:
        typer.echo(json.dumps([_row(rule) for rule in rules], ensure_ascii=False, indent=2))
        return
    rows = [_COLUMNS, *(tuple(str(getattr(rule, column)) for column in _COLUMNS) for rule in rules)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(_COLUMNS))]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@app.command("explain")
def explain_command(
    rule: Annotated[str, typer.Argument(help="A rule's name, see `rulecore kernel list`.")],
) -> None:
    """Explain a rule: what it decides, why, its arguments, its table and an example.

    [bold]Example:[/] rulecore kernel explain OnError
    """
    _known("rule", rule, BY_NAME)
    typer.echo(rule_page(BY_NAME[rule]), nl=False)


def _known(what: str, given: str | None, known: Iterable[str]) -> None:
    names = list(known)
    if given is not None and given not in names:
        typer.echo(
            f"rulecore kernel: no {what} is called {given}{hint(given, names)}; known: {', '.join(names)}", err=True
        )
        raise typer.Exit(2)


def _row(rule: Rule) -> dict[str, object]:
    return {
        **{column: str(getattr(rule, column)) for column in _COLUMNS},
        "args": [_argument(arg) for arg in rule.args],
        "state": list(rule.state),
        "parameters": list(rule.parameters.values()),
    }


def _argument(arg: Arg) -> dict[str, object]:
    return {
        "name": arg.name,
        "allowed": arg.domain.describe(),
        "required": arg.required,
        "nullable": arg.domain.nullable,
        "meaning": arg.meaning,
    }
