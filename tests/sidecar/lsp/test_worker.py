"""The analysis in its own process."""

import asyncio
import io
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Coroutine

import pytest

from rulecore_kernel.analysis import Config, Findings
from rulecore_sidecar.lsp import worker
from rulecore_sidecar.lsp.worker import AnalysisError, AnalysisProcess, Job

DEFAULT = Config()


def job(source: bytes = b"# TODO x\n", key: str = "k", config: Config = DEFAULT) -> Job:
    return Job(key, source, "python", config)


def rules(findings: Findings) -> list[str]:
    return [finding.rule for finding in findings]


def run(test: Callable[[AnalysisProcess], Coroutine[object, object, None]]) -> None:
    async def inside() -> None:
        analysis = AnalysisProcess()
        try:
            await test(analysis)
        finally:
            await analysis.close()

    asyncio.run(inside())


def test_texts_are_looked_at_again_and_again() -> None:
    async def test(analysis: AnalysisProcess) -> None:
        assert rules(await analysis.findings(job())) == ["todoFIXME"]
        assert rules(await analysis.findings(job(b"x = 1\n"))) == []
        assert rules(await analysis.findings(job(b"x = 1  # FIXME\n# TODO y\n"))) == ["todoFIXME", "todoFIXME"]
        allowed = Config(allowed=frozenset({"todoFIXME"}))
        assert rules(await analysis.findings(job(config=allowed))) == []
        assert rules(await analysis.findings(job(bytes(range(256))))) == []

    run(test)


def test_jobs_at_the_same_time_get_their_own_answers() -> None:
    async def test(analysis: AnalysisProcess) -> None:
        jobs = [job(b"# TODO\n" * n, key=str(n)) for n in range(20)]
        found = await asyncio.gather(*(analysis.findings(each) for each in jobs))
        assert [len(findings) for findings in found] == list(range(20))

    run(test)


def test_cancelled_jobs_do_not_mix_up_the_answers() -> None:
    async def test(analysis: AnalysisProcess) -> None:
        for n in range(30):
            task = asyncio.create_task(analysis.findings(job(b"# TODO\n" * 200)))
            await asyncio.sleep(0.001 * (n % 7))
            task.cancel()
        assert len(await analysis.findings(job())) == 1

    run(test)


def test_a_child_that_dies_is_replaced() -> None:
    async def test(analysis: AnalysisProcess) -> None:
        await analysis.findings(job())
        assert analysis._process is not None
        analysis._process.kill()
        with pytest.raises(AnalysisError, match="replaced"):
            await analysis.findings(job())
        assert rules(await analysis.findings(job())) == ["todoFIXME"]

    run(test)


@pytest.mark.skipif(os.name != "posix", reason="stops a process by a signal")
def test_a_child_that_hangs_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(analysis: AnalysisProcess) -> None:
        await analysis.findings(job())
        assert analysis._process is not None
        analysis._process.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(worker, "TIME_LIMIT", 0.2)
        with pytest.raises(AnalysisError, match="TimeoutError"):
            await analysis.findings(job())
        monkeypatch.undo()
        assert rules(await analysis.findings(job())) == ["todoFIXME"]

    run(test)


def test_a_job_that_fails_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Findings:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(worker, "_look", fail)
    answers = io.BytesIO()
    worker.serve(io.BytesIO(worker._packed(job()) * 2), answers)
    assert answers.getvalue().count(b"ZeroDivisionError") == 2
    assert b"secret" not in answers.getvalue()


def test_trees_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MAX_DOCUMENTS", 2)
    trees: worker._Trees = OrderedDict()
    for key in "abcab":
        worker._look(job(key=key), trees)
    assert [slot[0] for slot in trees] == ["a", "b"]
