"""Cline's tools in the neutral terms of the guard service: one table, pure, for every input shape that Cline accepts.

:func:`normalise` fills an Event's ``ops`` from tool and parameters, brings the parameters into one canonical shape (two
spellings of one call are one call), and, when the Event carries Cline's own result as ``raw``, fills ``result``,
``error``, ``exit_code`` and what each read delivered. It looks at nothing but the event and never raises on a JSON
value.

``raw`` is ``{"output": …, "isError": bool, "limit": int}``; ``limit`` is how much of one string the model is shown.

Limits: patch bodies are not applied, only their headers are read; what a command or an MCP tool touches is not known.
Source: spec agents.md sections 1, 2.1, 2.4 and 3.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rulecore_kernel.values import Json, JsonObject
from rulecore_sidecar.agents.cline_result import SHOWN_UNITS, Entry, delivered, entries, shown

Op = dict[str, Json]

PASSIVE: Final = frozenset(
    {"ask_question", "submit_and_exit", "switch_to_act_mode", "skills", "team_status", "team_list_runs",
     "team_await_runs", "team_read_mailbox"}
)  # fmt: skip
"""Tools that ask, finish or look at Cline's own state: they touch no file and always pass a halt."""

POLLS: Final = frozenset({"team_status", "team_list_runs", "team_await_runs", "team_read_mailbox"})
"""Tools whose purpose is to be asked again until something has changed."""

_PATH_FIELDS = ("path", "file_path", "filePath")
_RANGE_FIELDS = frozenset({"start_line", "end_line"})
_PATCH_HEADERS: Mapping[str, str] = {
    "*** Add File: ": "create",
    "*** Update File: ": "change",
    "*** Delete File: ": "delete",
}
_PATCH_MOVE = "*** Move to: "
_MOST_DIGITS = 9


def normalise(event: JsonObject) -> dict[str, Json]:
    """``event`` with canonical ``params`` and absolute ``ops``; with ``raw`` also ``result``, ``error``, ``exit_code``.

    Fields that the event already has are kept. Paths are resolved against ``cwd``.
    """
    tool = event.get("tool")
    name = tool if isinstance(tool, str) else ""
    cwd = event.get("cwd")
    reader = _TOOLS.get(name, _other)
    params, ops = reader(event.get("params"), cwd if isinstance(cwd, str) and cwd else os.sep)
    filled: dict[str, Json] = {**event, "params": params, "ops": ops or [{"kind": "other"}]}
    if name in PASSIVE:
        filled.setdefault("passive", True)
    if name in POLLS:
        filled.setdefault("poll", True)
    raw = event.get("raw")
    if event.get("phase") == "post" and isinstance(raw, Mapping):
        _fill_result(filled, ops, raw, name)
    return filled


def _fill_result(event: dict[str, Json], ops: list[Op], raw: JsonObject, tool: str) -> None:
    limit = raw.get("limit")
    units = limit if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 else SHOWN_UNITS
    found = entries(raw.get("output"), units)
    seen = shown(found, thrown=raw.get("isError") is True)
    if tool == "read_files":
        _fill_delivered(ops, found, failed=raw.get("isError") is True)
    code = 0 if tool == "run_commands" and seen.error is None else seen.exit_code
    event.setdefault("result", {"text": seen.text, "empty": seen.empty, "truncated": seen.truncated})
    event.setdefault("error", seen.error)
    event.setdefault("exit_code", code)


def _fill_delivered(ops: list[Op], found: Sequence[Entry], *, failed: bool) -> None:
    """Entries come in the order of the files asked for; any other count is not understood: nothing was delivered."""
    for index, op in enumerate(ops):
        op["delivered"] = []
        if failed or len(found) != len(ops) or found[index].failed:
            continue
        ranges = delivered(found[index].text, _number(op.get("start")), _number(op.get("end")))
        op["delivered"] = [[start, end] for start, end in ranges]


# ---- parameters, tool by tool: (params, cwd) -> (canonical params, ops)


def _read_files(params: Json, cwd: str) -> tuple[JsonObject, list[Op]]:
    files = [entry for entry in _read_requests(params) if "path" in entry]
    ops: list[Op] = []
    for entry in files:
        op: Op = {"kind": "read", "path": _absolute(entry["path"], cwd)}
        start, end = _number(entry.get("start_line")), _number(entry.get("end_line"))
        if start is not None:
            op["start"] = max(1, start)
        if end is not None:
            op["end"] = max(1, start or 1, end)
        ops.append(op)
    return {"files": files}, ops


def _read_requests(params: Json) -> Iterator[dict[str, Json]]:
    """The files of every shape: an object, a list or a string, with or without ranges beside the paths."""
    listed: Json = params
    if isinstance(params, Mapping):
        listed = next((params[field] for field in ("files", "file_paths", "paths") if field in params), [params])
    items = listed if isinstance(listed, list) else [listed]
    pending: dict[str, Json] = {}
    for item in items:
        if isinstance(item, Mapping) and item and item.keys() <= _RANGE_FIELDS:
            pending.update(_lines(item))
            continue
        yield pending
        pending = _read_request(item)
    yield pending


