"""AW101 to AW107 over listings: one table a rule, severities, numbers, and what any listing keeps true."""

from collections.abc import Collection
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulecore_kernel.aiwork.docs import page
from rulecore_kernel.aiwork.layout import next_number, parse_name, place_of, shown
from rulecore_kernel.aiwork.naming import Listing, check_names
from rulecore_kernel.aiwork.rules import NAMING_RULES, Finding, Rule

TODAY = date(2026, 6, 9)
FIRST = "20260601-01-order-refund-flow.md"


def found(
    now: Collection[str], base: Collection[str] = (), today: date = TODAY, **more: Collection[str]
) -> list[Finding]:
    return list(check_names(Listing(now, base, **more), today))


def rules(now: Collection[str], base: Collection[str] = ()) -> list[tuple[str, str]]:
    return [(finding.rule, finding.severity) for finding in found(now, base)]


def under(folder: str, *names: str) -> list[str]:
    return [f".aiWork/{folder}/{name}" for name in names]


CLEAN = [
    ".aiWork/todo.md",
    ".aiWork/readme.md",
    ".aiWork/waivers.yml",
    ".aiWork/assets/Any Thing.PNG",
    ".aiWork/assets/deep/er/图.svg",
    *under("requirements", FIRST, ".gitkeep", "archive/.gitkeep"),
    *under("drafts", FIRST, "archive/20260602-02-open-points-left.md"),
    *under("decision", FIRST, "20260603-99-use-one-store.md", "20260604-100-use-a-store.md"),
    *under("concepts", "20260610-01-tomorrow-is-allowed.md", "20240229-07-a-leap-day.md"),
    "packages/a/.aiWork/requirements/" + FIRST,
    "src/Order Refund.md",
    "docs/aiWork/requirements/x.md",
    "x.aiWork/notes.md",
]


def test_what_follows_the_layout_is_clean() -> None:
    assert found(CLEAN) == []


WRONG_FORM = [
    ("Order Refund.md", "does not start with a date", "20260609-02-order-refund.md"),
    ("20260602.md", "does not start with a date", "20260602-02-<3 to 5 English words>.md"),
    ("2026-06-02-07-order-flow.md", "does not start with a date", "20260602-07-order-flow.md"),
    ("20260602-order-flow.md", "no number", "20260602-02-order-flow.md"),
    ("20260602-1-order-flow.md", "the number is not two digits", "20260602-02-order-flow.md"),
    ("20260602-3-order-flow.md", "the number is not two digits", "20260602-03-order-flow.md"),
    ("20260602-00-order-flow.md", "the number is not two digits", "20260602-02-order-flow.md"),
    ("20260602-007-order-flow.md", "the number is not two digits", "20260602-07-order-flow.md"),
    ("20260602-04-Order-Flow.md", "words of a-z and 0-9", "20260602-04-order-flow.md"),
    ("20260602-04-order_flow.md", "words of a-z and 0-9", "20260602-04-order-flow.md"),
    ("20260602-04-order--flow.md", "words of a-z and 0-9", "20260602-04-order-flow.md"),
    ("20260602-04-order-flow-.md", "words of a-z and 0-9", "20260602-04-order-flow.md"),
    ("20260602-04-order flow.MD", "words of a-z and 0-9", "20260602-04-order-flow.md"),
    ("20260602-04-.md", "words of a-z and 0-9", "20260602-04-<3 to 5 English words>.md"),
    ("20260602-04-a\nb.md", "words of a-z and 0-9", "20260602-04-a-b.md"),
    ("20991231-4-from-the-future.md", "the number is not two digits", "20260609-04-from-the-future.md"),
    ("20260231-4-no-such-day.md", "the number is not two digits", "20260609-04-no-such-day.md"),
    ("20260602-99999-" + "a" * 250 + ".md", "words of a-z and 0-9", "20260602-02-" + "a" * 250 + ".md"),
]


@pytest.mark.parametrize(("name", "problem", "proposal"), WRONG_FORM)
def test_aw101_says_what_is_wrong_and_proposes_a_name(name: str, problem: str, proposal: str) -> None:
    (finding,) = found(under("requirements", FIRST, name))
    assert (finding.rule, finding.severity, finding.line, finding.column) == ("AW101", "error", 1, 1)
    assert finding.path == f".aiWork/requirements/{name}"
    assert finding.message.startswith(f"{shown(name)} is not YYYYMMDD-NN-summary.md: ")
    assert problem in finding.message
    assert finding.message.endswith(f"Rename it to {proposal}.")


