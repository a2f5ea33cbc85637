"""The real Cline, with the guard and without it: what the model is shown, what happens to the files.

Source: spec agents.md sections 2, 3 and 4.
"""

import json
from pathlib import Path

import pytest
from e2e.cline.harness import ClineRun, text_of
from e2e.cline.mock_openai import Turn, call
from e2e.cline.steps import BLANKED, SHOWN, TEXT, after, command, edit, read

from rulecore_sidecar.agents.cline_read import read_text
from rulecore_sidecar.agents.cline_result import cut_middle

pytestmark = pytest.mark.e2e

EAGER = {"CLINE_MESSAGE_BUILDER_MIN_OUTDATED_REWRITE_BYTES": "0"}
"""Cline blanks superseded copies of a file at once and not only when that pays."""


# -- redundant reads


def test_without_the_guard_a_read_is_delivered_every_time(bare: ClineRun) -> None:
    path = bare.write("a.py", TEXT)
    results = bare.run([read(path), read(path)]).results()
    assert [SHOWN in results[c] for c in ("call_0_0", "call_1_0")] == [True, True]


@pytest.mark.parametrize("env", [{}, EAGER], ids=["default", "eager"])
def test_a_redundant_read_is_refused_and_the_first_copy_stays(machine: ClineRun, env: dict[str, str]) -> None:
    path = machine.write("a.py", TEXT)
    outcome = machine.run([read(path), read(path)], env=env)
    first, second = (outcome.results()[c] for c in ("call_0_0", "call_1_0"))
    assert SHOWN in first and BLANKED not in first
    assert "IdempotencyGuard.delivered" in second and "a.py" in second and SHOWN not in second
    assert outcome.finish_reason == "completed"


def test_after_a_refusal_the_same_read_is_served(machine: ClineRun) -> None:
    path = machine.write("a.py", TEXT)
    results = machine.run([read(path), read(path), read(path)]).results()
    assert SHOWN not in results["call_1_0"] and SHOWN in results["call_2_0"]


def test_many_refusals_in_a_row_do_not_end_the_run(machine: ClineRun) -> None:
    paths = [machine.write(f"f{n}.py", TEXT) for n in range(5)]
    first = Turn(tuple(read(path).calls[0] for path in paths))
    outcome = machine.run([first, *(read(path) for path in paths)])
    results = outcome.results()
    assert all("IdempotencyGuard" in results[f"call_{n}_0"] for n in range(1, 6))
    assert outcome.finish_reason == "completed"


def test_a_changed_file_is_read_again(machine: ClineRun) -> None:
    path = machine.write("a.py", TEXT)
    script = [read(path), after(read(path), lambda: path.write_text("alpha = 9\n"))]
    assert "alpha = 9" in machine.run(script).results()["call_1_0"]


def test_duplicates_in_one_message_pass(machine: ClineRun) -> None:
    path = machine.write("a.py", TEXT)
    both = Turn(read(path).calls * 2)
    results = machine.run([both, read(path)]).results()
    assert SHOWN in results["call_0_0"] and SHOWN in results["call_0_1"]
    assert "IdempotencyGuard" in results["call_1_0"]


def test_a_cut_file_may_be_read_again_and_paged_through(machine: ClineRun) -> None:
    content = "".join(f"line {n} " + "x" * 40 + "\n" for n in range(1, 501))
    path = machine.write("big.py", content)
    pages = [read(path, start, start + 99) for start in (1, 101, 201)]
    results = machine.run([read(path), read(path), *pages, read(path, 110, 120)]).results()
    whole = json.loads(results["call_0_0"])[0]["result"]
    assert whole == cut_middle(read_text(content, None, None), 8_000), "Cline cuts to the character as the adapter says"
    assert results["call_1_0"] == results["call_0_0"]
    assert all(f"{n} | line {n}" in results[f"call_{page}_0"] for page, n in ((2, 50), (3, 150), (4, 250)))
    assert "IdempotencyGuard" in results["call_5_0"]