def _read_request(item: Json) -> dict[str, Json]:
    if isinstance(item, str):
        return {"path": item} if _usable(item) else {}
    if isinstance(item, Mapping):
        path = next((item[field] for field in _PATH_FIELDS if field in item), None)
        if isinstance(path, str) and _usable(path):
            return {"path": path, **_lines(item)}
    return {}


def _lines(item: JsonObject) -> dict[str, Json]:
    numbers = {field: _number(item.get(field)) for field in sorted(_RANGE_FIELDS)}
    return {field: number for field, number in numbers.items() if number is not None}


def _editor(params: Json, cwd: str) -> tuple[JsonObject, list[Op]]:
    given = _object(params)
    path = given.get("path")
    if not (isinstance(path, str) and _usable(path)):
        return given, []
    creates = given.get("old_text") is None and given.get("insert_line") is None
    return given, [_edit(path, cwd, "create" if creates else "change")]


def _apply_patch(params: Json, cwd: str) -> tuple[JsonObject, list[Op]]:
    given = _object(params)
    patch = given.get("input")
    ops: list[Op] = []
    for line in patch.split("\n") if isinstance(patch, str) else ():
        moved = line.removeprefix(_PATCH_MOVE).strip()
        if line.startswith(_PATCH_MOVE) and ops and _usable(moved):
            ops[-1]["edit_kind"] = "rename"
            ops.append(_edit(moved, cwd, "create"))
            continue
        for header, kind in _PATCH_HEADERS.items():
            path = line.removeprefix(header).strip()
            if line.startswith(header) and _usable(path):
                ops.append(_edit(path, cwd, kind))
    return given, ops


def _edit(path: str, cwd: str, kind: str) -> Op:
    return {"kind": "edit", "path": _absolute(path, cwd), "edit_kind": kind}


def _run_commands(params: Json, _cwd: str) -> tuple[JsonObject, list[Op]]:
    commands: list[Json] = [text for item in _command_items(params) if (text := _command_text(item))]
    return {"commands": commands}, [{"kind": "exec", "command": command} for command in commands]


def _command_items(params: Json) -> Sequence[Json]:
    if isinstance(params, Mapping):
        if "commands" in params:
            return _list(params["commands"])
        if "command" in params:
            return [params if "args" in params else params["command"]]
        return [params.get("cmd")]
    return _list(params)


def _command_text(item: Json) -> str:
    if isinstance(item, str):
        return item
    if not isinstance(item, Mapping):
        return ""
    command, args = item.get("command"), item.get("args")
    parts = [command, *(args if isinstance(args, list) else ())]
    return " ".join(part for part in parts if isinstance(part, str))


def _search(params: Json, _cwd: str) -> tuple[JsonObject, list[Op]]:
    queries = [query for query in _list(_inside(params, "queries")) if isinstance(query, str)]
    return {"queries": queries}, [{"kind": "search", "query": query} for query in queries]


def _fetch(params: Json, _cwd: str) -> tuple[JsonObject, list[Op]]:
    requests = [request for request in _list(_inside(params, "requests")) if isinstance(request, Mapping)]
    urls = [request.get("url") for request in requests]
    return _object(params), [{"kind": "fetch", "url": url} for url in urls if isinstance(url, str)]


def _other(params: Json, _cwd: str) -> tuple[JsonObject, list[Op]]:
    return _object(params), []


_TOOLS: Final[Mapping[str, Callable[[Json, str], tuple[JsonObject, list[Op]]]]] = {
    "read_files": _read_files,
    "search_codebase": _search,
    "run_commands": _run_commands,
    "editor": _editor,
    "apply_patch": _apply_patch,
    "fetch_web_content": _fetch,
}
"""Every other tool (asking, finishing, skills, agents, teams, MCP ``server__tool``) is an op of kind ``other``."""


# ---- values


def _object(params: Json) -> JsonObject:
    """Parameters as an object; a bare value, which Cline accepts for several tools, becomes its ``input``."""
    if isinstance(params, Mapping):
        return params
    return {} if params is None else {"input": params}


def _inside(params: Json, field: str) -> Json:
    return params.get(field) if isinstance(params, Mapping) else params


def _list(value: Json) -> Sequence[Json]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _number(value: Json) -> int | None:
    """A line number, given as a number or as digits."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return int(value) if value.strip().isdecimal() and len(value) <= _MOST_DIGITS else None
    if isinstance(value, int | float) and abs(value) < 10**_MOST_DIGITS and value == int(value):
        return int(value)
    return None


def _usable(path: str) -> bool:
    """A path that a file can have: not empty, no NUL, no lone surrogate."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return bool(path) and "\0" not in path


def _absolute(path: Json, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, str(path)))
