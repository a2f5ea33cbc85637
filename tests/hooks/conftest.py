"""Repositories to run the hooks in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hooks.gitwork import Work


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    """An empty repository whose commits run the hook as a plain git hook."""
    repository = Work.create(tmp_path / "work", tmp_path)
    repository.install_hooks("pre-commit", "pre-merge-commit")
    yield repository
    remaining = repository.run("git", "status", "--porcelain", "--ignored").output
    assert "rulecore" not in remaining, f"the hook left something behind: {remaining}"