@pytest.mark.parametrize(
    "name", ["订单退款.md", "20260602-02-订单退款.md", "20260602-02-订单-refund.md", "２０２６０６０２-01-a.md"]
)
def test_aw101_explains_a_summary_that_is_not_english(name: str) -> None:
    (finding,) = found(under("requirements", FIRST, name))
    assert "the summary is not made of English words" in finding.message
    assert "-02-<3 to 5 English words>.md. Choose the English words yourself" in finding.message
    assert "`keywords: […]`" in finding.message


def test_aw101_proposes_a_name_of_its_own_to_each_file() -> None:
    messages = [finding.message for finding in found(under("drafts", "a b c.md", "d e f.md", "1-g h.md"))]
    numbers = [message.partition("Rename it to 20260609-")[2][:2] for message in messages]
    assert sorted(numbers) == ["01", "02", "03"]


@pytest.mark.parametrize("digits", ["20260231", "20261301", "20260600", "00000101", "20250229"])
def test_aw102_the_date_is_one_of_the_calendar(digits: str) -> None:
    (finding,) = found(under("drafts", f"{digits}-01-open-points-left.md"))
    assert (finding.rule, finding.severity) == ("AW102", "error")
    assert finding.message == f"{digits} is no day of the calendar: write the day as YYYYMMDD."


@pytest.mark.parametrize(
    ("digits", "today", "late"),
    [
        ("20260609", TODAY, False),
        ("20260610", TODAY, False),
        ("20260611", TODAY, True),
        ("20260101", date(2025, 12, 31), False),
        ("20260102", date(2025, 12, 31), True),
        ("99991231", TODAY, True),
    ],
)
def test_aw103_the_date_is_tomorrow_at_the_latest(digits: str, today: date, late: bool) -> None:
    findings = found(under("drafts", f"{digits}-01-open-points-left.md"), today=today)
    assert [(finding.rule, finding.severity) for finding in findings] == [("AW103", "error")] * late


@pytest.mark.parametrize(("words", "counts"), [(1, False), (2, False), (3, True), (5, True), (6, False), (9, False)])
def test_aw104_three_to_five_words_or_a_warning(words: int, counts: bool) -> None:
    name = "20260601-01-" + "-".join("abcdefghi"[:words]) + ".md"
    assert rules(under("drafts", name)) == ([] if counts else [("AW104", "warning")])
    assert rules(under("drafts", name), under("drafts", name)) == ([] if counts else [("AW104", "warning")])


@pytest.mark.parametrize(
    ("path", "target"),
    [
        (".aiwork/requirements/" + FIRST, ".aiWork"),
        ("a/.AIWORK/x", "a/.aiWork"),
        (".aiWor\u212a/x", ".aiWork"),
        (".aiWork/Requirements/" + FIRST, ".aiWork/requirements"),
        (".aiWork/Assets/x.png", ".aiWork/assets"),
        (".aiWork/drafts/Archive/" + FIRST, ".aiWork/drafts/archive"),
        (".aiWork/README.md", ".aiWork/readme.md"),
        ("a/.aiWork/Todo.md", "a/.aiWork/todo.md"),
    ],
)
def test_aw105_fixed_names_are_spelled_exactly(path: str, target: str) -> None:
    (finding,) = found([path])
    assert (finding.rule, finding.severity, finding.path) == ("AW105", "error", path)
    assert finding.message.endswith(f"rename it to {target}.")


def test_aw105_is_said_once_for_a_folder_at_its_first_new_file() -> None:
    now = [f".aiwork/drafts/{letter}.md" for letter in "abc"]
    assert [(finding.path, finding.severity) for finding in found(now, now[:1])] == [(now[1], "error")]
    assert [(finding.path, finding.severity) for finding in found(now, now)] == [(now[0], "warning")]


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        (".aiWork/notes.md", "this is no place of .aiWork"),
        (".aiWork/ideas/" + FIRST, "this is no place of .aiWork"),
        (".aiWork/requirements", "this is no place of .aiWork"),
        (".aiWork/todo.md/x", "this is no place of .aiWork"),
        (".aiWork/archive/" + FIRST, "this is no place of .aiWork"),
        (".aiWork/decision/2026/" + FIRST, "decision/ has no folder but archive/"),
        (".aiWork/decision/archive/2026/" + FIRST, "decision/ has no folder but archive/"),
        (".aiWork/drafts/sketch.png", "a document is a .md file"),
        (".aiWork/drafts/archive/notes", "a document is a .md file"),
    ],
)
def test_aw106_nothing_stands_elsewhere(path: str, advice: str) -> None:
    (finding,) = found([path])
    assert (finding.rule, finding.severity) == ("AW106", "error")
    assert finding.message.startswith(advice)
    assert "assets/" in finding.message


