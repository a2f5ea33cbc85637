"""Markers: what they allow, where they stand, and the reason that ours must give."""

import pytest

from rulecore_kernel.analysis import Finding, analyse

GOD = "class Order:\n" + "".join(f"    def m{i}(self): return {i}\n" for i in range(41))


def rules(source: str) -> list[str]:
    return [f.rule for f in analyse(source.encode(), "python")]


@pytest.mark.parametrize(
    "source",
    [
        "# TODO: a  rulecore: allow todoFIXME — tracked in #12",
        "# rulecore: allow todoFIXME — tracked in #12\n# TODO: a",
        "# rulecore: allow todoFIXME – an en dash\n# TODO: a",
        "# rulecore: allow todoFIXME - a hyphen\n# TODO: a",
        "# rulecore: allow todoFIXME -- two of them\n# TODO: a",
        "# rulecore: allow todoFIXME: a colon\n# TODO: a",
        "# rulecore: allow magicNumber, todoFIXME — two rules\n# TODO: a",
        "# rulecore: allow todoFIXME — 以后处理\nx = 1  # TODO: a",
        "# rulecore: allow todoFIXME — TODO: in the reason itself",
        "# TODO: a  # noqa: FIX002",
        "# TODO: a  # noqa: E501, FIX002",
        "# TODO: a  # noqa",
        "# TODO: a  # NOSONAR",
        "# TODO: a  # pylint: disable=fixme",
        "# rulecore: allow Cohesion — one table of handlers\n" + GOD,
        "# rulecore: allow Cohesion — above the decorator\n@decorate\n" + GOD,
        GOD.replace("Order:", "Order:  # pylint: disable=too-many-public-methods"),
    ],
)
def test_a_marker_allows_the_finding(source: str) -> None:
    assert rules(source + "\n") == []


@pytest.mark.parametrize(
    "source",
    [
        "# rulecore: allow magicNumber — another rule\n# TODO: a",
        "# rulecore: allow todoFIXME — too far\n\n# TODO: a",
        "x = 1  # rulecore: allow todoFIXME — behind code: its own line only\n# TODO: a",
        "# TODO: a\n# rulecore: allow todoFIXME — below",
        "x = 'rulecore: allow todoFIXME — in a string'  # TODO: a",
        "# TODO: a  # noqa: E501",
        "# TODO: a  # pylint: disable=too-many-lines",
        "# noqa: FIX002\n# TODO: a",
    ],
)
def test_a_marker_elsewhere_or_for_another_rule_does_not(source: str) -> None:
    assert rules(source + "\n") == ["todoFIXME"]


@pytest.mark.parametrize("tail", ["", " —", " - ", ":"])
def test_a_marker_without_a_reason_allows_and_is_a_warning(tail: str) -> None:
    source = f"# rulecore: allow todoFIXME{tail}\n# TODO: a\n".encode()
    (finding,) = analyse(source, "python")
    assert (finding.rule, finding.severity) == ("allowWithoutReason", "warning")
    assert finding.start == (0, 2)
    assert source[finding.start_byte : finding.end_byte].startswith(b"rulecore: allow todoFIXME")


def test_several_markers_on_two_lines_add_up() -> None:
    source = "# rulecore: allow magicNumber — a\n# TODO: a  rulecore: allow todoFIXME — b\n"
    found: tuple[Finding, ...] = analyse(source.encode(), "python")
    assert found == ()
