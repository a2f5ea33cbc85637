"""A repository with an awkward name, and a private place for sockets."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sidecar.agents.repos import new_repo

from rulecore_sidecar import client
from rulecore_sidecar.endpoint import EndpointError


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "o'brien 仓库")


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where sockets go, for this test and every process that it starts."""
    with tempfile.TemporaryDirectory(prefix="rc-") as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        yield Path(short)


@pytest.fixture
def served(repo: Path, runtime: Path) -> Iterator[Path]:
    """``repo``, whose sidecar (if the test starts one) is ended afterwards."""
    yield repo
    try:
        ping = client.call(repo, "rulecore/ping", {})
    except EndpointError:
        return
    assert isinstance(ping, dict) and isinstance(ping["pid"], int)
    os.kill(ping["pid"], signal.SIGTERM)
