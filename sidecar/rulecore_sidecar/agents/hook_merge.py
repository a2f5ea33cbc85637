"""Two answers of hooks as one: ours and that of the hook which had our name. Run by path, as a program:

    python -I -S hook_merge.py OURS THEIRS

A stop of either counts, contexts and error messages are joined, every other field of theirs is kept. Exit code 1, and
nothing printed, when one of them is not a JSON object. Source: spec agents.md section 3.
"""

import json
import sys

_JOINED = ("contextModification", "errorMessage")


def merge(ours: dict[str, object], theirs: dict[str, object]) -> dict[str, object]:
    """One hook answer that says what both say; where both rewrite a call's input, theirs counts."""
    both = {**ours, **theirs}
    for field in _JOINED:
        texts = [text for answer in (ours, theirs) if isinstance(text := answer.get(field), str) and text]
        if texts:
            both[field] = "\n\n".join(texts)
    if ours.get("cancel") is True or theirs.get("cancel") is True:
        both["cancel"] = True
    return both


def main(argv: list[str]) -> int:
    """Print the merged answer."""
    try:
        ours, theirs = (json.loads(text or "{}") for text in argv)
    except ValueError:
        return 1
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return 1
    print(json.dumps(merge(ours, theirs)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