def test_what_read_files_shows_is_what_the_adapter_computes(bare: ClineRun) -> None:
    texts = {
        "ends.txt": "a\r\nb\rc\n\nd", "separators.txt": "a\u2028b\u2029c\x0bd\x0ce\x85f\n g\n", "empty.txt": "",
        "one.txt": "\n", "bom.txt": "\ufeffa\nb\n", "long.txt": "x" * 2_500 + "\nshort\n" + "😀" * 1_200,
        "many.txt": "".join(f"{n}\n" for n in range(1, 2_501)),
        "wide.txt": "".join(f"{n} {'y' * 70}\n" for n in range(1, 999)),
    }  # fmt: skip
    wanted: list[tuple[str, int | None, int | None]] = [(name, None, None) for name in texts]
    wanted += [("wide.txt", 10, 20), ("wide.txt", 990, 1_200), ("wide.txt", 2_000, None), ("many.txt", 5, 2_400)]
    files = []
    for name, start, end in wanted:
        path = bare.workspace / name
        path.write_bytes(texts[name].encode())
        files.append({"path": str(path), "start_line": start, "end_line": end})
    shown = json.loads(bare.run([call("read_files", {"files": files})]).results()["call_0_0"])
    assert [entry["result"] for entry in shown] == [cut_middle(read_text(texts[n], s, e), 8_000) for n, s, e in wanted]


def test_after_compaction_a_read_is_served(machine: ClineRun) -> None:
    paths = [machine.write(f"f{n}.py", "".join(f"<{n}:{m}> {'z' * 70}\n" for m in range(90))) for n in range(24)]
    batches = [
        Turn(tuple(read(path).calls[0] for path in paths[first : first + 8]), tokens=126_000 if first else None)
        for first in (0, 8, 16)
    ]
    outcome = machine.run([*batches, read(paths[0])], flags=["--compaction", "basic"])
    assert not any("<0:50>" in result for result in outcome.results(3).values()), "Cline has compacted it away"
    assert "<0:50>" in outcome.results(4)["call_3_0"]


def test_a_sub_agent_has_its_own_ledger(machine: ClineRun) -> None:
    path = machine.write("a.py", TEXT)
    spawn = call("spawn_agent", {"systemPrompt": "you read", "task": "read a.py"})
    outcome = machine.run([read(path), spawn, read(path), Turn(text="sub done"), read(path)])
    assert SHOWN in outcome.results(3)["call_2_0"], "served to the sub-agent"
    assert "IdempotencyGuard" in outcome.results()["call_4_0"], "refused to the main agent"


def test_a_resumed_session_may_read_again(machine: ClineRun) -> None:
    path = machine.write("a.py", TEXT)
    with machine.chat([read(path)]) as chat:
        assert chat.say("first thing") == "end_turn"
    with machine.chat([read(path)], session=chat.session) as later:
        assert later.say("second thing") == "end_turn"
        assert [SHOWN in text_of(m["content"]) for m in later.messages() if m["role"] == "tool"] == [True, True]


