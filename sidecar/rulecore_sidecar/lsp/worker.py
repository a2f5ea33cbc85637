"""The analysis in a process of its own, so that neither its time nor a crash of a grammar reaches the guard.

Both ends are ours and speak pickles with a length in front. The child ends with its input, so it cannot outlive the
server, however that ends.

Guarantee: at most one analysis runs; a child that dies or needs longer than :data:`TIME_LIMIT` is replaced.
Source: spec architecture.md invariant 7.
"""

import asyncio
import contextlib
import logging
import os
import pickle
import struct
import subprocess
import sys
from collections import OrderedDict
from typing import BinaryIO, Final, NamedTuple, Protocol, TypeAlias

from rulecore_kernel.analysis import Config, Document, Findings

log = logging.getLogger("rulecore.lsp")

TIME_LIMIT: Final = 10.0
"""Seconds for one analysis, the start of the child included."""
MAX_DOCUMENTS: Final = 64
"""Syntax trees that the child keeps."""
_SIZE: Final = struct.Struct(">I")
_BOOT: Final = "import sys; sys.path[:] = sys.argv[1:]; from rulecore_sidecar.lsp.worker import main; main()"


class AnalysisError(Exception):
    """The analysis gave no answer; the text says why."""


class Job(NamedTuple):
    """One text to look at. ``key`` names the document whose last tree may be used again."""

    key: str
    source: bytes
    language: str
    config: Config


Answer: TypeAlias = Findings | str
"""What was found, or what went wrong."""


class Analyser(Protocol):
    """Looks at texts."""

    async def findings(self, job: Job) -> Findings:
        """What is found. Raises :class:`AnalysisError`."""


class AnalysisProcess:
    """An :class:`Analyser` that starts its child when the first job comes."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def findings(self, job: Job) -> Findings:
        """See :class:`Analyser`. A caller that is cancelled while it waits for its turn costs nothing."""
        await self._turn.acquire()
        # The answer has to be read by somebody, so a caller that is cancelled from here on leaves the task to it.
        answer = await asyncio.shield(asyncio.create_task(self._take_turn(job)))
        if isinstance(answer, str):
            raise AnalysisError(answer)
        return answer

    async def _take_turn(self, job: Job) -> Answer:
        try:
            return await asyncio.wait_for(self._ask(job), TIME_LIMIT)
        except (OSError, EOFError, TimeoutError) as error:
            await self.close()
            return f"the analysis process was replaced ({type(error).__name__})"
        finally:
            self._turn.release()

    async def _ask(self, job: Job) -> Answer:
        process = self._process or await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(_packed(job))
        await process.stdin.drain()
        (size,) = _SIZE.unpack(await process.stdout.readexactly(_SIZE.size))
        answer: Answer = pickle.loads(await process.stdout.readexactly(size))  # noqa: S301 - our own child
        return answer

    async def _start(self) -> asyncio.subprocess.Process:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-c",
            _BOOT,
            *sys.path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=os.name == "posix",
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        return self._process

    async def close(self) -> None:
        """End the child now; the next job would start another."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _packed(message: Job | Answer) -> bytes:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _SIZE.pack(len(data)) + data


def main() -> None:
    """The child: answer jobs until the input ends."""
    serve(sys.stdin.buffer, sys.stdout.buffer)


_Trees: TypeAlias = OrderedDict[tuple[str, str, Config], Document]


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Read jobs and write their answers; a job that fails is answered with the name of the error."""
    trees: _Trees = OrderedDict()
    while len(head := jobs.read(_SIZE.size)) == _SIZE.size:
        job: Job = pickle.loads(jobs.read(*_SIZE.unpack(head)))  # noqa: S301 - our own parent
        try:
            answer: Answer = _look(job, trees)
        except Exception as error:
            trees.clear()
            answer = f"the analysis failed ({type(error).__name__})"
        answers.write(_packed(answer))
        answers.flush()


def _look(job: Job, trees: _Trees) -> Findings:
    slot = (job.key, job.language, job.config)
    document = trees.pop(slot, None)
    if document is None:
        document = Document(job.source, job.language, job.config)
    else:
        document.replace(job.source)
    trees[slot] = document
    if len(trees) > MAX_DOCUMENTS:
        trees.popitem(last=False)
    return document.findings()
