"""What a shell command is, as far as the guards need to know."""

import pytest

from rulecore_kernel.rules.guards import commands


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -l", "ls"),
        ("cd src && FOO=1 /usr/bin/pytest -q", "pytest"),
        ("timeout 60 pytest", "pytest"),
        ("sudo -E make all", "make"),
        ("bash -lc 'npm test'", "npm"),
        ("echo 'a && b'", "echo"),
        ("cd src", ""),
        ("", ""),
        ("'unclosed", "unclosed"),
    ],
)
def test_head(command, expected):
    assert commands.head(command) == expected


@pytest.mark.parametrize(
    "command",
    ["ls", "cat a | grep b", "git status", "git log -3", "grep x y 2>/dev/null", "cd a", "sed -n 1,5p f", "sort f",
     "find . -name x", "bash -c 'ls'", "pytest_is_not_here=1 ls", "sleep 5", "cat f 2>&1 | head"],
)  # fmt: skip
def test_read_only(command):
    assert commands.is_read_only(command)


@pytest.mark.parametrize(
    "command",
    ["rm x", "echo x > f", "git commit -m x", "git diff --output=f", "sed -i s/a/b/ f", "sed -Ei s/a/b/ f", "tee f",
     "sort -uo f f", "find . -delete", "find . -fls f", "ls && make", "cat $(make)", "date -s now", "bash -c 'rm x'",
     "python x.py"],
)  # fmt: skip
def test_not_known_to_be_read_only(command):
    assert not commands.is_read_only(command)


@pytest.mark.parametrize(
    "command",
    ["rulecore halt clear", "rulecore halt 'clear' --all", "x; rulecore trust", "sh -c 'rulecore trust'",
     "python3 -I -m rulecore_sidecar halt clear", "/opt/bin/rulecore evolve approve 3"],
)  # fmt: skip
def test_persons_commands(command):
    assert commands.is_person_only(command)


@pytest.mark.parametrize(
    "command",
    ["git commit -m 'rulecore: trust the proxy'", "grep 'rulecore trust' docs", "ls rulecore/ trust/",
     "rulecore halt get", "rulecore check", "echo rulecore trust"],
)  # fmt: skip
def test_everybodys_commands(command):
    assert not commands.is_person_only(command)


@pytest.mark.parametrize("command", ["sleep 60 && gh run view", "gh run watch 1 --watch", "watch ls", "a; wait"])
def test_waiting(command):
    assert commands.is_waiting(command)
