"""The plugin in node, without Cline: hooks are called as Cline calls them, a fake sidecar answers."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sidecar.agents.fake import answering, result

from rulecore_sidecar.agents.cline_carriers import PLUGIN, carriers

Plain = dict[str, Any]
Decide = Callable[[Plain], object]

DRIVER = """
import { createInterface } from "node:readline";
const { default: guard } = await import(process.argv[2]);
await guard.setup({}, JSON.parse(process.argv[3]));
for await (const line of createInterface({ input: process.stdin })) {
	const { hook, context, wait } = JSON.parse(line);
	if (wait) await new Promise((resolve) => setTimeout(resolve, wait));
	let answer = null;
	try {
		if (hook) answer = (await guard.hooks[hook](context)) ?? null;
	} catch (error) {
		answer = { thrown: error.message };
	}
	console.log(JSON.stringify(answer));
}
process.exit(0);
"""
MAIN: Plain = {"agentId": "agent_1", "runId": "run_1", "iteration": 1, "messages": []}
READ: Plain = {"files": [{"path": "/w/a.py"}]}
OUTPUT = [{"query": "/w/a.py", "result": "1 | a", "success": True}]


def call(hook: str, tool: str = "read_files", call_id: str = "c1", snapshot: Plain = MAIN, **more: Any) -> Plain:
    context = {"snapshot": snapshot, "toolCall": {"toolCallId": call_id, "toolName": tool}, "input": READ, **more}
    if hook == "afterTool":
        context.setdefault("result", {"output": OUTPUT})
    return {"hook": hook, "context": context}


def model(sent: list[Plain] | None = None, snapshot: Plain = MAIN) -> Plain:
    request = {"messages": snapshot["messages"] if sent is None else sent}
    return {"hook": "beforeModel", "context": {"snapshot": snapshot, "request": request}}


def run(hook: str = "beforeRun", snapshot: Plain = MAIN) -> Plain:
    return {"hook": hook, "context": {"snapshot": snapshot}}


def said(text: str, **metadata: str) -> Plain:
    return {"role": "user", "content": [{"type": "text", "text": text}], "metadata": metadata}


def came(call_id: str, output: object = "x") -> Plain:
    return {"role": "tool", "content": [{"type": "tool-result", "toolCallId": call_id, "output": output}]}


class Node:
    """Runs steps in one plugin process; keeps what the sidecar was asked."""

    def __init__(self, folder: Path, runtime: Path) -> None:
        node = shutil.which("node")
        assert node is not None, "these tests need node on PATH"
        self.node = node
        self.folder = folder
        self.socket = runtime / "s"
        (plugin,) = (c.text for c in carriers(folder) if c.name == PLUGIN)
        config = next(line for line in plugin.split("\n") if line.startswith("const CONFIG = "))
        command = {"root": str(folder), "command": ["/bin/echo", str(self.socket)]}
        (folder / "plugin.mjs").write_text(plugin.replace(config, f"const CONFIG = {json.dumps(command)};"))
        (folder / "driver.mjs").write_text(DRIVER)
        self.asked: list[Plain] = []

    def __call__(self, *steps: Plain, decide: Decide = lambda _: None, env: Plain | None = None) -> list[Any]:
        """Answers of the hooks, in order. ``decide`` maps the params of a guard question to a decision."""

        def answer(request: Plain) -> bytes:
            guard = request["method"].startswith("rulecore/guard/")
            return result(request, decide(request["params"]) if guard else {"ok": True, "halted": False})

        with answering(self.socket, answer) as self.asked:
            return self.alone(*steps, env=env)

    def alone(self, *steps: Plain, env: Plain | None = None) -> list[Any]:
        """Without a sidecar."""
        context = json.dumps({"session": {"sessionId": "s1"}, "workspaceInfo": {"rootPath": "/w"}})
        command = [self.node, str(self.folder / "driver.mjs"), (self.folder / "plugin.mjs").as_uri(), context]
        text = "".join(json.dumps(step) + "\n" for step in steps)
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False, env=env)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def questions(self, method: str) -> list[Plain]:
        return [request["params"] for request in self.asked if request["method"] == f"rulecore/{method}"]


@pytest.fixture
def node(tmp_path: Path, runtime: Path) -> Node:
    return Node(tmp_path, runtime)


def always(action: str, **more: object) -> Decide:
    return lambda _: {"action": action, "message": "because", **more}


# -- decisions


@pytest.mark.parametrize(
    ("decision", "answer"),
    [
        ({"action": "allow", "message": ""}, None),
        ({"action": "advise", "message": "because"}, {"appendContext": "because"}),
        ({"action": "deny", "message": "because"}, {"skip": True, "reason": "because"}),
        ({"action": "stop", "message": "because"}, {"skip": True, "reason": "because"}),
        (
            {"action": "substitute", "message": "because", "substitute": {"files": []}},
            {"input": {"files": []}, "appendContext": "because"},
        ),
        ({"action": "substitute", "message": "because", "substitute": "x"}, None),
        ({"action": "advise", "message": 5}, None),
        ({"action": "deny"}, None),
        ([], None),
        ("deny", None),
    ],
)
def test_a_decision_before_a_call(node: Node, decision: object, answer: object) -> None:
    assert node(run(), call("beforeTool"), decide=lambda _: decision)[1] == answer


def test_advice_after_a_call_reaches_the_model(node: Node) -> None:
    assert node(run(), call("afterTool"), decide=always("advise"))[1] == {"appendContext": "because"}


@pytest.mark.parametrize(
    ("tool", "listed"), [("read_files", True), ("run_commands", True), ("editor", False), ("a__b", False)]
)
def test_a_refusal_looks_like_a_failed_operation_on_nothing(node: Node, tool: str, listed: bool) -> None:
    steps = (
        run(),
        call("beforeTool", tool),
        call("afterTool", tool, result={"output": {"error": "x"}, "isError": True}),
    )
    entry = {"query": "rulecore:c1", "result": "because", "error": "refused by rulecore, not run", "success": False}
    assert node(*steps, decide=always("deny"))[2] == {"result": {"output": [entry] if listed else entry}}
    assert node.questions("guard/post") == []


def test_a_refusal_belongs_to_one_call_of_one_agent(node: Node) -> None:
    sub = {**MAIN, "agentId": "agent_2", "parentAgentId": "agent_1"}
    answers = node(
        run(),
        call("beforeTool"),
        run(snapshot=sub),
        call("afterTool", snapshot=sub),
        run("afterRun", snapshot=sub),
        call("afterTool"),
        call("afterTool"),
        decide=lambda event: {"action": "deny" if event["phase"] == "pre" else "allow", "message": "because"},
    )
    assert [bool(answers[n]) for n in (3, 5, 6)] == [False, True, False]


def test_a_stop_answers_the_call_and_then_ends_the_run_with_its_reason(node: Node) -> None:
    steps = (run(), call("beforeTool"), call("afterTool"), model(), run(), model())
    answers = node(*steps, decide=always("stop"))
    assert "because" in str(answers[2]) and answers[3] == {"thrown": "because"}
    assert answers[5] is None, "the next run starts afresh"


def test_a_stop_after_a_call_is_left_in_the_context(node: Node) -> None:
    answers = node(run(), call("afterTool"), model(), decide=always("stop"))
    assert answers[1:] == [{"appendContext": "because"}, {"thrown": "because"}]


# -- what is asked


def test_the_event(node: Node) -> None:
    node(run(), call("beforeTool"), call("afterTool"))
    (pre,), (post,) = node.questions("guard/pre"), node.questions("guard/post")
    common = {
        "agent": "cline", "session": "s1", "agent_id": "main", "call_id": "c1", "tool": "read_files", "params": READ,
        "cwd": "/w", "turn": 1, "batch": "run_1:1",
    }  # fmt: skip
    assert pre == {**common, "phase": "pre"}
    assert post == {**common, "phase": "post", "raw": {"output": OUTPUT, "isError": False, "limit": 8000}}


@pytest.mark.parametrize(("limit", "units"), [(None, 8000), ("100", 100), ("junk", 8000), ("-5", 8000)])
def test_results_travel_as_the_model_sees_them(node: Node, limit: str | None, units: int) -> None:
    env = {} if limit is None else {"CLINE_MESSAGE_BUILDER_MAX_TOOL_RESULT_CHARS": limit}
    output = [{"query": "q", "result": "x" * 9_000, "success": True}, {"type": "image", "data": "x" * 9_000}]
    node(run(), call("afterTool", result={"output": output}), env={"PATH": "/usr/bin:/bin", **env})
    (post,) = node.questions("guard/post")
    text = post["raw"]["output"][0]["result"]
    assert units - 1 <= len(text) <= units and "\n\n...[truncated " in text
    assert post["raw"]["output"][1] == {"type": "image"} and post["raw"]["limit"] == units


def test_who_is_who(node: Node) -> None:
    child = {**MAIN, "agentId": "agent_2", "parentAgentId": "agent_1"}
    mate = {**MAIN, "agentId": "agent_3"}
    node(run(), *(call("beforeTool", snapshot=snapshot) for snapshot in (MAIN, child, mate, MAIN)))
    assert [event["agent_id"] for event in node.questions("guard/pre")] == ["main", "agent_2", "agent_3", "main"]


def test_a_new_session_starts_and_one_with_a_past_resumes(node: Node) -> None:
    past = {**MAIN, "messages": [{"role": "assistant", "content": []}]}
    node(run())
    assert len(node.questions("session/start")) == 1 and node.questions("session/resume") == []
    node(run(snapshot=past))
    assert len(node.questions("session/resume")) == 1 and node.questions("session/start") == []


def test_what_a_person_says_is_a_prompt_and_what_hooks_say_is_not(node: Node) -> None:
    first = [said('<user_input mode="act">你好 <b></user_input>')]
    noise = [said("<hook_context>x</hook_context>", displayRole="system"), said("[SYSTEM] go on"), came("c1")]
    steering = [said('<user_input mode="act">and this</user_input>')]
    stages = [first, first + noise, first + noise + steering]
    node(run(snapshot={**MAIN, "messages": first}), *(model(snapshot={**MAIN, "messages": m}) for m in stages))
    assert [prompt["text"] for prompt in node.questions("session/prompt")] == ["你好 <b>", "and this"]


def test_compaction_is_seen_in_what_the_request_lacks(node: Node) -> None:
    messages = [came("c1", "long"), came("c2"), came("c3")]
    snapshot = {**MAIN, "messages": messages}
    requests = [messages, messages[1:], messages[1:], [came("c1", "cut"), *messages[1:]], messages[2:]]
    node(run(), *(model(sent, snapshot) for sent in requests))
    assert len(node.questions("session/compact")) == 2


def test_call_ids_that_come_again_are_no_compaction(node: Node) -> None:
    messages = [came("call_0", "a"), came("call_0", "bb"), came("call_0", "a")]
    node(run(), model(snapshot={**MAIN, "messages": messages}))
    assert node.questions("session/compact") == []


def test_the_end_of_a_run_is_told(node: Node) -> None:
    node(run(), run("afterRun"))
    assert node.questions("session/stop") == [{"agent": "cline", "session": "s1", "agent_id": "main"}]


# -- nobody answers


def test_without_a_sidecar_every_hook_stays_silent(node: Node) -> None:
    steps = (run(), model(), call("beforeTool"), call("afterTool"), run("afterRun"))
    assert node.alone(*steps) == [None] * 5


def test_lost_calls_are_counted_and_reported(node: Node) -> None:
    gone = {"left": 1}

    def answer(request: Plain) -> bytes | None:
        if request["method"].startswith("rulecore/guard/") and gone["left"]:
            gone["left"] = 0
            return None
        return result(request, {"ok": True})

    pause: Plain = {"wait": 3_100}
    steps = (run(), call("beforeTool"), call("afterTool"), pause, call("beforeTool"), {"wait": 500}, call("beforeTool"))
    with answering(node.socket, answer) as node.asked:
        node.alone(*steps)
    assert [greeting["lost"] for greeting in node.questions("session/resume")] == [3]
    assert len(node.questions("guard/pre")) == 2


def test_strange_contexts_are_no_concern(node: Node) -> None:
    steps: list[Plain] = [
        {"hook": hook, "context": {}} for hook in ("beforeRun", "beforeModel", "beforeTool", "afterTool", "afterRun")
    ]
    assert node(*steps) == [None] * 5
