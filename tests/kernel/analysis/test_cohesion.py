"""Cohesion: what counts as a method, and the verdicts at their bounds."""

import pytest

from rulecore_kernel.analysis import Config, Finding, analyse

DEFAULT = Config()
SMALL = Config(max_methods=1, god_methods=2, max_lines=12)


def cohesion(source: str, config: Config = DEFAULT) -> list[Finding]:
    return [f for f in analyse(source.encode(), "python", config=config) if f.rule == "Cohesion"]


def class_with(methods: int, lines: int = 0) -> str:
    body = ["class Order:", *(f"    def m{i}(self): return {i}" for i in range(methods))]
    body += ["    x = 1"] * (lines - len(body))
    return "\n".join(body) + "\n"


@pytest.mark.parametrize(
    ("methods", "lines", "severity", "decision"),
    [
        (30, 0, None, None),
        (31, 0, "information", "record_as_intent+keep_structure"),
        (40, 0, "information", "record_as_intent+keep_structure"),
        (41, 0, "warning", "suggest_refactor+request_confirmation"),
        (30, 1000, None, None),
        (30, 1001, "information", "no_action"),
        (0, 1001, "information", "no_action"),
        (31, 1001, "information", "record_as_intent+keep_structure"),
        (41, 1001, "warning", "suggest_refactor+request_confirmation"),
    ],
)
def test_verdicts_at_their_bounds(methods: int, lines: int, severity: str | None, decision: str | None) -> None:
    found = cohesion(class_with(methods, lines))
    assert [(f.severity, f.data["decision"]) for f in found] == ([(severity, decision)] if severity else [])
    if found:
        assert found[0].data["method_count"] == methods
        assert found[0].data["lines"] == max(lines, methods + 1)
        assert found[0].data["name"] == "Order"


@pytest.mark.parametrize(
    ("members", "methods"),
    [
        ("def a(self): return 1\ndef b(self): return 1", 2),
        ("def __init__(self): self.x = 1\nasync def b(self): return 1", 2),
        ("@property\ndef x(self): return 1\n@x.setter\ndef x(self, v): self.y = v", 2),
        ("@staticmethod\ndef a(): return 1\n@decorate(1)\ndef b(self): return 1", 2),
        ("@overload\ndef a(self): ...\n@typing.overload\ndef a(self, x): ...\ndef a(self, x=1): return x", 1),
        ("@abc.abstractmethod\ndef a(self): return 1\ndef b(self): return 1", 1),
        ("def a(self): ...\ndef b(self):\n    '''doc'''\n    ...\ndef c(self): return 1", 1),
        ("def a(self): pass\ndef b(self): return ...", 2),
        ("def a(self):\n    def inner(): return 1\n    return inner\nx = lambda: 1", 1),
        ("class Inner:\n    def a(self): return 1\ndef b(self): return 1", 1),
        ("if True:\n    def a(self): return 1\ndef b(self): return 1", 1),
    ],
)
def test_methods_are_counted_as_written(members: str, methods: int) -> None:
    body = "\n".join("    " + line for line in [*members.split("\n"), *["x = 1"] * 12])
    (finding,) = [f for f in cohesion(f"class A:\n{body}\n", SMALL) if f.data["name"] == "A"]
    assert finding.data["method_count"] == methods


def test_the_finding_stands_on_the_name() -> None:
    source = "x = 1\n@decorate\n" + class_with(41)
    (finding,) = cohesion(source)
    assert source.encode()[finding.start_byte : finding.end_byte] == b"Order"
    assert finding.start == (2, 6)


def test_a_nested_class_is_rated_by_itself() -> None:
    inner = "\n".join("    " + line for line in class_with(41).rstrip().split("\n"))
    assert [f.data["name"] for f in cohesion(f"class Outer:\n{inner}\n")] == ["Order"]


def test_tests_and_generated_code_are_exempt() -> None:
    assert cohesion(class_with(41), Config(path_class="test")) == []
    assert cohesion(class_with(41), Config(path_class="generated")) == []


def test_a_class_with_a_parse_error_is_not_rated() -> None:
    assert cohesion(class_with(41) + "    def broken(self:\n") == []
