"""A session with an editor: documents, diagnostics, folders, watchers."""

from pathlib import Path
from typing import Any

import pytest

from .client import FAKE_SERVER, PULLING, PUSHED, Client, edit

TODO = "# TODO x\n"


def uri_of(path: Path) -> str:
    return path.as_uri()


def place(item: Any) -> tuple[int, int, int, int]:
    start, end = item["range"]["start"], item["range"]["end"]
    return start["line"], start["character"], end["line"], end["character"]


@pytest.mark.parametrize("command", [FAKE_SERVER, [*FAKE_SERVER, "--threads"]], ids=["polled", "threads"])
def test_a_client_that_is_pushed_to(tmp_path: Path, command: list[str]) -> None:
    uri = uri_of(tmp_path / "a.py")
    with Client(command) as client:
        capabilities = client.initialize(tmp_path, PUSHED)
        assert "diagnosticProvider" not in capabilities
        assert client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["error"]["code"] == -32601
        client.open(uri, TODO)
        (item,) = client.pushed(uri, 1)
        assert place(item) == (0, 2, 0, 6)
        assert (item["source"], item["code"], item["severity"]) == ("rulecore", "todoFIXME", 1)
        assert item["codeDescription"]["href"] == "https://docs.example/rules/todoFIXME.md"
        client.change(uri, 2, edit(0, 0, 0, 0, "x = 1\n"))
        assert [place(i) for i in client.pushed(uri, 2)] == [(1, 2, 1, 6)]
        client.change(uri, 3, {"text": ""})
        assert client.pushed(uri, 3) == []
        client.change(uri, 4, {"text": TODO})
        assert len(client.pushed(uri, 4)) == 1
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert client.notification("textDocument/publishDiagnostics", uri=uri)["diagnostics"] == []


def test_a_client_that_pulls(tmp_path: Path) -> None:
    uri = uri_of(tmp_path / "a.py")
    with Client() as client:
        provider = client.initialize(tmp_path, PULLING)["diagnosticProvider"]
        assert provider == {"identifier": "rulecore", "interFileDependencies": False, "workspaceDiagnostics": False}
        client.open(uri, TODO)
        first = client.pull(uri)
        assert first["kind"] == "full"
        assert [place(i) for i in first["items"]] == [(0, 2, 0, 6)]
        assert client.pull(uri, first["resultId"]) == {"kind": "unchanged", "resultId": first["resultId"]}
        client.change(uri, 2, edit(0, 2, 0, 6, "done"))
        second = client.pull(uri, first["resultId"])
        assert (second["kind"], second["items"]) == ("full", [])
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert client.pull(uri) == {"kind": "full", "items": []}
        client.result("rulecore/echo", {})
        assert not any(m.get("method") == "textDocument/publishDiagnostics" for m in client.unexpected)


def test_a_cancelled_pull(tmp_path: Path) -> None:
    uri = uri_of(tmp_path / "a.py")
    with Client() as client:
        client.initialize(tmp_path, PULLING)
        client.open(uri, TODO)
        client.change(uri, 2, {"text": TODO})
        identity = client.start_request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        client.notify("$/cancelRequest", {"id": identity})
        assert client.answer_to(identity)["error"]["code"] == -32800
        assert len(client.pull(uri)["items"]) == 1


def test_cohesion_has_its_own_code(tmp_path: Path) -> None:
    methods = "".join(f"    def method_{n}(self) -> None:\n        return None\n\n" for n in range(45))
    uri = uri_of(tmp_path / "a.py")
    with Client() as client:
        client.initialize(tmp_path, PULLING)
        client.open(uri, f"class Large:\n{methods}")
        (item,) = client.pull(uri)["items"]
        assert (item["code"], item["severity"], place(item)) == ("Cohesion", 2, (0, 6, 0, 11))


