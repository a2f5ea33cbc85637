import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sidecar.service.live import Served, served


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "工作 space"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 101)), "utf-8")
    (root / "b.py").write_text("b\n", "utf-8")
    return root.resolve()


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Where sockets go: a path short enough for one, which pytest's own folders are not always."""
    with tempfile.TemporaryDirectory() as short:
        yield Path(short)


@pytest.fixture
def sidecar(workspace: Path, runtime: Path) -> Iterator[Served]:
    with served(workspace, runtime) as process:
        yield process
