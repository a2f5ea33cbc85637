"""What the tests of file truth share."""

import time
from collections.abc import Callable

import xxhash

Git = Callable[..., str]
"""Runs git in the workspace, or ``at`` another folder."""


def xxh(data: bytes) -> str:
    """The hash that file truth gives these bytes."""
    return xxhash.xxh3_128_hexdigest(data)


class Clock:
    """The wall clock, ``ahead`` seconds fast."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> int:
        return time.time_ns() + int(self.ahead * 1e9)

    def settle(self) -> None:
        """Let the file system's clock tick, then pass the racy window: what was written until now is old."""
        time.sleep(0.02)
        self.ahead = 3.0