@pytest.mark.parametrize(
    ("offered", "chosen", "column"),
    [
        (None, "utf-16", 10),
        (["utf-8", "utf-16"], "utf-8", 13),
        (["utf-32", "utf-16"], "utf-32", 9),
        (["utf-7", "utf-16"], "utf-16", 10),
    ],
)
def test_positions_in_the_clients_units(tmp_path: Path, offered: list[str] | None, chosen: str, column: int) -> None:
    uri = uri_of(tmp_path / "汉 é.py")
    general = {} if offered is None else {"general": {"positionEncodings": offered}}
    with Client() as client:
        assert client.initialize(tmp_path, {**PULLING, **general})["positionEncoding"] == chosen
        client.open(uri, "a\rb\r\n'\u2028\f\x85'\nx='é😀' #TODO\n")
        # Line 3 in every encoding: the separators of other worlds are no line ends.
        assert [place(i) for i in client.pull(uri)["items"]] == [(3, column - 1, 3, column + 3)]
        client.change(uri, 2, edit(3, column - 1, 3, column + 3, "FIXME"))
        assert [place(i) for i in client.pull(uri)["items"]] == [(3, column - 1, 3, column + 4)]
        assert client.result("rulecore/calls")[-1][2].endswith("x='é😀' #FIXME\n")


def test_the_sink_hears_of_everything_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    uri = uri_of(path)
    with Client() as client:
        client.initialize(tmp_path)
        client.open(uri, "one\r\ntwo", 3)
        client.change(uri, 4, edit(1, 3, 1, 3, "!"), edit(0, 0, 0, 3, "1"))
        client.change(uri, 7)
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}, "text": "1\r\ntwo!"})
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        changes = [{"uri": uri_of(tmp_path / name), "type": 1} for name in ("x y.py", "汉")]
        outside = [{"uri": "file:///elsewhere.py", "type": 2}, {"uri": "untitled:1", "type": 2}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": [*changes, *outside]})
        opened, *rest = client.result("rulecore/calls")
        assert opened == ["open", str(path), "one\r\ntwo", 3, f"test#{client.process.pid}"]
        assert rest == [
            ["change", str(path), "1\r\ntwo!", 4],
            ["change", str(path), "1\r\ntwo!", 7],
            ["save", str(path), "1\r\ntwo!", 7],
            ["save", str(path), None, 7],
            ["close", str(path)],
            ["touched", str(tmp_path / "x y.py"), str(tmp_path / "汉")],
        ]


def log_messages(client: Client) -> list[str]:
    client.result("rulecore/echo", {})
    return [m["params"]["message"] for m in client.unexpected if m.get("method") == "window/logMessage"]


def test_what_does_not_fit_is_ignored_and_said_once(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    uri = uri_of(path)
    with Client() as client:
        client.initialize(tmp_path)
        for _ in range(3):
            client.change(uri, 9, {"text": "not open"})
            client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
            client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        client.open(uri, "text", 5)
        for _ in range(3):
            client.change(uri, 4, {"text": "stale"})
        client.change(uri, 5, edit(0, 4, 0, 4, "!"))
        calls = [call for call in client.result("rulecore/calls") if call[0] != "close"]
        assert [(call[0], call[2]) for call in calls] == [("open", "text"), ("change", "text!")]
        said = log_messages(client)
        assert len(said) == len(set(said)) == 3
        assert all(uri in text for text in said)


def test_a_buffer_that_is_not_what_was_saved_is_replaced(tmp_path: Path) -> None:
    uri = uri_of(tmp_path / "a.py")
    with Client() as client:
        client.initialize(tmp_path, PULLING)
        client.open(uri, "x")
        assert client.pull(uri)["items"] == []
        for text in (TODO, TODO + TODO):
            client.notify("textDocument/didSave", {"textDocument": {"uri": uri}, "text": text})
        assert len(client.pull(uri)["items"]) == 2
        assert len(log_messages(client)) == 1
        client.change(uri, 2, edit(1, 0, 2, 0, ""))
        assert client.result("rulecore/calls")[-1][2] == TODO


def test_a_change_that_cannot_be_understood_ends_the_trust_in_the_buffer(tmp_path: Path) -> None:
    uri = uri_of(tmp_path / "a.py")
    with Client() as client:
        client.initialize(tmp_path, PULLING)
        client.open(uri, TODO)
        client.change(uri, 2, {"range": {"start": {"line": -1}}, "text": "x"})
        assert client.result("rulecore/calls")[-1] == ["close", str(tmp_path / "a.py")]
        assert client.pull(uri)["items"] == []
        client.open(uri, TODO, 3)
        assert len(client.pull(uri)["items"]) == 1


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("untitled:Untitled-1", 1),
        ("git:/repo/a.py?ref=HEAD", 0),
        ("vscode-notebook-cell:/w/a.ipynb#W0", 0),
        ("file:///elsewhere/a.py", 0),
        ("file://server/share/a.py", 0),
        ("file:///c%3A/Users/a.py", 0),
        ("not a uri", 0),
        ("", 0),
    ],
)
def test_documents_that_are_no_files_of_the_workspace(tmp_path: Path, uri: str, found: int) -> None:
    with Client() as client:
        client.initialize(tmp_path, PULLING)
        client.open(uri, TODO)
        client.change(uri, 2, edit(0, 0, 0, 0, "#\n"))
        assert len(client.pull(uri)["items"]) == found
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}, "text": TODO})
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert client.result("rulecore/calls") == []


