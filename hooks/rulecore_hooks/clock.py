"""The day in the project's time zone.

spec: aiwork.md §1 (time zone)
"""

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

_OFFSET = re.compile(r"(?:UTC|GMT)(?:([+-])(\d{1,2})(?::?([0-5]\d))?)?", re.IGNORECASE | re.ASCII)
_LARGEST_OFFSET = timedelta(hours=14)


def day_in(zone: str | None) -> date:
    """Today in `zone`, an IANA name or `UTC+8`; None is this machine's zone. Raises ValueError for no known zone."""
    return datetime.now(UTC).astimezone(parse_zone(zone) if zone else None).date()


def parse_zone(name: str) -> tzinfo:
    """The time zone of a name like `Asia/Shanghai`, `UTC` or `UTC+5:30`. Raises ValueError for any other."""
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes = match.groups(default="0")
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        if offset <= _LARGEST_OFFSET:
            return timezone(-offset if sign == "-" else offset)
    else:
        from zoneinfo import ZoneInfo

        try:
            return ZoneInfo(name)
        except (ValueError, OSError, KeyError):  # a malformed name, an unreadable or an unknown zone
            pass
    raise ValueError(f"{name!r} is no time zone: write an IANA name such as Asia/Shanghai, or UTC+8")
