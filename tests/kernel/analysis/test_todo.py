"""todoFIXME: which comments are tags, where the finding stands, and what is left alone."""

import pytest

from rulecore_kernel.analysis import Config, Finding, analyse

DEFAULT = Config()


def todo(source: str, config: Config = DEFAULT) -> list[Finding]:
    return [f for f in analyse(source.encode(), "python", config=config) if f.rule == "todoFIXME"]


@pytest.mark.parametrize(
    ("comment", "tag"),
    [
        ("# TODO: write it", "TODO"),
        ("# todo write it", "TODO"),
        ("#TODO", "TODO"),
        ("# FixMe later", "FIXME"),
        ("## XXX", "XXX"),
        ("# - HACK around it", "HACK"),
        ("#! BUG-12", "BUG"),
        ("# <STOPSHIP>", "STOPSHIP"),
        ("# TODO修复这里", "TODO"),
        ("# see below, TODO: write it", "TODO"),
        ("# see below FIXME(mei) write it", "FIXME"),
        ("# 这里需要处理 TODO：退款", "TODO"),
        ("x = 1  # noqa: C901  # FIXME", "FIXME"),
        ("x = 1  # TODO: trailing", "TODO"),
        ("def f():\n    # TODO: indented\n    pass", "TODO"),
    ],
)
def test_a_tag_is_an_error(comment: str, tag: str) -> None:
    (finding,) = todo(comment + "\n")
    assert (finding.severity, finding.data) == ("error", {"tag": tag})


@pytest.mark.parametrize(
    "source",
    [
        "# todos are listed elsewhere",
        "# AutoDown and Todorov",
        "# TODO_LIST is a name",
        "# the todo: prose",
        "# a TODO in the middle",
        "# a colour like #xxx",
        "# aTODO: no word of its own",
        "x = '# TODO: in a string'",
        'def f():\n    """TODO: in a docstring"""',
        'x = f"""\n# TODO: {1}\n"""',
        "TODO = 1",
        "x = 1",
    ],
)
def test_words_strings_and_prose_are_no_tags(source: str) -> None:
    assert todo(source + "\n") == []


def test_the_finding_covers_the_tag_in_bytes() -> None:
    source = "x = '订单'  # 退款 TODO: y\n"
    (finding,) = todo(source)
    assert source.encode()[finding.start_byte : finding.end_byte] == b"TODO"
    start = source.encode().index(b"TODO")
    assert (finding.start, finding.end) == ((0, start), (0, start + 4))


def test_findings_are_sorted_and_one_per_comment_line() -> None:
    found = todo("# TODO: a\nx = 1\n# FIXME: b TODO: c\n")
    assert [(f.start.row, f.data["tag"]) for f in found] == [(0, "TODO"), (2, "FIXME")]


def test_crlf_lines_count_as_one() -> None:
    assert [f.start for f in todo("x = 1\r\n# TODO: a\r\n")] == [(1, 2)]


@pytest.mark.parametrize(
    ("comment", "severity"),
    [
        ("# TODO(#123): a", "information"),
        ("# TODO(mei, https://issues.example/1): a", "information"),
        ("# TODO(PAY-7) a", "information"),
        ("# TODO(mei): a", "error"),
        ("# TODO: #123", "error"),
    ],
)
def test_a_tag_with_an_issue_is_information_on_request(comment: str, severity: str) -> None:
    (finding,) = todo(comment, Config(allow_with_reference=True))
    assert finding.severity == severity
    assert todo(comment)[0].severity == "error"


def test_an_allowed_rule_gives_nothing() -> None:
    assert todo("# TODO: a\n", Config(allowed=frozenset({"todoFIXME"}))) == []


@pytest.mark.parametrize(
    "source",
    [
        "x = (1,\n# TODO: never closed\ny = 3\ndef f():\n    pass\n",
        "x = f'abc {a # TODO: y\nz = 1\n",
        "x = 'abc # TODO: no end on this line\nz = 1\n",
        'x = """abc\n# TODO: no end at all\nz = 1\n',
    ],
)
def test_nothing_is_found_inside_a_parse_error(source: str) -> None:
    assert todo(source) == []


def test_the_rest_of_a_broken_file_is_still_read() -> None:
    assert [f.start.row for f in todo("def f(:\n    pass\n\n# TODO: after it\nx = 1\n")] == [3]