class TestNumbers:
    """AW107, per folder with its archive."""

    ONE, OTHER, THIRD = (f"20260601-07-{word}-of-the-names.md" for word in ("one", "other", "third"))

    def test_a_new_file_yields_to_one_at_the_base(self) -> None:
        now = under("decision", self.ONE, self.OTHER)
        (finding,) = found(now, now[1:])
        assert (finding.rule, finding.severity, finding.path) == ("AW107", "error", now[0])
        assert finding.message == f"number 07 of .aiWork/decision is taken by {now[1]}: the next free one is 08."

    def test_two_at_the_base_are_a_warning(self) -> None:
        now = under("decision", self.ONE, self.OTHER)
        (finding,) = found(now, now)
        assert (finding.rule, finding.severity, finding.path) == ("AW107", "warning", now[1])
        assert "both are history" in finding.message

    def test_of_new_files_the_earlier_date_and_name_keeps_it(self) -> None:
        now = under("decision", "20260602-07-earlier-in-alphabet.md", self.OTHER, self.THIRD)
        findings = found(now)
        assert {finding.path for finding in findings} == {now[0], now[2]}
        assert {finding.message.rpartition(" ")[2] for finding in findings} == {"08.", "09."}

    def test_the_archive_counts(self) -> None:
        now = under("decision", self.ONE, f"archive/{self.OTHER}")
        assert [finding.path for finding in found(now, now[1:])] == [now[0]]

    def test_a_copy_in_the_archive_is_a_duplicate(self) -> None:
        now = under("decision", self.ONE, f"archive/{self.ONE}")
        assert [(finding.path, finding.severity) for finding in found(now, now[:1])] == [(now[1], "error")]

    def test_a_move_keeps_its_number(self) -> None:
        (before,), (after,) = under("decision", self.ONE), under("decision", f"archive/{self.ONE}")
        assert found([after], [before]) == []
        assert found([before], [after]) == []
        newcomer = under("decision", "20260101-07-earlier-than-all-others.md")
        assert [finding.path for finding in found([after, *newcomer], [before])] == newcomer

    def test_other_folders_and_memories_number_for_themselves(self) -> None:
        assert (
            found([*under("decision", self.ONE), *under("drafts", self.OTHER), "a/.aiWork/decision/" + self.THIRD])
            == []
        )

    def test_wide_numbers_are_compared_as_numbers(self) -> None:
        now = under("decision", "20260601-99-a-b-c.md", "20260601-100-a-b-c.md", "20260602-100-d-e-f.md")
        (finding,) = found(now)
        assert finding.message.endswith("the next free one is 101.")

    def test_a_number_of_the_base_is_not_proposed_again(self) -> None:
        now = under("decision", self.ONE, self.OTHER)
        gone = under("decision", "20260601-30-deleted-since-the-base.md")
        assert found(now, [now[0], *gone])[0].message.endswith("the next free one is 31.")

    def test_a_name_of_another_form_takes_no_number(self) -> None:
        now = under("decision", self.ONE, "20260601-07-Not Compliant.md", "20260231-07-no-such-day.md")
        assert [finding.rule for finding in found(now)] == ["AW102", "AW101"]

    def test_a_number_taken_at_the_remote(self) -> None:
        now, taken = under("decision", self.ONE), under("decision", f"archive/{self.OTHER}", self.THIRD)
        (finding,) = found(now, taken=taken)
        assert (finding.rule, finding.severity) == ("AW107", "error")
        assert f"is taken by {self.OTHER} on the remote's default branch" in finding.message
        assert found(now, base=now, taken=taken) == [], "what was there first keeps it"
        assert found(now, taken=now) == [], "the remote has this very file"
        assert found(now, taken=under("decision", f"archive/{self.ONE}")) == []

    def test_a_parent_of_a_merge_does_not_make_a_number_free(self) -> None:
        now = under("decision", self.ONE, self.OTHER)
        assert [(f.path, f.severity) for f in found(now, base=now[1:], merged=now)] == [(now[0], "error")]


