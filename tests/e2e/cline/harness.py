"""Drives the real Cline CLI, headless, against the scripted model, in a sandboxed HOME and a real git repository.

Every judgement rests on what the model received (:attr:`Outcome.requests`) and on Cline's own finish reason; its exit
code says little (an aborted run exits 0).
"""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from e2e.cline.mock_openai import Json, MockModel, Turn
from filelock import FileLock

from rulecore_sidecar import client
from rulecore_sidecar.endpoint import EndpointError

HERE = Path(__file__).parent
TIMEOUT_S = 60
_AN_INSTANT = "2026-01-01T00:00:00.000Z"


def ensure_cline() -> Path:
    """The pinned ``cline`` binary; installs it with npm once if it is not there.

    Raises ``RuntimeError`` with npm's own words when it cannot be installed.
    """
    binary = _binary()
    if binary.is_file():
        return binary
    with FileLock(Path(tempfile.gettempdir()) / "rulecore-cline-e2e.lock"):
        if not binary.is_file():
            _npm_install(binary)
    return binary


def _npm_install(binary: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("the Cline end-to-end tests need npm (and node) on PATH to install cline")
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0 or not binary.is_file():
        raise RuntimeError(f"`npm install` in {HERE} gave no {binary.name}:\n{done.stdout}\n{done.stderr}")


def _binary() -> Path:
    system = {"Linux": "linux", "Darwin": "darwin", "Windows": "windows"}[platform.system()]
    machine = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    name = "cline.exe" if system == "windows" else "cline"
    return HERE / "node_modules" / "@cline" / f"cli-{system}-{machine}" / "bin" / name


class View:
    """What the model was shown, request by request."""

    requests: Sequence[Json]

    def messages(self, request: int = -1) -> list[Json]:
        """The messages of ``request``."""
        messages = self.requests[request]["messages"]
        assert isinstance(messages, list)
        return messages

    def results(self, request: int = -1) -> dict[str, str]:
        """Tool results in ``request`` as the model saw them, by call id."""
        tools = (message for message in self.messages(request) if message.get("role") == "tool")
        return {str(message["tool_call_id"]): text_of(message.get("content")) for message in tools}

    def said_by_hooks(self, request: int = -1) -> str:
        """What hooks put into the context of ``request``."""
        users = [text_of(m.get("content")) for m in self.messages(request) if m.get("role") == "user"]
        return "\n".join(text for text in users if "<hook_context" in text)


@dataclass(frozen=True)
class Outcome(View):
    """One finished run of Cline."""

    returncode: int
    events: tuple[Json, ...]
    requests: tuple[Json, ...]
    stderr: str

    @property
    def finish_reason(self) -> str | None:
        """Cline's verdict on the run: completed, aborted, error, …"""
        results = [event for event in self.events if event.get("type") == "run_result"]
        return str(results[-1].get("finishReason")) if results else None


class Chat(View):
    """A session of several prompts: Cline in its Agent Client Protocol mode."""

    def __init__(self, reader: IO[str], writer: IO[str], model: MockModel, cwd: Path, session: str | None) -> None:
        self._reader, self._writer = reader, writer
        self.requests = model.requests
        self._ids = 0
        self._ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        place: Json = {"cwd": str(cwd), "mcpServers": []}
        if session is None:
            self.session = str(self._ask("session/new", place)["sessionId"])
        else:
            self.session = session
            self._ask("session/load", {"sessionId": session, **place})

    def say(self, prompt: str) -> str:
        """Send a prompt and wait for the run to end; its stop reason, or the error that ended it."""
        content = [{"type": "text", "text": prompt}]
        return str(self._ask("session/prompt", {"sessionId": self.session, "prompt": content}).get("stopReason"))

    def _ask(self, method: str, params: Json) -> Json:
        self._ids += 1
        self._writer.write(json.dumps({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}) + "\n")
        self._writer.flush()
        for line in self._reader:
            message = json.loads(line) if line.startswith("{") else {}
            if message.get("id") == self._ids and "method" not in message:
                found = message.get("result") or {"stopReason": json.dumps(message.get("error"))}
                assert isinstance(found, dict)
                return found
        raise RuntimeError(f"cline hung up during {method}")


def text_of(content: object) -> str:
    """The text of a message's content, whether a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


class ClineRun:
    """A user's machine in ``directory``: HOME, runtime directory and one repository, with or without the guard."""

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
            **{
                f"GIT_{who}_{what}": f"{who}@example.invalid"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
        }
        self.git("init", "-q", "-b", "main")
        self.write("README.md", "A repository.\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")

    # -- the repository

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

    # -- the guard

    def rulecore(self, *args: str) -> "subprocess.CompletedProcess[str]":
        """Run ``rulecore`` in the workspace as its user would."""
        command = [sys.executable, "-I", "-m", "rulecore_sidecar", *args]
        return subprocess.run(command, cwd=self.workspace, env=self.env, capture_output=True, text=True, check=False)

    def install(self) -> None:
        """Hook Cline up."""
        done = self.rulecore("agent", "install", "cline")
        assert done.returncode == 0, done.stdout + done.stderr

    def ask(self, method: str, **params: str | int | bool) -> Json:
        """Ask the sidecar of the workspace."""
        answer = client.call(self.workspace, method, params)
        assert isinstance(answer, dict)
        return answer

    def serve(self) -> None:
        """Have a sidecar run before Cline does."""
        assert self.rulecore("sockname").returncode == 0

    def kill_sidecar(self, how: int = signal.SIGKILL) -> None:
        """End the sidecar that serves the workspace, if one does."""
        try:
            pid = self.ask("rulecore/ping")["pid"]
        except EndpointError:
            return
        assert isinstance(pid, int)
        os.kill(pid, how)

    # -- Cline

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

    @contextmanager
    def chat(self, script: Sequence[Turn], session: str | None = None) -> Iterator[Chat]:
        """A session of several prompts with a model that plays ``script``; ``session`` resumes an earlier one."""
        binary = ensure_cline()
        named = {"CLINE_API_KEY": "sk-mock", "CLINE_PROVIDER": "openai-compatible", "CLINE_MODEL": "mock-model"}
        with MockModel(script) as model:
            self._configure(model.url)
            process = subprocess.Popen(
                [binary, "--acp", "--auto-approve", "true"],
                cwd=self.workspace,
                env={**self.env, **named},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
            try:
                assert process.stdin is not None and process.stdout is not None
                yield Chat(process.stdout, process.stdin, model, self.workspace, session)
            finally:
                process.terminate()
                process.communicate(timeout=TIMEOUT_S)

    def _configure(self, url: str) -> None:
        settings = {"provider": "openai-compatible", "apiKey": "sk-mock", "model": "mock-model", "baseUrl": url}
        providers = {
            "version": 1,
            "lastUsedProvider": "openai-compatible",
            "modes": {},
            "providers": {
                "openai-compatible": {"settings": settings, "updatedAt": _AN_INSTANT, "tokenSource": "manual"}
            },
        }
        target = self.home / ".cline" / "data" / "settings" / "providers.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(providers), encoding="utf-8")


def _json_lines(text: str) -> Iterator[Json]:
    for line in text.split("\n"):
        value = json.loads(line) if line.startswith("{") else None
        if isinstance(value, dict):
            yield value