def test_over_the_loopback_transport(bare: ClineRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULECORE_TRANSPORT", "loopback")
    bare.env["RULECORE_TRANSPORT"] = "loopback"
    bare.install()
    path = bare.write("a.py", TEXT)
    outcome = bare.run([read(path), read(path)])
    bare.kill_sidecar()
    assert "IdempotencyGuard" in outcome.results()["call_1_0"]


# -- loops


def test_read_and_failing_edit_by_turns_is_broken(machine: ClineRun, tmp_path: Path) -> None:
    def alternation(on: ClineRun) -> list[Turn]:
        path = on.write("a.py", TEXT)
        return [turn for _ in range(8) for turn in (read(path), edit(path, "gamma", "delta"))]

    outcome = machine.run(alternation(machine))
    assert len(outcome.requests) < 13
    assert "OnError.calibrated" in outcome.said_by_hooks()
    assert outcome.finish_reason == "error" and "rulecore halt clear" in outcome.stderr, "the person is told why"
    free = ClineRun(tmp_path)
    assert len(free.run(alternation(free)).requests) == 17


def test_varied_failing_edits_get_the_switch_advice(machine: ClineRun) -> None:
    path = machine.write("a.py", TEXT)
    outcome = machine.run([read(path), *(edit(path, f"gamma{n}", "delta") for n in range(4))])
    assert "OnError.calibrated.b.varied" not in outcome.said_by_hooks(3)
    assert "OnError.calibrated.b.varied" in outcome.said_by_hooks(4)
    assert outcome.finish_reason == "completed"


def test_a_halt_stops_writes_until_a_person_clears_it(machine: ClineRun) -> None:
    path = machine.write("a.py", TEXT)
    stuck = [turn for n in range(6) for turn in (command("exit 3"), read(machine.write(f"f{n}.py", TEXT)))]
    touch = [command(f"touch made{n}") for n in range(2)]
    script = [*stuck[:9], *touch[:1], touch[1], read(path), Turn(text="stopped"), touch[1]]
    with machine.chat(script) as chat:
        assert "A person goes on with: rulecore halt clear" in chat.say("run it"), "five equal failures end the run"
        halted = machine.ask("rulecore/halt/get")["halts"]
        assert isinstance(halted, list) and [h["session"] for h in halted] == [chat.session]
        assert "halted" in chat.say("go on"), "the first call that is no read ends the run again"
        assert chat.say("go on") == "end_turn"
        results = list(chat.results().values())
        assert "OnError.forcehalt" in results[-2] and SHOWN in results[-1], "writes are refused, reads pass"
        assert not (machine.workspace / "made0").exists() and not (machine.workspace / "made1").exists()
        assert machine.ask("rulecore/halt/clear", all=True) == {"cleared": 1}
        assert chat.say("now go on") == "end_turn"
        assert (machine.workspace / "made1").exists()


# -- stale edits


def test_a_stale_edit_is_refused_until_the_change_was_read(machine: ClineRun) -> None:
    path = machine.write("a.py", "".join(f"line {n}\n" for n in range(1, 21)))

    def change() -> None:
        path.write_text(path.read_text().replace("line 7\n", "LINE seven\n"))

    stale = edit(path, "line 3\n", "line three\n")
    results = machine.run([read(path), after(stale, change), read(path, 7, 7), stale]).results()
    assert "SyncGuard.stale_edit" in results["call_1_0"] and "line 7" in results["call_1_0"]
    assert "Edited" in results["call_3_0"]
    assert path.read_text().startswith("line 1\nline 2\nline three\nline 4\nline 5\nline 6\nLINE seven\n")


def test_two_agents_at_once_the_second_is_told_about_the_first(machine: ClineRun) -> None:
    path = machine.write("a.py", TEXT)

    def other() -> None:
        assert machine.run([read(path), edit(path, "beta = 2", "beta = 3")]).finish_reason == "completed"

    results = machine.run([read(path), after(edit(path, "alpha = 1", "alpha = 5"), other)]).results()
    assert "SyncGuard.stale_edit" in results["call_1_0"] and "cline session" in results["call_1_0"]
    assert path.read_text() == "alpha = 1\nbeta = 3\n"


# -- names


def test_chinese_names_and_prompts(machine: ClineRun) -> None:
    path = machine.write("文档 目录/说明 (一).md", "第一行\n第二行\n")
    outcome = machine.run([read(path), read(path)], prompt="请阅读 说明文件 两遍")
    assert "请阅读 说明文件 两遍" in str(outcome.messages())
    results = outcome.results()
    assert "第二行" in results["call_0_0"] and "第二行" not in results["call_1_0"]
    assert "说明 (一).md" in results["call_1_0"]
