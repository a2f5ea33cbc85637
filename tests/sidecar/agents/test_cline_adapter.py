"""Cline's tools in neutral terms. The texts are what Cline 3.0.65 really answered."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar import wire
from rulecore_sidecar.agents import adapt
from rulecore_sidecar.agents.cline import normalise
from rulecore_sidecar.agents.cline_read import read_text
from rulecore_sidecar.agents.cline_result import cut_middle, delivered

CWD = os.path.abspath("/w")
A, B = os.path.join(CWD, "a.py"), os.path.join(CWD, "b.py")


def pre(tool: str, params: Json) -> dict[str, Json]:
    return normalise({"agent": "cline", "phase": "pre", "tool": tool, "params": params, "cwd": CWD})


def post(tool: str, params: Json, output: Json, **raw: Json) -> dict[str, Json]:
    event: JsonObject = {"agent": "cline", "phase": "post", "tool": tool, "params": params, "cwd": CWD}
    return normalise({**event, "raw": {"output": output, **raw}})


# -- parameters

READS: list[tuple[str, Json, list[dict[str, Json]]]] = [
    ("canonical", {"files": [{"path": A, "start_line": 3, "end_line": 9}]}, [{"path": A, "start": 3, "end": 9}]),
    ("nulls", {"files": [{"path": A, "start_line": None, "end_line": None}]}, [{"path": A}]),
    ("digits", {"files": [{"path": A, "start_line": "3", "end_line": 9.0}]}, [{"path": A, "start": 3, "end": 9}]),
    ("only an end", {"files": [{"path": A, "end_line": 9}]}, [{"path": A, "end": 9}]),
    ("one object", {"files": {"path": A}}, [{"path": A}]),
    ("strings in files", {"files": ["a.py", B]}, [{"path": A}, {"path": B}]),
    ("path", {"path": "a.py", "start_line": 2}, [{"path": A, "start": 2}]),
    ("file_path", {"file_path": A}, [{"path": A}]),
    ("filePath", {"filePath": A}, [{"path": A}]),
    ("file_paths", {"file_paths": [A, B]}, [{"path": A}, {"path": B}]),
    ("file_paths, one", {"file_paths": A}, [{"path": A}]),
    ("paths", {"paths": ["./x/../a.py"]}, [{"path": A}]),
    ("paths of objects", {"paths": [{"file_path": A}]}, [{"path": A}]),
    ("list of strings", [A, B], [{"path": A}, {"path": B}]),
    ("list of objects", [{"filePath": A, "end_line": 4}], [{"path": A, "end": 4}]),
    ("string", "a.py", [{"path": A}]),
    ("range after its path", {"files": [A, {"start_line": 2}, B]}, [{"path": A, "start": 2}, {"path": B}]),
    ("range without a path", {"files": [{"start_line": 2}, A]}, [{"path": A}]),
    ("backward range", {"files": [{"path": A, "start_line": 9, "end_line": 3}]}, [{"path": A, "start": 9, "end": 9}]),
]  # fmt: skip


@pytest.mark.parametrize(("params", "reads"), [row[1:] for row in READS], ids=[row[0] for row in READS])
def test_every_shape_of_a_read(params: Json, reads: list[dict[str, Json]]) -> None:
    assert pre("read_files", params)["ops"] == [{"kind": "read", **read} for read in reads]


def test_the_shapes_of_one_read_are_one_call() -> None:
    shapes: list[Json] = [
        {"files": [{"path": A}]},
        {"path": A},
        {"paths": [A]},
        [A],
        A,
        {"file_paths": A},
        {"filePath": A},
    ]
    assert {json.dumps(pre("read_files", shape)["params"]) for shape in shapes} == {
        json.dumps({"files": [{"path": A}]})
    }


COMMANDS: list[tuple[Json, list[str]]] = [
    ({"commands": ["ls", "pwd"]}, ["ls", "pwd"]),
    ({"commands": "ls"}, ["ls"]),
    ({"command": "ls -l"}, ["ls -l"]),
    ({"cmd": "ls"}, ["ls"]),
    ({"command": "ls", "args": ["-l", "x"]}, ["ls -l x"]),
    ([{"command": "ls", "args": ["-l"]}, "pwd"], ["ls -l", "pwd"]),
    ("ls", ["ls"]),
]


@pytest.mark.parametrize(("params", "commands"), COMMANDS)
def test_every_shape_of_a_command(params: Json, commands: list[str]) -> None:
    assert pre("run_commands", params)["ops"] == [{"kind": "exec", "command": command} for command in commands]


CHANGE: dict[str, Json] = {"kind": "edit", "path": A, "edit_kind": "change"}
FETCH: Json = {"requests": [{"url": "https://x.test", "prompt": "p"}]}
OTHERS: list[tuple[str, Json, list[dict[str, Json]]]] = [
    ("search_codebase", {"queries": ["a.*b"]}, [{"kind": "search", "query": "a.*b"}]),
    ("search_codebase", {"queries": "a"}, [{"kind": "search", "query": "a"}]),
    ("search_codebase", ["a", "b"], [{"kind": "search", "query": "a"}, {"kind": "search", "query": "b"}]),
    ("search_codebase", "a", [{"kind": "search", "query": "a"}]),
    ("fetch_web_content", FETCH, [{"kind": "fetch", "url": "https://x.test"}]),
    ("editor", {"path": "a.py", "old_text": "x", "new_text": "y"}, [CHANGE]),
    ("editor", {"path": "a.py", "insert_line": 1, "new_text": "y"}, [CHANGE]),
    ("editor", {"path": "a.py", "new_text": "y"}, [{**CHANGE, "edit_kind": "create"}]),
    ("editor", {"new_text": "y"}, [{"kind": "other"}]),
    ("ask_question", {"question": "which?"}, [{"kind": "other"}]),
    ("spawn_agent", {"task": "t"}, [{"kind": "other"}]),
    ("server__tool", {"path": "a.py"}, [{"kind": "other"}]),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "params", "ops"), OTHERS)
def test_other_tools(tool: str, params: Json, ops: list[dict[str, Json]]) -> None:
    assert pre(tool, params)["ops"] == ops


PATCH = """*** Begin Patch
*** Update File: a.py
*** Move to: 新/b.py
@@
-*** Delete File: not-a-header.py
+x
*** Add File: c.py
+*** Add File: content.py
*** Delete File: d.py
*** End Patch"""


@pytest.mark.parametrize("params", [{"input": PATCH}, PATCH])
def test_a_patch_is_known_by_its_headers(params: Json) -> None:
    found = [(os.path.relpath(str(op["path"]), CWD), op["edit_kind"]) for op in _ops(pre("apply_patch", params))]
    moved = os.path.join("新", "b.py")
    assert found == [("a.py", "rename"), (moved, "create"), ("c.py", "create"), ("d.py", "delete")]


@pytest.mark.parametrize(
    ("tool", "passive", "poll"),
    [
        ("ask_question", True, None),
        ("submit_and_exit", True, None),
        ("team_await_runs", True, True),
        ("editor", None, None),
    ],
)
def test_which_tools_ask_and_which_poll(tool: str, passive: bool | None, poll: bool | None) -> None:
    event = pre(tool, {})
    assert (event.get("passive"), event.get("poll")) == (passive, poll)


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_a_path_that_no_file_can_have_is_no_path(path: str) -> None:
    assert pre("read_files", {"path": path})["ops"] == [{"kind": "other"}]


# -- results


def entry(query: str, result: str, error: str | None = None) -> dict[str, Json]:
    failure: dict[str, Json] = {} if error is None else {"error": error}
    return {"query": query, "result": result, **failure, "success": error is None}


NOT_FOUND = "Editor operation failed: No replacement performed: text not found in /w/a.py."
ENOENT = "Error reading file: ENOENT: no such file or directory, statx '/w/a.py'"


def test_a_failing_command() -> None:
    output = [entry("exit 3", "[Command exited with code 3]\nhi\n", "Command exited with code 3")]
    event = post("run_commands", {"commands": ["exit 3"]}, output)
    assert event["exit_code"] == 3
    assert event["error"] == "Command exited with code 3\n[Command exited with code 3]\nhi\n"


def test_commands_that_worked() -> None:
    event = post("run_commands", {"commands": ["echo hi"]}, [entry("echo hi", "hi\n")])
    assert (event["exit_code"], event["error"], event["result"]) == (
        0, None, {"text": "hi\n", "empty": False, "truncated": False},
    )  # fmt: skip


def test_a_command_that_ran_out_of_time_has_no_exit_code() -> None:
    output = [entry("sleep 99", "", "Command failed: Command timed out after 30000ms")]
    event = post("run_commands", {"commands": ["sleep 99"]}, output)
    assert event["exit_code"] is None and "timed out" in str(event["error"])


def test_a_failing_edit_says_so_whatever_the_flag_beside_it() -> None:
    output = entry("edit:/w/a.py", "", NOT_FOUND)
    event = post("editor", {"path": A, "old_text": "x", "new_text": "y"}, output, isError=False)
    assert event["error"] == NOT_FOUND


def test_a_missing_file_delivers_nothing() -> None:
    event = post("read_files", {"files": [{"path": A}]}, [entry(A, "", ENOENT)])
    assert event["error"] == ENOENT and _ops(event)[0]["delivered"] == []


def test_a_call_that_cline_rejected() -> None:
    event = post("editor", {"path": A, "new_text": "y"}, {"error": "✖ Invalid input"}, isError=True)
    assert event["error"] == "✖ Invalid input"


@pytest.mark.parametrize(
    ("output", "error"),
    [({"result": "boom", "success": False}, "boom"), ({"success": False}, "failed without a message")],
)
def test_a_failure_without_an_error_text(output: Json, error: str) -> None:
    assert post("server__tool", {}, output)["error"] == error


def test_a_thrown_text_is_the_error() -> None:
    assert post("server__tool", {}, "boom", isError=True)["error"] == "boom"


def test_the_text_of_an_mcp_result() -> None:
    event = post("server__tool", {}, [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])
    assert event["result"] == {"text": "one\ntwo", "empty": False, "truncated": False}


def test_nothing_came_back() -> None:
    assert post("search_codebase", {"queries": ["x"]}, [entry("x", "")])["result"] == {
        "text": "", "empty": True, "truncated": False,
    }  # fmt: skip


def test_each_file_of_a_read_has_its_own_lines() -> None:
    params: Json = {"files": [{"path": A}, {"path": B, "start_line": 2, "end_line": 3}, {"path": A, "start_line": 5}]}
    output = [entry(A, "1 | a\n2 | b"), entry(f"{B}:2-3", "2 | x\n3 | y"), entry(f"{A}:5-EOF", "5 | e")]
    assert [op["delivered"] for op in _ops(post("read_files", params, output))] == [[[1, None]], [[2, 3]], [[5, None]]]


def test_a_result_of_another_size_delivers_nothing() -> None:
    event = post("read_files", {"files": [{"path": A}, {"path": B}]}, [entry(A, "1 | a")])
    assert [op["delivered"] for op in _ops(event)] == [[], []]


def test_an_image_delivers_no_lines() -> None:
    image = [
        {"type": "text", "text": "Successfully read image"},
        {"type": "image", "data": "…", "mediaType": "image/png"},
    ]
    event = post("read_files", {"path": A}, [{"query": A, "result": image, "success": True}])
    assert _ops(event)[0]["delivered"] == [] and event["error"] is None


DELIVERED: list[tuple[str, int | None, int | None, list[tuple[int, int | None]]]] = [
    ("1 | a\n2 | b", None, None, [(1, None)]),
    ("1 | a\n2 | b", 1, 2, [(1, 2)]),
    ("1 | a\n2 | b", 1, 9, [(1, None)]),
    ("9 | a\n10 | b", 9, None, [(9, None)]),
    (
        " 9 | a\n10 | b\n\n[Showing lines 9-10 of 44. Use start_line/end_line to read other sections.]",
        9,
        None,
        [(9, 10)],
    ),
    ("1 | a\n2 | " + "x" * 2000 + " [line truncated]\n3 | c", None, None, [(1, 1), (3, None)]),
    ("1 | a\n2 | b [line truncated]", None, None, [(1, 1)]),
    ("1 | a\n2 | b\n3 | c\n\n...[truncated 99 chars]...\n\n8 | h\n9 | i", None, None, [(1, 2), (9, None)]),
    ("1 | a\n\n...[truncated 99 chars]...\n\n1 | a", None, None, []),
    ("", None, None, [(1, None)]),
    ("", 7, None, []),
    ("no numbers at all", None, None, []),
]


@pytest.mark.parametrize(("text", "start", "end", "lines"), DELIVERED)
def test_which_lines_were_delivered(
    text: str, start: int | None, end: int | None, lines: list[tuple[int, int | None]]
) -> None:
    assert delivered(text, start, end) == lines


def test_the_cut_counts_as_javascript_does() -> None:
    cut = cut_middle("😀" * 5_000, 8_000)
    assert len(cut.encode("utf-16-le")) // 2 == 8_000 - (8_000 - len("\n\n...[truncated 2036 chars]...\n\n")) % 2
    assert cut_middle("x" * 8_000, 8_000) == "x" * 8_000


# -- properties

FIELDS = ("path", "files", "commands", "command", "args", "start_line", "input", "result", "error", "text")
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS) | st.text(), inner, max_size=5),
    max_leaves=12,
)
TOOLS = st.sampled_from(
    ["read_files", "search_codebase", "run_commands", "editor", "apply_patch", "fetch_web_content", "skills", "a__b"]
)


@settings(max_examples=400, deadline=None)
@given(tool=TOOLS, params=JSON, output=JSON, thrown=st.booleans(), limit=JSON, cwd=JSON)
def test_no_json_is_too_strange(tool: str, params: Json, output: Json, thrown: bool, limit: Json, cwd: Json) -> None:
    raw: JsonObject = {"output": output, "isError": thrown, "limit": limit}
    event = adapt({"agent": "cline", "phase": "post", "tool": tool, "params": params, "cwd": cwd, "raw": raw})
    assert adapt(event) == event
    seen = wire.event({**event, "cwd": None})
    wire.result(seen)
    wire.delivered_by(seen)


LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=60), max_size=300)


@settings(max_examples=200, deadline=None)
@given(
    lines=LINES,
    start=st.none() | st.integers(1, 320),
    count=st.none() | st.integers(0, 320),
    limit=st.integers(60, 4_000),
)
def test_a_delivered_line_was_shown_whole(lines: list[str], start: int | None, count: int | None, limit: int) -> None:
    end = None if count is None else (start or 1) + count
    content = "\n".join(lines) + "\n" if lines else ""
    shown = cut_middle(read_text(content, start, end), limit)
    width_free = {row.lstrip(" ") for row in shown.split("\n")}
    for first, last in delivered(shown, start, end):
        reach = len(lines) if last is None else last
        assert all(f"{n} | {lines[n - 1]}" in width_free for n in range(first, reach + 1) if n <= len(lines))


def _ops(event: dict[str, Json]) -> list[dict[str, Json]]:
    ops = event["ops"]
    assert isinstance(ops, list)
    return ops
