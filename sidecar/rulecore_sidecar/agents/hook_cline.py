"""Cline's file hooks: hook JSON → request for the guard service, and its answer → hook JSON. Pure.

The same hook file serves two engines. The CLI (``tool_call``, ``tool_result``) can rewrite a call's input; VS Code
(``PreToolUse``, ``PostToolUse``, ``UserPromptSubmit``) can only add context or stop. In both, ``cancel`` ends the whole
run and the model is told nothing, so it is used for a stop and for nothing weaker.

A denial becomes, in the CLI, an input that fails at once and quotes the message (the path of an impossible file, a
command that prints and exits), never a readable answer for the same file: Cline would take that for the file's newest
content and blank the real one. In VS Code it becomes advice.

VS Code gives no results: they are rebuilt from the files (:func:`rebuilt`). What a command answered stays unknown.
Source: spec agents.md sections 1 and 3.
"""

import json
import os
import shlex
from collections.abc import Callable, Mapping
from typing import Final

from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.agents import cline
from rulecore_sidecar.agents.cline_read import read_text

ReadFile = Callable[[str], str | None]
"""Text of the file at an absolute path, or None when there is none that can be read."""

_CLI_PHASES: Final = {"tool_call": "pre", "tool_result": "post"}
_VSCODE_PHASES: Final = {"PreToolUse": "pre", "PostToolUse": "post"}
_JSON_FIELDS = frozenset(
    {"files", "file_paths", "paths", "commands", "queries", "requests", "args", "options", "start_line", "end_line",
     "insert_line", "verified"}
)  # fmt: skip
"""Parameters that Cline puts into VS Code's string map as JSON; texts of files are strings and stay so."""

_NOWHERE = "/dev/null/"
"""Below a file that is no directory nothing can exist, so nothing is read or created there."""
_REFUSED_EXIT_CODE = 97


def request(hook: JsonObject, read_file: ReadFile) -> tuple[str, dict[str, Json]] | None:
    """The method and parameters that ``hook`` stands for, or None when it is not for the guard."""
    name = _text(hook, "hookName")
    if name in _CLI_PHASES:
        return f"rulecore/guard/{_CLI_PHASES[name]}", _cli_event(hook, _CLI_PHASES[name])
    if name in _VSCODE_PHASES:
        return f"rulecore/guard/{_VSCODE_PHASES[name]}", _vscode_event(hook, _VSCODE_PHASES[name], read_file)
    if name == "UserPromptSubmit":
        prompt = _text(_object(hook, "userPromptSubmit"), "prompt")
        return "rulecore/session/prompt", {**_who(_text(hook, "taskId")), "text": prompt}
    return None


def answer(hook: JsonObject, decision: JsonObject) -> dict[str, Json]:
    """``decision`` as the hook's JSON; ``{}`` when there is nothing to say."""
    action, message = _text(decision, "action"), _text(decision, "message")
    if not message:
        return {}
    if action == "stop":
        return {"cancel": True, "errorMessage": message}
    if action == "deny" and _text(hook, "hookName") == "tool_call":
        override = _refusal(_text(_object(hook, "tool_call"), "name"), message)
        return {"contextModification": message} | ({} if override is None else {"overrideInput": override})
    if action == "deny":
        return {"contextModification": f"Advice (this surface cannot hold a call back, it went ahead): {message}"}
    return {"contextModification": message}


