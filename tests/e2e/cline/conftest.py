"""Fixtures of the Cline end-to-end tests."""

import signal
from collections.abc import Iterator

import pytest
from e2e.cline.harness import ClineRun


@pytest.fixture
def bare(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> ClineRun:
    """A machine without the guard."""
    machine = ClineRun(tmp_path_factory.mktemp("m"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(machine.runtime))
    return machine


@pytest.fixture
def machine(bare: ClineRun) -> Iterator[ClineRun]:
    """A machine on which Cline is hooked up to the guard. Ends its sidecar afterwards."""
    bare.install()
    yield bare
    bare.kill_sidecar(signal.SIGTERM)
