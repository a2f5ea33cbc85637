"""``rulecore agent``: hook agents up to the guard, look after that, take it out again.

Exit codes: 0 ok, 1 something is missing or was left alone, 2 could not be done. Source: spec agents.md section 3.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer

from rulecore_sidecar.agents import doctor as doctor_module
from rulecore_sidecar.agents import install as install_module
from rulecore_sidecar.agents.files import RefusedError
from rulecore_sidecar.agents.install import CARRIERS, Report
from rulecore_sidecar.endpoint import EndpointError, workspace_of

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Hook AI coding agents up to the guard of this workspace.\n\n"
    "Everything generated is listed in .rulecore/agents.json and comes out again with [bold]uninstall[/].",
    context_settings={"help_option_names": ["-h", "--help"]},
)

T = TypeVar("T")
Change = Callable[[Path, Sequence[str], bool], list[Report]]

Agents = Annotated[
    list[str] | None, typer.Argument(metavar="[AGENT]...", help=f"Default: all ({', '.join(CARRIERS)}).")
]
Root = Annotated[Path | None, typer.Option("--root", metavar="DIR", help="Workspace; default: the one you are in.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the unified diff and write nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(epilog="Example: rulecore agent install cline --dry-run")
def install(agents: Agents = None, root: Root = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Generate an agent's plugin or hooks; a hook of yours with the same name is kept and still runs."""
    _changed(agents, root, dry_run, as_json, install_module.install)


@app.command(epilog="Example: rulecore agent uninstall cline")
def uninstall(agents: Agents = None, root: Root = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Take them out again; what was there before comes back byte for byte."""
    _changed(agents, root, dry_run, as_json, install_module.uninstall)


@app.command(epilog="Example: rulecore agent status --json")
def status(agents: Agents = None, root: Root = None, as_json: AsJson = False) -> None:
    """Say what is installed and up to date; exit code 1 when something is not."""
    workspace, names = _workspace(root), _names(agents)
    reports = _refusing(lambda: install_module.status(workspace, names))
    words = {
        install_module.CREATED: "not installed",
        install_module.CHAINED: "not installed",
        install_module.UNCHANGED: "installed",
        install_module.UPDATED: "outdated",
    }
    reports = [
        r._replace(changes=tuple(c._replace(kind=words.get(c.kind, c.kind)) for c in r.changes)) for r in reports
    ]
    _print(workspace, reports, as_json)
    raise typer.Exit(0 if all(c.kind == "installed" for r in reports for c in r.changes) else 1)


@app.command(epilog="Example: rulecore agent doctor cline")
def doctor(agents: Agents = None, root: Root = None, as_json: AsJson = False) -> None:
    """Send a synthetic call through everything that is installed and see whether the sidecar hears it."""
    workspace, names = _workspace(root), _names(agents)
    checks, advice = _refusing(lambda: doctor_module.doctor(workspace, tuple(names)))
    if as_json:
        plain = {"checks": [c._asdict() for c in checks], "advice": [a.text for a in advice]}
        typer.echo(json.dumps(plain, ensure_ascii=False, indent=2))
    else:
        for check in checks:
            typer.echo(f"{'✗' if check.problem else '✓'} {check.name}: {check.found}")
            if check.problem:
                typer.echo(f"    {check.problem}")
        for note in advice:
            typer.echo(f"! {note.text}")
    raise typer.Exit(1 if any(check.problem for check in checks) else 0)


def _changed(agents: list[str] | None, root: Path | None, dry_run: bool, as_json: bool, change: Change) -> None:
    workspace, names = _workspace(root), _names(agents)
    reports = _refusing(lambda: change(workspace, names, dry_run))
    if dry_run and not as_json:
        typer.echo("".join(report.diff for report in reports) or "nothing to change\n", nl=False)
    else:
        _print(workspace, reports, as_json)
    raise typer.Exit(0 if all(report.ok for report in reports) else 1)


def _print(workspace: Path, reports: Sequence[Report], as_json: bool) -> None:
    if as_json:
        plain = [
            {"agent": r.agent, "ok": r.ok, "changes": [c._asdict() for c in r.changes], "diff": r.diff} for r in reports
        ]
        typer.echo(json.dumps(plain, ensure_ascii=False, indent=2))
        return
    typer.echo(f"workspace {workspace}")
    for report in reports:
        for change in report.changes:
            typer.echo(f"{report.agent}: {change.kind} {change.name}" + (f": {change.why}" if change.why else ""))
        if not report.changes:
            typer.echo(f"{report.agent}: not installed")


def _workspace(root: Path | None) -> Path:
    return _refusing(lambda: workspace_of(root))


def _names(agents: list[str] | None) -> list[str]:
    unknown = [name for name in agents or () if name not in CARRIERS]
    if unknown:
        _fail(f"unknown agent {', '.join(unknown)}; known: {', '.join(CARRIERS)}")
    return agents or list(CARRIERS)


def _refusing(work: Callable[[], T]) -> T:
    try:
        return work()
    except (RefusedError, EndpointError, OSError) as error:
        _fail(str(error))


def _fail(text: str) -> NoReturn:
    typer.echo(f"rulecore agent: {text}", err=True)
    raise typer.Exit(2)