def _refusal(tool: str, message: str) -> Json:
    """An input for ``tool`` that does nothing and brings ``message`` back as the error, or None."""
    line = " ".join(message.split())
    path = f"{_NOWHERE}{line}"
    refusals: dict[str, Json] = {
        "read_files": {"files": [{"path": path}]},
        "editor": {"path": path, "insert_line": 1, "new_text": ""},
        "apply_patch": {"input": f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"},
        "run_commands": {"commands": [f"printf '%s\\n' {shlex.quote(line)}; exit {_REFUSED_EXIT_CODE}"]},
    }
    return refusals.get(tool)


# ---- events


def _cli_event(hook: JsonObject, phase: str) -> dict[str, Json]:
    called = _object(hook, "tool_call" if phase == "pre" else "tool_result")
    session = _text(_object(hook, "sessionContext"), "rootSessionId") or _text(hook, "taskId")
    agent_id = _text(hook, "agent_id") if hook.get("parent_agent_id") else "main"
    event = _event(hook, phase, session, _text(called, "name"), called.get("input"))
    event |= {"agent_id": agent_id or "main", "call_id": _text(called, "id")}
    if isinstance(iteration := hook.get("iteration"), int):
        event |= {"turn": iteration, "batch": str(iteration)}
    if phase == "post":
        event["raw"] = {"output": called.get("output"), "isError": bool(called.get("error"))}
    return event


def _vscode_event(hook: JsonObject, phase: str, read_file: ReadFile) -> dict[str, Json]:
    used = _object(hook, "preToolUse" if phase == "pre" else "postToolUse")
    tool, params = _text(used, "toolName"), _decoded(_object(used, "parameters"))
    event = _event(hook, phase, _text(hook, "taskId"), tool, params)
    if phase == "pre":
        return event
    given = _text(used, "result")
    output = _json(given) if given and "[object Object]" not in given else rebuilt(event, read_file)
    if output is None:
        event["result"] = {"text": None, "empty": False, "truncated": True}
    else:
        event["raw"] = {"output": output, "isError": False}
    return event


def _event(hook: JsonObject, phase: str, session: str, tool: str, params: Json) -> dict[str, Json]:
    roots = hook.get("workspaceRoots")
    cwd = next((root for root in roots if isinstance(root, str)), None) if isinstance(roots, list) else None
    return {**_who(session), "phase": phase, "tool": tool, "params": params, "cwd": cwd}


def _who(session: str) -> dict[str, Json]:
    return {"agent": "cline", "session": session, "agent_id": "main"}


def _decoded(parameters: JsonObject) -> dict[str, Json]:
    return {name: _json(value) if name in _JSON_FIELDS else value for name, value in parameters.items()}


def _json(value: Json) -> Json:
    """``value``, parsed when it is the text of a JSON value."""
    if not isinstance(value, str):
        return value
    try:
        parsed: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed


# ---- results that VS Code withholds


def rebuilt(event: JsonObject, read_file: ReadFile) -> Json:
    """The output of a read or an edit as the files show it just after the call; None for any other tool."""
    seen = cline.normalise(event)
    ops = seen["ops"] if isinstance(seen["ops"], list) else []
    if event.get("tool") == "read_files":
        return [_read_entry(op, read_file) for op in ops if isinstance(op, Mapping)]
    if event.get("tool") == "editor":
        params = _object(event, "params")
        path = next((op["path"] for op in ops if isinstance(op, Mapping) and isinstance(op.get("path"), str)), "")
        content = read_file(path) if isinstance(path, str) else None
        return _edit_entry(params, content)
    return None


def _read_entry(op: JsonObject, read_file: ReadFile) -> Json:
    path, start, end = op.get("path"), op.get("start"), op.get("end")
    content = read_file(path) if isinstance(path, str) else None
    if content is None:
        return {"result": "", "error": "Error reading file: it cannot be read", "success": False}
    first, last = (value if isinstance(value, int) else None for value in (start, end))
    return {"result": read_text(content, first, last), "success": True}


def _edit_entry(params: JsonObject, content: str | None) -> Json:
    """An edit worked when its new text stands in the file afterwards; a deletion, when the old one does not."""
    texts = (_text(params, "old_text"), _text(params, "new_text"), content or "")
    old, new, body = (text.replace("\r\n", "\n") for text in texts)
    if content is not None and (new in body if new else old not in body):
        return {"result": "", "success": True}
    return {"result": "", "error": "the edit is not in the file", "success": False}


def read_small_file(path: str, limit: int = 4 << 20) -> str | None:
    """A :data:`ReadFile` for the disk: UTF-8 text of at most ``limit`` bytes."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(fd, "rb") as stream:
            data = stream.read(limit + 1)
    except (OSError, ValueError):
        return None
    return None if len(data) > limit else data.decode("utf-8", "replace")


# ---- fields


def _text(source: JsonObject, name: str) -> str:
    value = source.get(name)
    return value if isinstance(value, str) else ""


def _object(source: JsonObject, name: str) -> JsonObject:
    value = source.get(name)
    return value if isinstance(value, Mapping) else {}
