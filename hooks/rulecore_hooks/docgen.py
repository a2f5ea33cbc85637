"""`python -m rulecore_hooks.docgen`: writes the pages of the `.aiWork` rules; `--check` only compares them.

spec: aiwork.md §7
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rulecore_kernel.aiwork.docs import pages

FOLDER = Path("docs", "aiwork")


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the pages. Returns 0, or 1 when `--check` finds a page missing, different or left over."""
    parser = argparse.ArgumentParser(prog="rulecore_hooks.docgen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail when a page is not up to date")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the pages are (default: docs/aiwork)")
    options = parser.parse_args(argv)
    folder: Path = options.folder
    wanted = pages()
    there = {path.name: path.read_text("utf-8") for path in folder.glob("AW*.md")}
    stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    if options.check:
        for name in stale:
            print(
                f"{(folder / name).as_posix()} is not up to date: run python -m rulecore_hooks.docgen", file=sys.stderr
            )
        return 1 if stale else 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in wanted:
            (folder / name).write_text(wanted[name], "utf-8", newline="\n")
        else:
            (folder / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
