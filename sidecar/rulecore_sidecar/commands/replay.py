"""``rulecore replay``: what the guard would have done in a recorded session."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from rulecore_sidecar.replay import Replay, read_events
from rulecore_sidecar.wire import WireError

HELP = """Decide a recorded session again, without a file system: what the guard would have done.

Reads the neutral event format, JSON Lines (docs/wire.md). [bold]-[/] is standard input.

[bold]Example:[/] rulecore replay --decisions session.jsonl
"""


def replay(
    file: Annotated[Path, typer.Argument(help="A session in the neutral event format.", show_default=False)],
    decisions: Annotated[bool, typer.Option("--decisions", help="One JSON line for each event.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as JSON.")] = False,
) -> None:
    """See :data:`HELP`."""
    tally: Counter[str] = Counter()
    try:
        with sys.stdin if str(file) == "-" else file.open(encoding="utf-8") as lines:
            for step in Replay().run(read_events(lines)):
                if decisions:
                    print(json.dumps(step.plain(), ensure_ascii=False))
                if step.pre is not None and step.post is not None:
                    tally[f"before: {step.pre.decision.action.value}"] += 1
                    tally[f"after: {step.post.decision.outcome}"] += 1
    except (OSError, UnicodeDecodeError, WireError) as error:
        print(f"rulecore replay: {file}: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    if as_json:
        print(json.dumps(dict(sorted(tally.items())), ensure_ascii=False))
    elif not decisions:
        for name, count in sorted(tally.items()):
            print(f"{count:6}  {name}")
