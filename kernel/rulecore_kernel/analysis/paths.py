"""What a path alone says about a file.

spec: analysis.md; the classes are those of the rule catalogue (test, script, generated).
"""

import re

from .findings import PathClass
from .languages import LANGUAGES

_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "e2e", "testdata", "fixtures"})
_SCRIPT_FOLDERS = frozenset({"scripts", "bin", "tools", "examples", "docs", "benchmarks", "evals"})
_GENERATED_FOLDERS = frozenset({"vendor", "node_modules"})
_TEST_NAME = re.compile(
    r"test_.*\.py|conftest\.py|.*_test\.[^.]+|.*\.(?:test|spec)\.[^.]+|.*Tests?\.(?:java|kt|cs)", re.ASCII
)
_GENERATED_NAME = re.compile(r".*\.pb\.[^.]+|.*_pb2\.pyi?|.*\.g\.cs|.*\.min\.js", re.ASCII)


def language_of(path: str) -> str | None:
    """The language that the file's name stands for, or None when there is no analysis for it."""
    name = path.rpartition("/")[2].lower()
    for language, row in LANGUAGES.items():
        if name.endswith(row.extensions):
            return language
    return None


def path_class(path: str) -> PathClass:
    """The class of a path relative to the workspace root, with `/`; generated before test before script."""
    *folders, name = path.split("/")
    if _GENERATED_NAME.fullmatch(name) or not _GENERATED_FOLDERS.isdisjoint(folders):
        return "generated"
    if _TEST_NAME.fullmatch(name) or not _TEST_FOLDERS.isdisjoint(folders):
        return "test"
    return "code" if _SCRIPT_FOLDERS.isdisjoint(folders) else "script"
