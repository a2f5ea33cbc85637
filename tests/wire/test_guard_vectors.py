"""The guard's wire, held by vectors that other languages read too: requests in order on one fresh workspace."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rulecore_sidecar import rpc
from rulecore_sidecar.sidecar import Sidecar

VECTORS = [json.loads(line) for line in Path(__file__).with_name("guard.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def methods(tmp_path_factory):
    """A sidecar's methods, without its listener."""
    root = tmp_path_factory.mktemp("wire").resolve()
    (root / "a.py").write_text("one\ntwo\nthree\n")
    sidecar = Sidecar(root)
    sidecar.open()
    yield sidecar, root
    sidecar.close()


def ask(sidecar: Sidecar, line: bytes) -> dict:
    answer = rpc.answer(line, sidecar.handle)
    assert answer is not None and answer.endswith(b"\n") and answer.count(b"\n") == 1
    return json.loads(answer)


def within(expected, found) -> bool:
    """``expected`` is contained in ``found``: objects may have more fields, ``"*"`` is any string."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(k in found and within(v, found[k]) for k, v in expected.items())
    return found == expected or (expected == "*" and isinstance(found, str))


@pytest.mark.parametrize("vector", VECTORS, ids=[v["name"] for v in VECTORS])
def test_vectors(methods, vector):
    sidecar, root = methods
    request = json.dumps(vector["request"]).replace("$ROOT", str(root)).encode()
    found = ask(sidecar, request)
    assert within(vector["answer"], found), found


TEXT = st.text(st.characters(exclude_categories=()), max_size=20)  # lone surrogates included: JSON can spell them
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
FIELDS = [
    "agent",
    "session",
    "tool",
    "params",
    "ops",
    "result",
    "error",
    "exit_code",
    "cwd",
    "turn",
    "batch",
    "call_id",
    "poll",
    "passive",
    "raw",
    "path",
    "text",
    "version",
    "editor",
    "paths",
    "lost",
    "rule",
    "args",
    "state",
    "config",
    "all",
    "phase",
]
OP_FIELDS = ["kind", "path", "start", "end", "command", "delivered", "hash", "edit_kind"]
OP_VALUES = JSON | st.sampled_from(["read", "edit", "exec", "a.py", "\0", "../x", "\udcff.py", "\ud800", 5])
OPS = st.lists(st.dictionaries(st.sampled_from(OP_FIELDS), OP_VALUES, max_size=5), max_size=3)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_json_gets_an_answer_and_never_an_internal_error(methods, data):
    sidecar, _ = methods
    method = data.draw(st.sampled_from(sorted(sidecar.methods())))
    params = data.draw(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=8))
    if data.draw(st.booleans()):
        params |= {"tool": data.draw(st.sampled_from(["t", "read_files", "run_commands"])), "ops": data.draw(OPS)}
    if data.draw(st.booleans()):
        params |= {"agent": "cline"}
    found = ask(sidecar, json.dumps({"id": 1, "method": method, "params": params}).encode())
    assert "result" in found or found["error"]["code"] in (rpc.INVALID_PARAMS, rpc.METHOD_NOT_FOUND), found


@given(st.binary(max_size=300))
def test_any_bytes_get_an_answer(methods, junk):
    sidecar, _ = methods
    answer = rpc.answer(junk.replace(b"\n", b" "), sidecar.handle)
    assert answer is None or "error" in json.loads(answer) or "result" in json.loads(answer)