def test_without_a_folder_there_is_no_guard_but_there_are_diagnostics(tmp_path: Path) -> None:
    uri = uri_of(tmp_path / "a.py")
    with Client() as client:
        client.initialize(None, PULLING)
        client.open(uri, TODO)
        assert len(client.pull(uri)["items"]) == 1
        assert "open a folder" in client.request("rulecore/echo", {})["error"]["message"]


def test_services_that_do_not_start_are_said_aloud(tmp_path: Path) -> None:
    with Client([*FAKE_SERVER, "--broken"]) as client:
        client.initialize(tmp_path, PULLING)
        assert "the lock is held" in client.notification("window/showMessage")["message"]
        uri = uri_of(tmp_path / "a.py")
        client.open(uri, TODO)
        assert len(client.pull(uri)["items"]) == 1


def test_a_client_that_does_not_wait_for_initialize(tmp_path: Path) -> None:
    uri = uri_of(tmp_path / "a.py")
    with Client() as client:
        hello = client.start_request("initialize", {"rootUri": uri_of(tmp_path), "capabilities": PULLING})
        client.notify("initialized", {})
        client.open(uri, TODO, 3)
        client.change(uri, 4, {"text": TODO + TODO})
        assert len(client.pull(uri)["items"]) == 2
        assert "capabilities" in client.answer_to(hello)["result"]
        assert client.result("rulecore/calls")[-1][2:4] == [TODO + TODO, 4]


@pytest.mark.parametrize("how", ["rootUri", "rootPath"])
def test_the_one_root_of_older_clients(tmp_path: Path, how: str) -> None:
    root = {"rootUri": uri_of(tmp_path), "rootPath": str(tmp_path)}[how]
    with Client() as client:
        client.initialize(None, PUSHED, **{how: root})
        assert client.result("rulecore/root") == str(tmp_path)


