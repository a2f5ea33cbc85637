"""What a shell command is, as far as the guards need to know. Tables and string handling; nothing is run.

Limit: this reads commands the way a person skims them. Quoting, aliases and scripts can hide what a command does; the
answer "not known to be read-only" is the safe one and the default. Source: spec agents.md section 2, items 2 and 7.
"""

import re
from functools import lru_cache

_HARMLESS_REDIRECT = re.compile(r"\d?>\s*(&\d|/dev/null)")
_SEGMENT = re.compile(r"&&|\|\||[;|\n&]")
_ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=")
_WRAPPERS = frozenset({"sudo", "env", "command", "time", "nice", "nohup", "exec", "builtin", "stdbuf", "timeout"})
_NAVIGATION = frozenset({"cd", "pushd", "popd", "set", "export", "source", "."})

READ_ONLY = frozenset(
    [
        "awk",
        "basename",
        "cat",
        "cmp",
        "cut",
        "date",
        "df",
        "diff",
        "dir",
        "dirname",
        "du",
        "echo",
        "egrep",
        "env",
        "false",
        "fgrep",
        "file",
        "find",
        "grep",
        "head",
        "hexdump",
        "hostname",
        "id",
        "jq",
        "less",
        "ls",
        "md5sum",
        "more",
        "nl",
        "od",
        "printf",
        "ps",
        "pwd",
        "readlink",
        "realpath",
        "rg",
        "sha256sum",
        "sort",
        "stat",
        "strings",
        "tail",
        "test",
        "tr",
        "tree",
        "true",
        "type",
        "uname",
        "uniq",
        "wc",
        "whereis",
        "which",
        "whoami",
        "xxd",
        "yq",
    ]
)
"""Commands that change no file by themselves."""

_READ_ONLY_GIT = frozenset(
    [
        "blame",
        "cat-file",
        "describe",
        "diff",
        "grep",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
        "show-ref",
        "status",
    ]
)
_WRITING_FLAGS = {
    "find": ("-delete", "-exec", "-execdir", "-ok", "-fprint"),
    "sort": ("-o", "--output"),
    "awk": ("-i",),
    "yq": ("-i", "--inplace"),
}

_VERIFY = re.compile(
    r"\b(pytest|unittest|tox|nox|jest|vitest|mocha|ava|phpunit|rspec|ctest|tsc|mypy|pyright|eslint|ruff)\b"
    r"|\b(npm|pnpm|yarn|bun)\s+(run\s+)?(test|build|lint|typecheck|check)\b"
    r"|\bcargo\s+(test|build|check|clippy|nextest)\b|\bgo\s+(test|build|vet)\b"
    r"|\b(mvn|gradle|gradlew|mvnw)\b.*\b(test|verify|compile|build|check)\b"
    r"|\bdotnet\s+(test|build)\b|\bmake\s+(test|check|lint|build)\b|\bcompileall\b"
)

_PERSON_ONLY = re.compile(
    r"\brulecore\b[^|;&\n]*?\s(halt\s+clear|trust|evolve\s+(approve|unlock|veto|confirm|retire|set))\b"
)
GUARD_KEYS = re.compile(r"^\s*[\"']?(guard|halt|compile|rollback)\b[\"']?\s*[.:]", re.MULTILINE)
"""A line that sets a parameter which belongs to a person."""


@lru_cache(maxsize=1024)
def _segments(command: str) -> list[list[str]]:
    """Words of each simple command, wrappers, assignments and directory changes taken away."""
    found: list[list[str]] = []
    for part in _SEGMENT.split(_HARMLESS_REDIRECT.sub("", command)):
        words = part.split()
        while words and (_ASSIGNMENT.match(words[0]) or words[0] in _WRAPPERS):
            words = words[1:]
        if words and words[0] not in _NAVIGATION:
            found.append(words)
    return found


def head(command: str) -> str:
    """Name of the first program a command runs: ``cd x && FOO=1 /bin/ls -l`` gives ``ls``; empty when there is none."""
    segments = _segments(command)
    return segments[0][0].replace("\\", "/").rsplit("/", 1)[-1] if segments else ""


@lru_cache(maxsize=1024)
def is_read_only(command: str) -> bool:
    """True when every part of ``command`` is known to change no file."""
    if ">" in _HARMLESS_REDIRECT.sub("", command) or "`" in command or "$(" in command:
        return False
    segments = _segments(command)
    return bool(segments) and all(_segment_reads_only(words) for words in segments)


def _segment_reads_only(words: list[str]) -> bool:
    name = words[0].rsplit("/", 1)[-1]
    if name == "git":
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        return verb in _READ_ONLY_GIT
    if name == "sed":
        return not any(word.startswith(("-i", "--in-place")) for word in words)
    if name not in READ_ONLY:
        return False
    return not any(word.startswith(_WRITING_FLAGS.get(name, ("\0",))) for word in words[1:])


@lru_cache(maxsize=1024)
def is_verify(command: str) -> bool:
    """True for a command that checks the work: tests, compilers, linters."""
    return _VERIFY.search(command) is not None


def is_person_only(command: str) -> bool:
    """True for a rulecore command that only a person may give (clearing, trust, approvals)."""
    return _PERSON_ONLY.search(command) is not None
