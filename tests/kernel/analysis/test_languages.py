"""The language table against the installed grammars, and what a path says."""

import sys
from subprocess import run

import pytest
from tree_sitter import LANGUAGE_VERSION, MIN_COMPATIBLE_LANGUAGE_VERSION

from rulecore_kernel.analysis import language_of, path_class
from rulecore_kernel.analysis.languages import LANGUAGES, grammar, query


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_query_compiles_against_the_installed_grammar(language: str) -> None:
    compiled = query(language)
    names = {compiled.capture_name(index) for index in range(compiled.capture_count)}
    assert names == {"comment", "class", "error", "open"}
    assert MIN_COMPATIBLE_LANGUAGE_VERSION <= grammar(language).abi_version <= LANGUAGE_VERSION


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_node_name_of_the_table_is_in_the_grammar(language: str) -> None:
    row = LANGUAGES[language]
    for node in row.method_nodes | {row.decorated_node}:
        assert grammar(language).id_for_node_kind(node, True) is not None


def test_a_grammar_is_loaded_with_the_first_file_of_its_language() -> None:
    code = (
        "import sys, rulecore_kernel.analysis as a\n"
        "assert 'tree_sitter_python' not in sys.modules\n"
        "a.analyse(b'x = 1', 'python')\n"
        "assert 'tree_sitter_python' in sys.modules\n"
    )
    run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("b.PY", "python"),
        ("stubs/b.pyi", "python"),
        ("b.txt", None),
        ("py", None),
        ("a.py/readme", None),
    ],
)
def test_the_language_is_told_by_the_name(path: str, language: str | None) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/order.py", "code"),
        ("tests/order.py", "test"),
        ("src/test_order.py", "test"),
        ("src/order_test.go", "test"),
        ("src/conftest.py", "test"),
        ("src/order.spec.ts", "test"),
        ("src/OrderTests.java", "test"),
        ("src/latest.py", "code"),
        ("contest/order.py", "code"),
        ("scripts/release.py", "script"),
        ("scripts/tests/release.py", "test"),
        ("node_modules/a/test/b.js", "generated"),
        ("src/order_pb2.py", "generated"),
        ("src/order.pb.go", "generated"),
    ],
)
def test_the_class_is_told_by_the_path(path: str, expected: str) -> None:
    assert path_class(path) == expected
