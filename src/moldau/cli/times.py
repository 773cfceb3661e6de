"""Points in time on the command line."""

import re
from datetime import UTC, datetime
from typing import Final

from moldau.cli.errors import UsageError

_AGO: Final = re.compile(r"-?(\d+)(ms|s|m|h|d|w)")
_UNITS_MS: Final = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}


def parse_time(text: str, wall_ms: int, option: str = "") -> int:
    """Parse milliseconds since 1970, ISO 8601 (UTC if no zone is given), or an age.

    ``2h`` is two hours ago. Raises UsageError, which names the option if there is one.
    """
    if text.isdigit():
        return int(text)
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return wall_ms - int(ago[1]) * _UNITS_MS[ago[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = (
            f"{option} {text!r} is not a time: expected 2026-01-31T12:00:00, milliseconds since "
            "1970, or an age such as 90s, 15m, 2h, 7d"
        )
        raise UsageError(message.lstrip()) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def format_time(timestamp_ms: int) -> str:
    """UTC, to the millisecond; empty for a record without a timestamp."""
    if timestamp_ms < 0:
        return ""
    try:
        moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"
