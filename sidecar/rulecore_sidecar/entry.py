"""The ``rulecore`` command: which part of it is started, before anything heavy is imported.

``serve``, ``sockname`` and ``lsp`` lie on an agent's or editor's start-up path and go straight to their module;
everything else is the typer application. The workspace must not be able to replace our modules: the current folder and
``PYTHONPATH`` are taken off ``sys.path`` first. Limit: a ``PYTHONPATH`` that holds a package named ``rulecore_sidecar``
has won before this line runs; editors, agents and installed hooks start Python with ``-I``, which has no such limit.

Source: spec architecture.md invariant 9, sidecar.md section 1.
"""

import os
import sys


def isolate() -> None:
    """Take the current folder and every ``PYTHONPATH`` entry off ``sys.path``."""
    here = os.path.realpath(".")
    unwanted = {os.path.realpath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p}
    own = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir))  # noqa: PTH118, PTH120 - pathlib is slow
    sys.path[:] = [
        p for p in sys.path if p and (os.path.realpath(p) not in unwanted | {here} or os.path.realpath(p) == own)
    ]


def main() -> None:
    """Run ``rulecore`` with ``sys.argv`` and exit."""
    isolate()
    argv = sys.argv[1:]
    if argv[:1] == ["serve"] and "--help" not in argv:
        from rulecore_sidecar.daemon import serve_main

        sys.exit(serve_main(argv[1:]))
    if argv[:1] == ["sockname"] and "--help" not in argv:
        from rulecore_sidecar.daemon import sockname_main

        sys.exit(sockname_main(argv[1:]))
    if argv == ["lsp"]:
        from rulecore_sidecar.editor_process import lsp_main

        sys.exit(lsp_main())
    from rulecore_sidecar.cli import run

    sys.exit(run(argv))
