"""Cline's file hooks: their JSON in and out, for both engines."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.agents import adapt, hook
from rulecore_sidecar.agents.cline import normalise
from rulecore_sidecar.agents.hook_cline import answer, rebuilt, request
from rulecore_sidecar.agents.hook_merge import merge

MESSAGE = "SyncGuard.stale_edit: a.py was changed by 'somebody' else. Read line 7 again."


def no_file(_path: str) -> str | None:
    return None


def cli(name: str = "tool_call", tool: str = "read_files", **more: Json) -> JsonObject:
    called: Json = {"id": "call_1", "name": tool, "input": {"files": [{"path": "/w/a.py"}]}, **more}
    return {
        "hookName": name,
        "taskId": "conv_1",
        "sessionContext": {"rootSessionId": "s1"},
        "workspaceRoots": ["/w"],
        "agent_id": "agent_1",
        "parent_agent_id": None,
        "iteration": 4,
        name: called,
    }


def vscode(name: str, tool: str, parameters: JsonObject, **more: Json) -> JsonObject:
    field = "preToolUse" if name == "PreToolUse" else "postToolUse"
    used: Json = {"toolName": tool, "parameters": parameters, **more}
    return {"hookName": name, "taskId": "t1", "workspaceRoots": ["/w"], field: used}


def asked(hook_json: JsonObject, read_file: Callable[[str], str | None] = no_file) -> dict[str, Json]:
    found = request(hook_json, read_file)
    assert found is not None
    return {"method": found[0], **adapt(found[1])}


def test_the_cli_before_a_call() -> None:
    event = asked(cli())
    assert event["method"] == "rulecore/guard/pre"
    assert {k: event[k] for k in ("agent", "session", "agent_id", "call_id", "turn", "batch", "cwd", "ops")} == {
        "agent": "cline", "session": "s1", "agent_id": "main", "call_id": "call_1", "turn": 4, "batch": "4",
        "cwd": "/w", "ops": [{"kind": "read", "path": "/w/a.py"}],
    }  # fmt: skip


def test_the_cli_after_a_call() -> None:
    output: Json = [{"query": "/w/a.py", "result": "1 | a", "success": True}]
    event = asked(cli("tool_result", output=output))
    assert event["method"] == "rulecore/guard/post"
    assert event["ops"] == [{"kind": "read", "path": "/w/a.py", "delivered": [[1, None]]}]


def test_a_sub_agent_speaks_for_itself() -> None:
    assert asked({**cli(), "parent_agent_id": "agent_0"})["agent_id"] == "agent_1"


def test_vs_code_hands_parameters_as_text() -> None:
    event = asked(vscode("PreToolUse", "read_files", {"files": '[{"path":"/w/a.py","start_line":2}]'}))
    assert event["ops"] == [{"kind": "read", "path": "/w/a.py", "start": 2}]


def test_vs_code_file_texts_stay_texts() -> None:
    event = asked(vscode("PreToolUse", "editor", {"path": "a.json", "old_text": "[1]", "new_text": "[2]"}))
    assert event["params"] == {"path": "a.json", "old_text": "[1]", "new_text": "[2]"}


def test_vs_code_hides_results_so_the_file_is_looked_at() -> None:
    files = {"/w/a.py": "a\nb\n"}
    wanted = '[{"path":"/w/a.py"},{"path":"/w/none"}]'
    event = asked(vscode("PostToolUse", "read_files", {"files": wanted}, result="[object Object]"), files.get)
    assert [op["delivered"] for op in _ops(event)] == [[[1, None]], []]
    assert event["error"] is not None


@pytest.mark.parametrize(
    ("params", "content", "worked"),
    [
        ({"path": "/w/a", "old_text": "x", "new_text": "y"}, "a y b", True),
        ({"path": "/w/a", "old_text": "x", "new_text": "y"}, "a x b", False),
        ({"path": "/w/a", "old_text": "x\ny", "new_text": "z\ny"}, "z\r\ny", True),
        ({"path": "/w/a", "old_text": "x", "new_text": ""}, "ab", True),
        ({"path": "/w/a", "old_text": "x", "new_text": ""}, "a x b", False),
        ({"path": "/w/a", "new_text": "y"}, None, False),
    ],
)
def test_whether_an_edit_worked_is_seen_in_the_file(params: JsonObject, content: str | None, worked: bool) -> None:
    output = rebuilt({"tool": "editor", "params": params, "cwd": "/w"}, lambda _: content)
    assert isinstance(output, dict) and output["success"] is worked


def test_what_a_command_answered_in_vs_code_is_not_known() -> None:
    event = asked(vscode("PostToolUse", "run_commands", {"commands": '["ls"]'}, result="[object Object]"))
    assert event["result"] == {"text": None, "empty": False, "truncated": True}
    assert "error" not in event


def test_a_prompt_in_vs_code() -> None:
    hook_json: JsonObject = {"hookName": "UserPromptSubmit", "taskId": "t1", "userPromptSubmit": {"prompt": "你好"}}
    assert request(hook_json, no_file) == (
        "rulecore/session/prompt", {"agent": "cline", "session": "t1", "agent_id": "main", "text": "你好"},
    )  # fmt: skip


@pytest.mark.parametrize("name", ["agent_start", "prompt_submit", "TaskComplete", None])
def test_other_hooks_are_not_for_the_guard(name: str | None) -> None:
    assert request({"hookName": name}, no_file) is None


# -- answers


def decision(action: str) -> JsonObject:
    return {"action": action, "message": "" if action == "allow" else MESSAGE, "rule": "r"}


@pytest.mark.parametrize("hook_json", [cli(), vscode("PreToolUse", "editor", {})])
def test_what_both_engines_can_say(hook_json: JsonObject) -> None:
    assert answer(hook_json, decision("allow")) == {}
    assert answer(hook_json, decision("advise")) == {"contextModification": MESSAGE}
    assert answer(hook_json, decision("stop")) == {"cancel": True, "errorMessage": MESSAGE}


def test_vs_code_cannot_refuse_and_says_so() -> None:
    said = answer(vscode("PreToolUse", "editor", {}), decision("deny"))
    assert said.keys() == {"contextModification"} and MESSAGE in str(said) and "went ahead" in str(said)


@pytest.mark.parametrize("tool", ["read_files", "editor", "apply_patch", "run_commands"])
def test_the_cli_refuses_by_an_input_that_fails(tool: str) -> None:
    said = answer(cli(tool=tool), decision("deny"))
    ops = _ops(normalise({"tool": tool, "params": said["overrideInput"], "cwd": "/w"}))
    assert all("SyncGuard.stale_edit" in str(op) for op in ops)
    assert all(str(op["path"]).startswith("/dev/null/") for op in ops if "path" in op)
    assert "command" not in ops[0] or str(ops[0]["command"]).endswith("; exit 97")


def test_what_cannot_be_refused_is_advised() -> None:
    assert answer(cli(tool="server__tool"), decision("deny")) == {"contextModification": MESSAGE}


def test_a_refusal_after_the_call_is_advice() -> None:
    assert "overrideInput" not in answer(cli("tool_result"), decision("deny"))


def test_the_way_through() -> None:
    heard: list[tuple[str, JsonObject]] = []

    def handle(method: str, params: JsonObject) -> Json:
        heard.append((method, params))
        return decision("advise")

    assert hook({"agent": "cline", "raw": cli(), "reply": "raw"}, handle) == {"contextModification": MESSAGE}
    assert heard[0][0] == "rulecore/guard/pre"
    assert hook({"agent": "nobody", "raw": cli()}, handle) == {}
    assert hook({"agent": "cline", "raw": 5}, handle) == {}


VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
HOOK_FIELDS = (
    "taskId", "sessionContext", "workspaceRoots", "agent_id", "parent_agent_id", "iteration", "tool_call",
    "tool_result", "preToolUse", "postToolUse", "userPromptSubmit",
)  # fmt: skip
NAMES = st.sampled_from(["tool_call", "tool_result", "PreToolUse", "PostToolUse", "UserPromptSubmit", "x"])


@settings(max_examples=300, deadline=None)
@given(
    name=NAMES, fields=st.dictionaries(st.sampled_from(HOOK_FIELDS), VALUES), said=st.dictionaries(st.text(), VALUES)
)
def test_no_hook_json_is_too_strange(name: str, fields: dict[str, Json], said: dict[str, Json]) -> None:
    raw: JsonObject = {**fields, "hookName": name}
    json.dumps(hook({"agent": "cline", "raw": raw}, lambda _method, _params: said))


# -- two hooks' answers as one


STOP: dict[str, object] = {"cancel": True, "errorMessage": "no"}


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        ({"contextModification": "a"}, {"contextModification": "b"}, {"contextModification": "a\n\nb"}),
        ({"contextModification": "a"}, STOP, {"contextModification": "a", **STOP}),
        ({"cancel": True, "errorMessage": "a"}, {"cancel": False}, {"cancel": True, "errorMessage": "a"}),
        ({"overrideInput": 1}, {"overrideInput": 2, "review": True}, {"overrideInput": 2, "review": True}),
    ],
)  # fmt: skip
def test_merged_answers(ours: dict[str, object], theirs: dict[str, object], both: dict[str, object]) -> None:
    assert merge(ours, theirs) == both


def _ops(event: JsonObject) -> list[dict[str, Json]]:
    ops = event["ops"]
    assert isinstance(ops, list)
    return ops
