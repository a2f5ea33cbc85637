"""What a shell command is, as far as the guards need to know. Tables and string handling; nothing is run.

Limit: this reads commands the way a person skims them. Aliases, scripts and substitutions can hide what a command does;
the answer "not known to be read-only" is the safe one and the default. Source: spec agents.md section 2, items 2 and 7.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

_HARMLESS_REDIRECT = re.compile(r"\d?>\s*(&\d|/dev/null)")
_ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=")
_WRAPPERS = frozenset(
    {"sudo", "env", "command", "time", "nice", "nohup", "exec", "builtin", "stdbuf", "timeout", "xargs"}
)
_NAVIGATION = frozenset({"cd", "pushd", "popd", "set", "export", "source", "."})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
_SHELL_COMMAND_FLAG = re.compile(r"^-[a-z]*c$")
_SEPARATORS = ";|&\n"

READ_ONLY = frozenset(
    [
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
        "sed",
        "sha256sum",
        "sleep",
        "sort",
        "stat",
        "strings",
        "tail",
        "test",
        "tr",
        "true",
        "type",
        "uname",
        "uniq",
        "wc",
        "whereis",
        "which",
        "whoami",
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
_WRITING_OPTIONS = {
    "date": re.compile(r"^(-[a-z]*s|--set)"),
    "find": re.compile(r"^-(delete|exec|execdir|ok|okdir|fprint|fprint0|fprintf|fls)$"),
    "git": re.compile(r"^--output"),
    "sed": re.compile(r"^(-[a-zA-Z]*i|--in-place)"),
    "sort": re.compile(r"^(-[a-zA-Z]*o|--output)"),
}

_VERIFY = re.compile(
    r"\b(pytest|unittest|tox|nox|jest|vitest|mocha|ava|phpunit|rspec|ctest|tsc|mypy|pyright|eslint|ruff)\b"
    r"|\b(npm|pnpm|yarn|bun)\s+(run\s+)?(test|build|lint|typecheck|check)\b"
    r"|\bcargo\s+(test|build|check|clippy|nextest)\b|\bgo\s+(test|build|vet)\b"
    r"|\b(mvn|gradle|gradlew|mvnw)\b.*\b(test|verify|compile|build|check)\b"
    r"|\bdotnet\s+(test|build)\b|\bmake\s+(test|check|lint|build)\b|\bcompileall\b"
)
_WAITING = frozenset({"sleep", "wait", "watch"})

_PERSONS = frozenset({("halt", "clear"), ("trust",), ("agent", "uninstall"), ("stop",)} | {
    ("evolve", verb) for verb in ("approve", "unlock", "veto", "confirm", "retire", "set")
})  # fmt: skip
"""rulecore commands that only a person may give."""
_WRITERS = frozenset(
    ["cp", "dd", "ed", "ex", "install", "ln", "mv", "perl", "python", "python3", "rm", "sed", "tee", "truncate"]
)
"""Commands by which agents write a file that they name last."""


def _simple_commands(command: str) -> Iterator[list[str]]:
    """Words of each simple command, quotes taken off; separators count only outside quotes."""
    words: list[str] = []
    word, quote, quoted = "", "", False
    for char in command:
        if quote:
            quote = "" if char == quote else quote
            word += char if quote else ""
        elif char in "'\"":
            quote, quoted = char, True
        elif not char.isspace() and char not in _SEPARATORS:
            word += char
        else:
            if word or quoted:
                words.append(word)
            word, quoted = "", False
            if char in _SEPARATORS and words:
                yield words
                words = []
    if word or quoted:
        words.append(word)
    if words:
        yield words


@lru_cache(maxsize=1024)
def _segments(command: str) -> tuple[tuple[str, ...], ...]:
    """Words of each simple command, wrappers, assignments and directory changes taken away; ``sh -c`` looked into."""
    found: list[tuple[str, ...]] = []
    for simple in _simple_commands(_HARMLESS_REDIRECT.sub("", command)):
        words = _unwrapped(simple)
        if not words or words[0] in _NAVIGATION:
            continue
        inner = next((i for i, word in enumerate(words) if _SHELL_COMMAND_FLAG.match(word)), 0)
        if _name(words[0]) in _SHELLS and 0 < inner < len(words) - 1:
            found += _segments(words[inner + 1])
        else:
            found.append(tuple(words))
    return tuple(found)


def _unwrapped(words: list[str]) -> list[str]:
    """``FOO=1 timeout 60 pytest -q`` → ``pytest -q``."""
    start = 0
    while start < len(words) and (_ASSIGNMENT.match(words[start]) or words[start] in _WRAPPERS):
        wrapper, start = words[start], start + 1
        while wrapper in _WRAPPERS and start < len(words) and (words[start][:1] == "-" or words[start][:1].isdigit()):
            start += 1
    return words[start:]


def _name(word: str) -> str:
    return word.replace("\\", "/").rsplit("/", 1)[-1]


def head(command: str) -> str:
    """Name of the first program a command runs: ``cd x && FOO=1 /bin/ls -l`` gives ``ls``; empty when there is none."""
    segments = _segments(command)
    return _name(segments[0][0]) if segments else ""


@lru_cache(maxsize=1024)
def is_read_only(command: str) -> bool:
    """True when every part of ``command`` is known to change no file."""
    if ">" in _HARMLESS_REDIRECT.sub("", command) or "`" in command or "$(" in command:
        return False
    return all(_reads_only(words) for words in _segments(command))


def _reads_only(words: tuple[str, ...]) -> bool:
    name = _name(words[0])
    writing = _WRITING_OPTIONS.get(name)
    if writing is not None and any(writing.match(word) for word in words[1:]):
        return False
    if name == "git":
        return next((word for word in words[1:] if not word.startswith("-")), "") in _READ_ONLY_GIT
    return name in READ_ONLY


@lru_cache(maxsize=1024)
def is_verify(command: str) -> bool:
    """True for a command that checks the work: tests, compilers, linters."""
    return _VERIFY.search(command) is not None


def is_waiting(command: str) -> bool:
    """True for a command that waits for something outside: it is asked again on purpose."""
    return any(_name(words[0]) in _WAITING or "--watch" in words for words in _segments(command))


def is_person_only(command: str) -> bool:
    """True for a rulecore command that only a person may give (clearing, trust, approvals)."""
    for words in _segments(command):
        program, rest = _name(words[0]), words[1:]
        if program.startswith("python") and "-m" in rest[:-1]:
            at = rest.index("-m") + 1
            program, rest = rest[at], rest[at + 1 :]
        named = tuple(word for word in rest if not word.startswith("-"))
        ours = program in ("rulecore", "rulecore_sidecar")
        if ours and any(named[: len(given)] == given for given in _PERSONS):
            return True
    return False


def writes_to(command: str, names: frozenset[str]) -> bool:
    """True when ``command`` redirects into, or ends with, a file of ``names`` and may write it."""
    if not any(name in command for name in names):
        return False
    for target in re.findall(r">+\s*[\"']?([^\s\"';|&]+)", command):
        if target.removeprefix("./") in names:
            return True
    return any(
        _name(words[0]) in _WRITERS and not _reads_only(words) and words[-1].removeprefix("./") in names
        for words in _segments(command)
    )