@pytest.mark.parametrize(
    ("now", "rule"),
    [
        (under("drafts", "Order Refund.md"), "AW101"),
        (under("drafts", "20260231-01-no-such-day.md"), "AW102"),
        (under("drafts", "20991231-01-from-the-future.md"), "AW103"),
        ([".aiWork/README.md"], "AW105"),
        ([".aiWork/notes.md"], "AW106"),
    ],
)
def test_what_is_known_is_a_warning(now: list[str], rule: str) -> None:
    assert rules(now) == [(rule, "error")]
    assert rules(now, now) == [(rule, "warning")]
    assert [finding.severity for finding in found(now, merged=now)] == ["warning"]


NAMES = st.one_of(
    st.from_regex(r"\d{6,9}-\d{1,3}(-[a-zA-Z0-9]{0,3}){0,6}\.(md|MD|txt)", fullmatch=True),
    st.text(alphabet="ab1-_ .文\n\x00/", min_size=1, max_size=12),
)
PATHS = st.builds(
    "{}{}/{}{}".format,
    st.sampled_from(["", "a/", "a/b/"]),
    st.sampled_from([".aiWork", ".aiwork", "src"]),
    st.sampled_from(["", "drafts/", "drafts/archive/", "Drafts/", "assets/", "x/"]),
    NAMES,
)
LISTINGS = st.lists(PATHS, max_size=8, unique=True)


@given(LISTINGS, LISTINGS, LISTINGS, LISTINGS)
def test_any_listing_is_judged(now: list[str], base: list[str], merged: list[str], taken: list[str]) -> None:
    findings = found(now, base, merged=merged, taken=taken)
    assert findings == sorted(findings, key=lambda finding: (finding.path, finding.rule))
    assert {finding.path for finding in findings} <= set(now)
    assert {finding.rule for finding in findings} <= {rule.id for rule in NAMING_RULES}
    assert all("\n" not in finding.message and "\x00" not in finding.message for finding in findings)
    assert {finding.severity for finding in found(now, now)} <= {"warning"}, "history never blocks"
    assert found(list(reversed(now)), base, merged=merged, taken=taken) == findings


@given(LISTINGS)
def test_a_proposed_name_is_accepted_where_it_is_complete(now: list[str]) -> None:
    for finding in found(now):
        name = finding.message.partition("Rename it to ")[2].removesuffix(".")
        if finding.rule == "AW101" and "<" not in name and len(name) < 200:
            assert parse_name(name), name


@pytest.mark.parametrize(
    ("names", "number"),
    [
        ([], 1),
        ([FIRST], 2),
        ([FIRST, "20260601-09-a-b-c.md", "20250101-41-two-words.md"], 42),
        (["20260601-99-a-b-c.md"], 100),
        (["notes.md", "20260601-50-Not-Compliant.md", "20260231-60-no-such-day.md"], 1),
        (["20260601-" + "9" * 5000 + "-a-b-c.md"], 1),
    ],
)
def test_the_next_number_follows_the_highest(names: list[str], number: int) -> None:
    assert next_number(names) == number


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("a/.aiWork/drafts/x.md", ("a", ".aiWork", ("drafts", "x.md"))),
        (".aiWork/assets/copy/.aiWork/todo.md", (".aiWork/assets/copy", ".aiWork", ("todo.md",))),
        (".aiWork", None),
        ("a/aiWork/x", None),
    ],
)
def test_the_nearest_memory_owns_a_file(path: str, place: object) -> None:
    assert place_of(path) == place


def test_the_table_of_rules_is_complete() -> None:
    assert [rule.id for rule in NAMING_RULES] == [f"AW{number}" for number in range(101, 108)]
    tested = {name[5:10].upper() for name in globals() if name.startswith("test_aw1")} | {"AW107"}
    assert tested == {rule.id for rule in NAMING_RULES}


@pytest.mark.parametrize("rule", NAMING_RULES, ids=lambda rule: rule.id)
def test_the_examples_of_a_rule_are_judged_as_its_page_says(rule: Rule) -> None:
    wrong, right = ([_full(path) for path in paths] for paths in (rule.wrong, rule.right))
    for listing in [wrong] if rule.id == "AW107" else [[path] for path in wrong]:
        assert rule.id in {finding.rule for finding in found(listing)}, listing
    assert found(right) == []
    text = page(rule)
    assert text.index("## What") < text.index("## Why") < text.index("## Example") < text.index("## How to fix")
    assert all(path in text for path in (*rule.wrong, *rule.right))


def _full(path: str) -> str:
    """An example of a page as a path: `…` stands for a document, and the memory is left out where it is plain."""
    path = path.replace("…", FIRST)
    return path if path.casefold().startswith(".aiwork") else f".aiWork/{path}"
