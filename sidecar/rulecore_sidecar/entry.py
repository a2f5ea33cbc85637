"""The ``rulecore`` command: which part of it is started, before anything heavy is imported.

``serve``, ``sockname`` and ``lsp`` lie on an agent's or editor's start-up path and go straight to their module;
everything else is the typer application. The workspace must not be able to replace our modules: the current folder and
``PYTHONPATH`` are taken off ``sys.path`` first. Limit: a ``PYTHONPATH`` that holds a package named ``rulecore_sidecar``
has won before this line runs; editors, agents and installed hooks start Python with ``-I``, which has no such limit.

Source: spec architecture.md invariant 9, sidecar.md section 1.
"""

import sys

from rulecore_hooks.launch import run_hook

_HELP = {"-h", "--help"}
_SIDECAR_EXTRA = ("cattrs", "lsprotocol", "pygls")


def main() -> None:
    """Run ``rulecore`` with ``sys.argv`` and exit; an internal error leaves one line and a log file, exit code 3."""
    sys.exit(run_hook("rulecore", lambda: _with_extras(sys.argv[1:])))


def _with_extras(argv: list[str]) -> int:
    try:
        return _run(argv)
    except ModuleNotFoundError as error:
        if error.name not in _SIDECAR_EXTRA:
            raise
        print(f"rulecore: this needs an extra: pip install 'rulecore[sidecar]' ({error})", file=sys.stderr)
        return 2


def _run(argv: list[str]) -> int:
    if argv[:1] == ["serve"] and not _HELP & set(argv):
        from rulecore_sidecar.daemon import serve_main

        return serve_main(argv[1:])
    if argv[:1] == ["sockname"] and not _HELP & set(argv):
        from rulecore_sidecar.daemon import sockname_main

        return sockname_main(argv[1:])
    if argv == ["lsp"]:
        from rulecore_sidecar.editor_process import lsp_main

        lsp_main()
    from rulecore_sidecar.cli import run

    return run(argv)
