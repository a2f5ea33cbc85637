"""SyncGuard: an edit from a stale copy is refused until the changed lines have been read again."""

import pytest
from kernel.guards.script import COMPACT, actions, edit, play, read, write_by_other

from rulecore_kernel.rules.guards import decide
from rulecore_kernel.rules.guards.events import Action, Call, FileFact, Op, OpKind, Range, Result
from rulecore_kernel.rules.guards.policy import Policy
from rulecore_kernel.rules.guards.session import Session

A = "src/a.py"


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param([read(A), edit(A, "x", "y", v="H2")], "allow", id="fresh"),
        pytest.param([read(A), write_by_other(A, "H2"), edit(A, "x", "y")], "deny", id="somebody wrote"),
        pytest.param([read(A), write_by_other(A, "H2"), read(A, v="H2"), edit(A, "x", "y")], "allow", id="read again"),
        pytest.param(
            [read(A), write_by_other(A, "H2"), write_by_other(A, "H1"), edit(A, "x", "y")], "allow", id="put back"
        ),
        pytest.param([read(A), edit(A, "x", "y", v="H2"), edit(A, "p", "q", v="H3")], "allow", id="own edits"),
        pytest.param(
            [read(A), edit(A, "x", "y", v="H2", session="other"), edit(A, "p", "q")], "deny", id="another session"
        ),
        pytest.param([read(A), edit(A, "x", "y", v="H2", agent_id="sub"), edit(A, "p", "q")], "deny", id="a sub-agent"),
        pytest.param([read(A, agent_id="sub"), edit(A, "x", "y")], "advise", id="only the sub-agent read it"),
        pytest.param([edit("new.py", "", "x")], "allow", id="a file that does not exist"),
        pytest.param([read(A), COMPACT, edit(A, "x", "y")], "allow", id="unchanged since the context was cut"),
        pytest.param([read(A), write_by_other(A, "H2"), COMPACT, edit(A, "x", "y")], "deny", id="changed, then cut"),
    ],
)
def test_stale_edits(story, expected):
    assert actions(story)[-1] == expected


def test_it_stays_denied_until_read():
    story = [read(A), write_by_other(A, "H2"), edit(A, "x", "y", error="e1"), edit(A, "p", "q", error="e2")]
    assert actions(story) == ["allow", "deny", "deny"]


def test_an_unread_file_is_advised_denied_or_left_alone_as_configured():
    story = [read(A, session="other"), edit(A, "x", "y")]
    assert [
        actions(story, Policy(unread_edit=action))[-1] for action in (Action.ADVISE, Action.DENY, Action.ALLOW)
    ] == ["advise", "deny", "allow"]


def ask(session: Session, op: Op, fact: FileFact) -> decide.Verdict:
    return decide.pre(session, Call("edit", "k", (op,)), {A: fact}, Policy())


def did(session: Session, op: Op, fact: FileFact) -> None:
    session.apply(decide.post(session, Call("t", str(op), (op,)), Result("r"), {A: fact}, Policy()).writes)


def test_only_the_changed_lines_have_to_be_read_again():
    session, editing = Session(), Op(OpKind.EDIT, A)
    did(session, Op(OpKind.READ, A), FileFact("H1", lines="d1"))
    changed = FileFact("H2", lines="d2", changed=(Range(40, 42), Range(90, 90)), who="another agent")
    refused = ask(session, editing, changed).decision
    assert refused.action is Action.DENY
    assert "another agent" in refused.message and "40-42, 90" in refused.message
    did(session, Op(OpKind.READ, A, 38, 45), changed)
    assert ask(session, editing, changed).denied
    did(session, Op(OpKind.READ, A, 80, 95), changed)
    assert not ask(session, editing, changed).denied


def test_unstable_content_is_always_stale():
    session = Session()
    did(session, Op(OpKind.READ, A), FileFact("H1"))
    assert ask(session, Op(OpKind.EDIT, A), FileFact("unstable")).denied


def test_a_cut_read_does_not_count_for_the_lines_it_left_out():
    story = [read(A), write_by_other(A, "H2"), read(A, v="H2", truncated=True), edit(A, "x", "y")]
    assert actions(story)[-1] == "deny"


def test_the_message_names_rule_file_and_way_out():
    refused = play([read(A), write_by_other(A, "H2"), edit(A, "x", "y")])[-1]
    assert refused.rule == "SyncGuard.stale_edit" and A in refused.message and "again" in refused.message