def test_folders_come_and_go(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "one" / "two"
    folder = {"uri": uri_of(two), "name": "two"}
    inner = uri_of(two / "a.py")
    with Client() as client:
        client.initialize(one)
        client.open(inner, "text", 3)
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
        while client.result("rulecore/root", {"cwd": str(two / "x")}) != str(two):
            pass
        assert client.result("rulecore/root", {"path": str(one / "x")}) == str(one)
        assert client.result("rulecore/root", {}) == str(one)
        (opened,) = client.result("rulecore/calls", {"root": str(two)})
        assert opened[:4] == ["open", str(two / "a.py"), "text", 3]
        assert client.result("rulecore/calls", {"root": str(one)})[-1] == ["close", str(two / "a.py")]
        client.change(inner, 4, {"text": "new"})
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
        while client.result("rulecore/root", {"root": str(two)}) != str(one):
            pass
        client.wait_for_stderr("stopped two")
        assert client.result("rulecore/calls")[-1][:4] == ["open", str(two / "a.py"), "new", 4]
        assert client.stderr.count(b"started two") == 1


def test_watchers_are_asked_for_when_the_client_can(tmp_path: Path) -> None:
    watching = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
    with Client() as client:
        client.initialize(tmp_path, watching)
        wish = client.wait_for(lambda m: m.get("method") == "client/registerCapability")
        (registration,) = wish["params"]["registrations"]
        assert registration["method"] == "workspace/didChangeWatchedFiles"
        assert registration["registerOptions"] == {"watchers": [{"globPattern": "**/*"}]}
        client.send({"jsonrpc": "2.0", "id": wish["id"], "error": {"code": -32601, "message": "no"}})
        client.send({"jsonrpc": "2.0", "id": wish["id"], "result": None})
        assert client.result("rulecore/echo", {}) == {}
    with Client() as client:
        client.initialize(tmp_path, PUSHED)
        client.result("rulecore/echo", {})
        assert not any(m.get("method") == "client/registerCapability" for m in client.unexpected)


@pytest.mark.parametrize("how", ["watched", "saved"])
def test_new_parameters_of_the_project_count_at_once(tmp_path: Path, how: str) -> None:
    uri, project = uri_of(tmp_path / "a.py"), uri_of(tmp_path / ".aiWork" / "project.md")
    refreshing = {**PULLING, "workspace": {"diagnostics": {"refreshSupport": True}}}
    with Client() as client:
        client.initialize(tmp_path, refreshing)
        client.open(uri, TODO)
        client.open(project, "", language="markdown")
        assert len(client.pull(uri)["items"]) == 1
        client.result("rulecore/allow", {"rule": "todoFIXME"})
        if how == "saved":
            client.notify("textDocument/didSave", {"textDocument": {"uri": project}})
        else:
            client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": project, "type": 2}]})
        refresh = client.wait_for(lambda m: m.get("method") == "workspace/diagnostic/refresh")
        client.send({"jsonrpc": "2.0", "id": refresh["id"], "result": None})
        assert client.pull(uri)["items"] == []


def test_the_class_of_a_path_counts(tmp_path: Path) -> None:
    methods = "".join(f"    def method_{n}(self) -> None: ...\n    x = 1\n" for n in range(45))
    with Client() as client:
        client.initialize(tmp_path, PULLING)
        for name, found in (("vendor/a.py", 0), ("src/a.py", 1)):
            uri = uri_of(tmp_path / name)
            client.open(uri, f"{TODO}class A:\n{methods}")
            assert len(client.pull(uri)["items"]) == found


def test_a_file_over_the_caps_says_so(tmp_path: Path) -> None:
    uri = uri_of(tmp_path / "a.py")
    with Client() as client:
        client.initialize(tmp_path, PULLING)
        client.open(uri, "# x\n" * 2_000_000)
        (item,) = client.pull(uri)["items"]
        assert (item["code"], item["severity"]) == ("skipped", 3)


def test_a_uri_may_be_escaped_in_two_ways(tmp_path: Path) -> None:
    uri, other = uri_of(tmp_path / "a b.py"), f"{uri_of(tmp_path)}/a%20%62.py"
    with Client() as client:
        client.initialize(tmp_path, PUSHED)
        client.open(uri, "")
        assert client.pushed(uri, 1) == []
        client.change(other, 2, {"text": TODO})
        assert len(client.pushed(uri, 2)) == 1
        client.notify("textDocument/didClose", {"textDocument": {"uri": other}})
        assert client.pushed(uri, None) == []
        assert [call[:2] for call in client.result("rulecore/calls")] == [
            [kind, str(tmp_path / "a b.py")] for kind in ("open", "change", "close")
        ]


def test_other_languages_are_left_alone(tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(tmp_path, PULLING)
        uri = uri_of(tmp_path / "readme.md")
        client.open(uri, TODO, language="markdown")
        assert client.pull(uri)["items"] == []


def test_opening_twice_takes_the_second_text(tmp_path: Path) -> None:
    uri = uri_of(tmp_path / "a.py")
    with Client() as client:
        client.initialize(tmp_path, PULLING)
        client.open(uri, "x", 9)
        client.open(uri, TODO, 1)
        assert len(client.pull(uri)["items"]) == 1
        client.change(uri, 2, edit(0, 0, 1, 0, ""))
        assert client.pull(uri)["items"] == []
