"""The languages: one row, one grammar and one query each, loaded when a file of that language comes first.

A grammar upgrade may rename node types; the start-up test compiles every query against the installed grammar.
spec: analysis.md
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from tree_sitter import Language, Parser, Query, Tree


class LanguageRow(NamedTuple):
    """What the rules need to know of one language.

    `grammar` imports and loads it; `query` captures @comment, @class, @error and @open, the quote of a string that
    never ends; `signature_decorators` mark methods without a body.
    """

    grammar: Callable[[], object]
    extensions: tuple[str, ...]
    query: str
    method_nodes: frozenset[str]
    decorated_node: str
    signature_decorators: frozenset[bytes]


def _python() -> object:
    import tree_sitter_python

    return tree_sitter_python.language()


LANGUAGES: Mapping[str, LanguageRow] = MappingProxyType(
    {
        "python": LanguageRow(
            grammar=_python,
            extensions=(".py", ".pyi", ".pyw"),
            query="(comment) @comment (class_definition) @class (ERROR) @error (ERROR (string_start) @open)",
            method_nodes=frozenset({"function_definition"}),
            decorated_node="decorated_definition",
            signature_decorators=frozenset({b"overload", b"abstractmethod"}),
        ),
    }
)


@cache
def grammar(language: str) -> Language:
    """The grammar of a language of the table."""
    return Language(LANGUAGES[language].grammar())


@cache
def query(language: str) -> Query:
    """The compiled query of a language of the table."""
    return Query(grammar(language), LANGUAGES[language].query)


def parse(source: bytes, language: str, old_tree: Tree | None = None) -> Tree:
    """Parse `source`; `old_tree`, edited to fit it, makes that incremental."""
    parser = Parser(grammar(language))
    return parser.parse(source, old_tree) if old_tree else parser.parse(source)
