"""The documents say what is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from rulecore_kernel.rules.guards.events import MESSAGE_LIMIT
from rulecore_kernel.rules.guards.session import LIMITS
from rulecore_kernel.state.config import resolve
from rulecore_sidecar import daemon, guard, rpc, store
from rulecore_sidecar.cli import app
from rulecore_sidecar.sidecar import Sidecar
from rulecore_sidecar.truth import overlay

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")])
USER_DOCUMENTS = ["README.md", "README.zh.md", "docs/guide.md", "docs/guide.zh.md", "docs/wire.md", "CONTRIBUTING.md"]


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_readme_opens_with_the_two_commands(name):
    first = re.search(r"```sh\n(.*?)```", text(name), re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == ["make demo", "make test"]


def test_ci_runs_the_readmes_test_command():
    assert text(".ci/run").rstrip().endswith("exec make test")


def commands() -> set[str]:
    found = set()

    def walk(command, path):
        found.add(" ".join(path))
        for name, sub in getattr(command, "commands", {}).items():
            walk(sub, [*path, name])

    walk(typer.main.get_command(app), ["rulecore"])
    return found


@pytest.mark.parametrize("name", USER_DOCUMENTS)
def test_every_command_named_exists(name):
    known = commands()
    for line in re.findall(r"`(rulecore [a-z][^`]*)`", text(name)) + re.findall(
        r"^(rulecore [a-z].*)", text(name), re.M
    ):
        words = [w for w in re.split(r"\s+", line.split("#")[0].split("|")[0]) if re.fullmatch(r"[a-z]+", w)]
        named = [" ".join(words[:n]) for n in (3, 2) if len(words) >= n]
        assert any(candidate in known for candidate in named), f"{name}: {line}"


def test_every_command_has_help_with_an_example():
    def walk(command, path):
        subs = getattr(command, "commands", {})
        assert command.help, path
        if not subs:
            assert "Example" in command.help + str(command.epilog), f"no example: {' '.join(path)}"
        for name, sub in subs.items():
            walk(sub, [*path, name])

    walk(typer.main.get_command(app), ["rulecore"])


def test_the_wire_page_lists_exactly_the_methods(tmp_path):
    sidecar = Sidecar(tmp_path.resolve())
    sidecar.open()
    try:
        assert set(re.findall(r"^\| `(rulecore/[a-z/]+)` \|", text("docs/wire.md"), re.M)) == set(sidecar.methods())
    finally:
        sidecar.close()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text("utf-8")):
        assert (document.parent / target).exists(), target


def test_architecture_names_only_what_exists():
    page = text("ARCHITECTURE.md")
    for path in re.findall(r"`(tests/[\w/.]+)`", page):
        assert (ROOT / path).exists(), path
    for package, room in re.findall(r"^### (\w+)/rulecore_\w+.*?$|^\| (`[^|]+) \|", page, re.M):
        if package:
            inside = ROOT / package / f"rulecore_{package}"
            continue
        for name in re.findall(r"`([\w/.]+)`", room):
            places = [inside / name, inside / f"{name}.py", inside / "rules" / name]
            assert any(path.exists() for path in places), f"{inside.name}: {name}"


def test_every_module_has_a_room_on_the_architecture_page():
    page = text("ARCHITECTURE.md")
    for package in ("kernel", "hooks", "sidecar"):
        inside = ROOT / package / f"rulecore_{package}"
        for path in inside.iterdir():
            if path.suffix == ".py" and not path.name.startswith("__"):
                assert re.search(rf"`{path.stem}(\.py)?`", page) or path.stem in text(f"{package}/README.md"), path
            elif path.is_dir() and path.name != "__pycache__":
                assert f"`{path.name}/" in page or f" {path.name}/" in page, path


@pytest.mark.parametrize(
    ("row", "number"),
    [
        ("sessions in the store / in memory", (store.MAX_SESSIONS, guard.SESSIONS_IN_MEMORY)),
        ("a session's records: calls, reads, files seen, contents", (LIMITS["calls"],)),
        ("decisions kept", (store.MAX_DECISIONS,)),
        ("connections / bytes of a line", (rpc.MAX_CONNECTIONS,)),
        ("open buffers / their text", (overlay.MAX_DOCUMENTS,)),
        ("a message to an agent", (MESSAGE_LIMIT,)),
    ],
)
def test_bounds_are_the_codes(row, number):
    (line,) = [line for line in text("ARCHITECTURE.md").splitlines() if line.startswith(f"| {row} |")]
    assert [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", line.split("|")[2])][: len(number)] == list(number)
    assert rpc.LINE_LIMIT == daemon.LOG_LIMIT == 1 << 20 and rpc.MAX_LINE_LIMIT == 64 << 20


@pytest.mark.parametrize("name", ["docs/guide.md", "docs/guide.zh.md"])
def test_every_parameter_in_the_guide_exists(name):
    (block,) = re.findall(r"```yaml\n---\n(.*?)---\n```", text(name), re.DOTALL)
    assert not resolve(None, yaml.safe_load(block)).warnings


@pytest.mark.parametrize("module", ["rulecore_sidecar.docgen", "rulecore_hooks.docgen"])
def test_generated_pages_are_fresh(module):
    done = subprocess.run([sys.executable, "-I", "-m", module, "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_names_a_machine_or_a_registry():
    names = re.compile(
        "/work/" + "main|/work/" + "shared|/root/" + "[.]|registry[.]npmjs|pypi[.]org|files[.]pythonhosted"
    )
    tracked = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True).stdout
    for name in filter(None, tracked.split("\0")):
        found = names.search((ROOT / name).read_text("utf-8", errors="replace"))
        assert found is None, f"{name}: {found and found[0]}"
