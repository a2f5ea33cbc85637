"""The real command, and what it costs those who do not ask for it."""

import subprocess
import sys
from pathlib import Path

import pytest

from .client import PULLING, Client

COMMAND = [sys.executable, "-I", "-m", "rulecore_sidecar", "lsp"]


def test_a_session_with_the_real_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run").mkdir(0o700)
    root = tmp_path / "workspace"
    root.mkdir()
    uri = (root / "a.py").as_uri()
    with Client(COMMAND) as client:
        client.initialize(root, PULLING)
        assert "rulecore/guard/pre" in client.result("rulecore/ping", {})["capabilities"]
        client.open(uri, "# TODO x\n")
        assert [item["code"] for item in client.pull(uri)["items"]] == ["todoFIXME"]
        event = {"session": "s", "tool": "read_file", "ops": [{"kind": "read", "path": str(root / "a.py")}]}
        assert client.result("rulecore/guard/pre", event)["action"] == "allow"
        assert client.result("shutdown") is None
        client.notify("exit")
        assert client.exit_code() == 0


@pytest.mark.parametrize(
    "module", ["rulecore_sidecar.lsp", "rulecore_sidecar.lsp.services", "rulecore_sidecar.lsp.worker"]
)
def test_pygls_is_imported_when_the_server_starts_and_not_before(module: str) -> None:
    code = f"import sys, {module}; print(sorted({{'pygls', 'lsprotocol', 'cattrs'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
