"""The nearest known name, for a message about a name that is not known."""

from collections.abc import Iterable

_COMPARED_CHARACTERS = 64


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one of ``known`` that ``name`` was most likely meant to be, letter case aside; None when none is close."""
    from difflib import get_close_matches

    folded = {candidate.casefold(): candidate for candidate in known}
    close = get_close_matches(name[:_COMPARED_CHARACTERS].casefold(), folded, n=1)
    return folded[close[0]] if close else None


def hint(name: str, known: Iterable[str]) -> str:
    """`` (did you mean X?)`` or nothing."""
    close = nearest(name, known)
    return f" (did you mean {close}?)" if close else ""
