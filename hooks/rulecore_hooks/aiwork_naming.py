"""The hook `aiwork-naming`: names and numbers of `.aiWork` documents, before they become history.

What is imported at the top is loaded before the workspace is off `sys.path`, so nothing is but the launcher.

spec: hooks.md §1, aiwork.md §1, §6, §7
"""

from rulecore_hooks.launch import run_hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from rulecore_kernel.aiwork.rules import Finding

NAME = "aiwork-naming"
CLEAN, FOUND, NOT_CHECKED = 0, 1, 2


def entry() -> int:
    """The console script `rulecore-aiwork-naming`."""
    return run_hook(NAME, main)


def main(argv: "Sequence[str] | None" = None) -> int:
    """Check names and numbers of the next commit, or of a push that pre-commit tells of.

    `argv` is the command line without the program's name, None for the process's own. Findings go to standard output,
    trouble to standard error. Returns 0 for no error among the findings, 1 for some, 2 when nothing could be checked.
    """
    options = _options(argv)
    if not _concerned(options):
        return CLEAN
    import sys

    from rulecore_hooks.gitdata import CannotCheck
    from rulecore_hooks.report import as_json, as_text, wants_colour

    try:
        findings = check(options.root)
    except CannotCheck as trouble:
        print(f"{NAME}: could not check: {trouble}", file=sys.stderr)
        return NOT_CHECKED
    errors = [finding for finding in findings if finding.severity == "error"]
    wanted = errors if options.quiet else findings
    text = as_json(wanted) if options.json else as_text(wanted, wants_colour(sys.stdout))
    if text:
        print(text)
    return FOUND if errors else CLEAN


def check(root: "str | None") -> "tuple[Finding, ...]":
    """The findings about the work tree at `root`, or the one that the current folder or git's hook is in.

    What git or pre-commit set for a hook belongs to the repository of that hook: a named root is read without it.
    Raises CannotCheck.
    """
    import os

    from rulecore_hooks.gitdata import FOREIGN_ENVIRONMENT, Repository
    from rulecore_hooks.listing import naming_listing
    from rulecore_hooks.settings import hook_settings, project_day
    from rulecore_kernel.aiwork.naming import check_names

    if root is not None:
        for name in FOREIGN_ENVIRONMENT:
            os.environ.pop(name, None)
    repository = Repository(root or os.curdir)
    settings = hook_settings(repository.top, os.environ)
    branch = settings.value("aiwork.default_branch")
    listing = naming_listing(repository, str(branch) if branch else None, {} if root else os.environ)
    return check_names(listing, project_day(repository.top, settings)) if listing.now else ()


def _concerned(options: "Namespace") -> bool:
    """Whether there is anything to check: by the names that changed, or, as a hook without names, by the index."""
    if options.files:
        return any(".aiwork" in name.casefold() for name in options.files)
    if not options.hook:
        return True
    import os

    from rulecore_hooks.gitdata import memory_is_staged

    return "PRE_COMMIT_REMOTE_NAME" in os.environ or memory_is_staged()


def _options(argv: "Sequence[str] | None") -> "Namespace":
    from argparse import ArgumentParser

    parser = ArgumentParser(
        prog=f"rulecore-{NAME}",
        description="Check the names and numbers of .aiWork documents that the next commit adds.",
        epilog="Exit codes: 0 no errors, 1 errors found, 2 could not check or bad usage, 3 internal error.",
    )
    parser.add_argument("--root", metavar="DIR", help="the work tree to check, instead of the current one")
    parser.add_argument("--hook", action="store_true", help="run as a git hook: check when the commit changes .aiWork")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument(
        "files", nargs="*", help="what changed: when nothing of it is in .aiWork, nothing is checked (default: check)"
    )
    return parser.parse_args(argv)
