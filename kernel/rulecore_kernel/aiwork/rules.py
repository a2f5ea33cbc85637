"""The rules of `.aiWork` as a table: the pages of the docs are generated from it.

spec: aiwork.md §7 (`AW1xx` names and numbers)
"""

from typing import Literal, NamedTuple, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "information"]


class Finding(NamedTuple):
    """One finding about a path: line and column count from 1; a finding about a name stands at 1:1."""

    rule: str
    severity: Severity
    path: str
    line: int
    column: int
    message: str


class Rule(NamedTuple):
    """What a rule's page says. `severity` is a sentence: it depends on whether the file is new."""

    id: str
    title: str
    severity: str
    what: str
    why: str
    wrong: tuple[str, ...]
    right: tuple[str, ...]
    fix: str


NEW_IS_ERROR = "error for a file that is new; warning for one that the base has already"

NAMING_RULES: tuple[Rule, ...] = (
    Rule(
        "AW101",
        "the name has another form",
        NEW_IS_ERROR,
        "A document's file name is `YYYYMMDD-NN-summary.md`: eight digits of date, a number of two digits at least "
        "(from 01), and a summary of small English letters and digits joined by `-`.",
        "Order, numbering and recall are read off the name. A name of another form is left out of the numbering, so "
        "its number may be given out a second time.",
        ("requirements/Order Refund.md", "decision/20260609-1-auth-jwt.md", "drafts/20260609-02-订单退款.md"),
        ("requirements/20260609-01-order-refund-flow.md",),
        "Rename the file to the name that the message proposes. A Chinese title belongs into the document's H1 and its "
        "words into `keywords: [订单退款]` of the front matter, where recall finds them; the summary needs English "
        "words of your choice.",
    ),
    Rule(
        "AW102",
        "the date is not in the calendar",
        NEW_IS_ERROR,
        "The eight digits at the start of the name are a day of the calendar: year, month, day.",
        "A date that never was cannot be sorted, and it shows a typing error in the name's most used part.",
        ("drafts/20260231-01-refund-open-points.md",),
        ("drafts/20260228-01-refund-open-points.md",),
        "Rename the file with the day on which it was written.",
    ),
    Rule(
        "AW103",
        "the date lies in the future",
        NEW_IS_ERROR,
        "The date is not later than tomorrow in the project's time zone.",
        "A future date puts the document ahead of everything written until then. One day of grace is left for people "
        "in other time zones.",
        ("decision/20991231-01-use-postgres-store.md",),
        ("decision/20260609-01-use-postgres-store.md",),
        "Rename the file with today's date. When the clock is right and the day is not, set the time zone: "
        "`aiwork.timezone` in project.md or `timezone` in `.aiWork/readme.md`.",
    ),
    Rule(
        "AW104",
        "the summary has fewer than 3 or more than 5 words",
        "warning",
        "The summary has three to five words.",
        "Fewer words say too little to choose a document by, more do not fit into a list.",
        ("decision/20260609-01-auth.md",),
        ("decision/20260609-01-auth-by-jwt.md",),
        "Rename a new file; leave one that is history already. It counts for the numbering either way.",
    ),
    Rule(
        "AW105",
        "a fixed name is spelled with other capitals",
        NEW_IS_ERROR,
        "`.aiWork`, its folders and its root files are spelled exactly as in the layout.",
        "Some file systems take both spellings for one, others for two: the same commit would be one memory on one "
        "machine and two on another.",
        (".aiwork/requirements/…", ".aiWork/Requirements/…", ".aiWork/README.md"),
        (".aiWork/requirements/…", ".aiWork/readme.md"),
        "`git mv` to the exact spelling, by way of a third name on macOS and Windows.",
    ),
    Rule(
        "AW106",
        "the file stands where nothing belongs",
        NEW_IS_ERROR,
        "`.aiWork` holds requirements/, drafts/, decision/ and concepts/, each with an optional archive/ and no other "
        "folder below it, assets/ for what is no Markdown document, and the root files todo.md, readme.md and "
        "waivers.yml. git's own files (.gitkeep, .gitignore, .gitattributes) may stand anywhere.",
        "What stands elsewhere is read by nothing: not numbered, not recalled, not protected.",
        (".aiWork/notes.md", ".aiWork/drafts/sketch.png", ".aiWork/decision/2026/20260609-01-auth-by-jwt.md"),
        (".aiWork/drafts/20260609-01-auth-open-points.md", ".aiWork/assets/auth-flow.png"),
        "Move a document into its folder, anything else into assets/.",
    ),
    Rule(
        "AW107",
        "the number is taken",
        "error for a file that is new; warning when the base has both already",
        "A number names one document in a folder and its archive/ together.",
        "People and documents refer to a decision by its number; two branches that each took the next one merge "
        "without a conflict, since the files' names differ.",
        ("decision/20260609-07-auth-by-jwt.md", "decision/20260610-07-use-postgres-store.md"),
        ("decision/20260609-07-auth-by-jwt.md", "decision/20260610-08-use-postgres-store.md"),
        "Rename the new file to the next free number, which the message names. Files that are history keep theirs.",
    ),
)
