"""project.md: the parameters in its YAML front matter, as plain values.

Read with PyYAML's safe loader, held to what JSON can say: dates and yes/no/on/off stay text; a key that stands twice,
an anchor, an alias or a tag is refused with its place. Whatever is wrong is a finding beside an empty mapping, never an
exception. PyYAML is imported with the first front matter only.

spec: kernel.md §2 (ConfigInjection), analysis.md (config errors name file and line)
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from rulecore_kernel.values import Json, JsonObject

if TYPE_CHECKING:
    import yaml

PLACES = ("project.md", ".clinerules/project.md")
"""Where it is looked for under the workspace root, in this order."""

_FRONT_MATTER = re.compile(r"\ufeff?(\s*)---[ \t]*(?:\r?\n|\Z)", re.ASCII)
_END = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)

_PLAIN_SCALARS = (
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("bool", r"true|True|TRUE|false|False|FALSE", tuple("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", tuple("-+0123456789")),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+)", tuple("-+.0123456789")),
)
"""Which plain scalars are more than text: type, form, first characters."""


class ConfigFinding(NamedTuple):
    """Something wrong in a configuration file; line and column count from 1."""

    path: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


Read: TypeAlias = tuple[JsonObject, tuple[ConfigFinding, ...]]


def read_project_config(root: Path) -> Read:
    """The mapping of the first project.md that has a front matter, and what is wrong with the files looked at."""
    findings: list[ConfigFinding] = []
    for place in PLACES:
        values, found = read_front_matter(root / place, place)
        findings += found
        if values:
            return values, tuple(findings)
    return {}, tuple(findings)


def read_front_matter(file: Path, shown: str) -> Read:
    """The front matter of a file; `shown` is the path for the findings. No file, no front matter: an empty mapping."""
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}, ()
    except OSError as error:
        return {}, (ConfigFinding(shown, 1, 1, f"could not be read: {error.strerror}"),)
    try:
        return parse_front_matter(data.decode(), shown)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        return {}, (ConfigFinding(shown, line, column, "is not UTF-8: save it in that encoding"),)


def parse_front_matter(text: str, shown: str) -> Read:
    """The mapping between the `---` lines that `text` starts with, and what is wrong with it."""
    start = _FRONT_MATTER.match(text)
    if start is None:
        return {}, ()
    if start[1]:
        line = start[0].rstrip().count("\n") + 1
        return {}, (ConfigFinding(shown, line, 1, "the front matter has to start on the first line"),)
    end = _END.search(text, start.end())
    if end is None:
        return {}, (ConfigFinding(shown, 1, 1, "the front matter has no closing `---` line"),)
    values, problem = _load(text[start.end() : end.start()])
    if problem:
        line, column, message = problem
        return {}, (ConfigFinding(shown, line + 1, column, message),)
    if values is None:
        return {}, ()
    if not isinstance(values, Mapping):
        return {}, (ConfigFinding(shown, 2, 1, "the front matter is not a mapping of `key: value` lines"),)
    return values, ()


_Problem: TypeAlias = tuple[int, int, str]


def _load(text: str) -> tuple[Json, _Problem | None]:
    import yaml

    try:
        return cast(Json, yaml.load(text, Loader=_loader())), None  # noqa: S506 - a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return None, (*place, " ".join(filter(None, (error.context, error.problem))))
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        column = error.position - before.rfind("\n")
        return None, (before.count("\n") + 1, column, f"the character U+{error.character:04X} is not allowed")
    except (ValueError, RecursionError) as error:
        return None, (1, 1, f"could not be read: {error}")


@cache
def _loader() -> "type[yaml.SafeLoader]":
    import yaml

    class Loader(yaml.SafeLoader):
        """The safe loader, less what JSON does not know."""

        yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's table

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            for what in ("anchor", "tag"):
                if getattr(event, what, None):
                    problem = f"{what}s are not allowed: write the value out"
                    raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
            seen: dict[str, int] = {}
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                    raise _refused("a key has to be text", key)
                if key.value in seen:
                    raise _refused(f"the key `{key.value}` stands twice, first on line {seen[key.value]}", key)
                seen[key.value] = key.start_mark.line + 2
            return super().construct_mapping(node, deep)

    def _refused(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
        return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)

    for name, form, first in _PLAIN_SCALARS:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(f"(?:{form})\\Z"), list(first))
    return Loader
