"""Drives the real Cline CLI, headless, against the scripted model, in a sandboxed HOME and a real git repository.

Every judgement rests on what the model received (:attr:`Outcome.requests`) and on Cline's own finish reason; its exit
code says little (an aborted run exits 0).
"""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.cline.mock_openai import Json, MockModel, Turn

HERE = Path(__file__).parent
TIMEOUT_S = 60
_AN_INSTANT = "2026-01-01T00:00:00.000Z"


def ensure_cline() -> Path:
    """The pinned ``cline`` binary; installs it with npm once if it is not there.

    Raises ``RuntimeError`` with npm's own words when it cannot be installed.
    """
    binary = _binary()
    if not binary.is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError("the Cline end-to-end tests need npm (and node) on PATH to install cline")
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0 or not binary.is_file():
            raise RuntimeError(f"`npm install` in {HERE} gave no {binary.name}:\n{done.stdout}\n{done.stderr}")
    return binary


def _binary() -> Path:
    system = {"Linux": "linux", "Darwin": "darwin", "Windows": "windows"}[platform.system()]
    machine = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    name = "cline.exe" if system == "windows" else "cline"
    return HERE / "node_modules" / "@cline" / f"cli-{system}-{machine}" / "bin" / name


@dataclass(frozen=True)
class Outcome:
    """One finished run of Cline."""

    returncode: int
    events: tuple[Json, ...]
    requests: tuple[Json, ...]
    stderr: str

    @property
    def finish_reason(self) -> str | None:
        """Cline's verdict on the run: completed, aborted, mistake_limit, error, …"""
        results = [event for event in self.events if event.get("type") == "run_result"]
        return str(results[-1].get("finishReason")) if results else None

    def results(self, request: int = -1) -> dict[str, str]:
        """Tool results in ``request`` as the model saw them, by call id."""
        found: dict[str, str] = {}
        for message in self.messages(request):
            if message.get("role") == "tool":
                found[str(message["tool_call_id"])] = text_of(message.get("content"))
        return found

    def messages(self, request: int = -1) -> list[Json]:
        """The messages of ``request``."""
        messages = self.requests[request]["messages"]
        assert isinstance(messages, list)
        return messages

    def contexts(self, request: int = -1) -> str:
        """All text of user messages in ``request``: prompts and what hooks put into the context."""
        return "\n".join(text_of(m.get("content")) for m in self.messages(request) if m.get("role") == "user")

    def shown(self) -> str:
        """Everything the model was ever shown, for a search."""
        return "\n".join(text_of(m.get("content")) for n in range(len(self.requests)) for m in self.messages(n))


def text_of(content: object) -> str:
    """The text of a message's content, whether a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


class ClineRun:
    """A user's machine in ``directory``: HOME, runtime directory and one repository."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.workspace = directory / "ws"
        self.runtime = directory / "run"
        for made in (self.home, self.workspace, self.runtime):
            made.mkdir(parents=True, mode=0o700)
        self.env = {
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "CLINE_SESSION_BACKEND_MODE": "local",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.invalid",
            "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.invalid",
        }  # fmt: skip
        self.git("init", "-q", "-b", "main")
        self.write("README.md", "A repository.\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")

    def git(self, *args: str) -> str:
        """Run git in the workspace."""
        return subprocess.run(
            ["git", *args], cwd=self.workspace, env=self.env, capture_output=True, text=True, check=True
        ).stdout

    def write(self, name: str, text: str) -> Path:
        """Write a workspace file; returns its absolute path."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(
        self,
        script: Sequence[Turn],
        prompt: str = "please do the work",
        *,
        env: Mapping[str, str] | None = None,
        flags: Sequence[str] = (),
    ) -> Outcome:
        """Let Cline work on ``prompt`` with a model that plays ``script``."""
        binary = ensure_cline()
        with MockModel(script) as model:
            self._configure(model.url)
            done = subprocess.run(
                [binary, "--json", "--auto-approve", "true", *flags, prompt],
                cwd=self.workspace,
                env={**self.env, **(env or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            events = tuple(_json_lines(done.stdout.decode("utf-8", "replace")))
            return Outcome(done.returncode, events, tuple(model.requests), done.stderr.decode("utf-8", "replace"))

    def _configure(self, url: str) -> None:
        settings = {"provider": "openai-compatible", "apiKey": "sk-mock", "model": "mock-model", "baseUrl": url}
        providers = {
            "version": 1,
            "lastUsedProvider": "openai-compatible",
            "modes": {},
            "providers": {"openai-compatible": {"settings": settings, "updatedAt": _AN_INSTANT, "tokenSource": "manual"}},
        }
        target = self.home / ".cline" / "data" / "settings" / "providers.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(providers), encoding="utf-8")


def _json_lines(text: str) -> list[Json]:
    lines: list[Json] = []
    for line in text.split("\n"):
        if line.startswith("{"):
            value = json.loads(line)
            if isinstance(value, dict):
                lines.append(value)
    return lines
