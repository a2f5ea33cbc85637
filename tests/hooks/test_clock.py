"""Names of time zones."""

from datetime import UTC, datetime, timedelta

import pytest

from rulecore_hooks.clock import day_in, parse_zone

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("UTC", 0),
        ("utc", 0),
        ("GMT+1", 1),
        ("UTC+8", 8),
        ("UTC-3", -3),
        ("UTC+05:30", 5.5),
        ("UTC-0330", -3.5),
        ("UTC+14", 14),
        ("Asia/Shanghai", 8),
        ("Europe/Berlin", 1),
    ],
)
def test_offsets(name: str, hours: float) -> None:
    assert NOON.astimezone(parse_zone(name)).utcoffset() == timedelta(hours=hours)


@pytest.mark.parametrize("name", ["UTC+15", "UTC+8:99", "UTC8", "Mars/Olympus", "../etc/passwd", "", "+08:00", "a\0b"])
def test_no_zone(name: str) -> None:
    with pytest.raises(ValueError, match="is no time zone: write an IANA name such as Asia/Shanghai, or UTC"):
        parse_zone(name)


def test_the_day_is_the_zones() -> None:
    assert day_in("UTC+14") - day_in("UTC-12") in (timedelta(days=1), timedelta(days=2))
    assert abs(day_in(None) - day_in("UTC")) <= timedelta(days=1)
