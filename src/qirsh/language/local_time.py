"""Moments and days in the service's time zone: the one place that turns one into the other. The API stays in UTC."""

from datetime import UTC, date, datetime, time
from functools import cache, lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

UTC_ZONE: Final = ZoneInfo("UTC")


@cache  # To find them opens hundreds of files.
def zone_names() -> frozenset[str]:
    """Of all zones that there are."""
    return frozenset(available_timezones())


def local_moment(milliseconds: int, zone: ZoneInfo) -> datetime:
    """As the clocks of the zone showed it, to the second."""
    return datetime.fromtimestamp(milliseconds // 1000, zone)


def local_day(milliseconds: int, zone: ZoneInfo) -> date:
    """The day that it was."""
    return local_moment(milliseconds, zone).date()


def midnight_ms(day: date, zone: ZoneInfo) -> int:
    """The first moment of a day, in milliseconds since 1970: 1:00 where clocks go forward at midnight."""
    return int(datetime.combine(day, time(), zone).timestamp()) * 1000


def local_timestamp(milliseconds: int, zone: ZoneInfo) -> str:
    """RFC 3339 with the zone's offset, to the second: `2026-11-17T04:21:00+03:00`."""
    minute, second = divmod(milliseconds // 1000, 60)
    until_second, offset = _written_minute(minute, zone)
    # Clocks that differ from others by seconds were abolished in 1972.
    return f"{until_second}{second:02}{offset}" if offset else _written(milliseconds // 1000, zone)


@lru_cache(maxsize=8192)  # An export has three of these in each line, and neighbours share the minute.
def _written_minute(minute: int, zone: ZoneInfo) -> tuple[str, str]:
    """What stands before the seconds and behind them; nothing where minutes begin at other moments than in UTC."""
    written = _written(minute * 60, zone)
    return ("", "") if written[17:19] != "00" else (written[:17], written[19:])


def _written(seconds: int, zone: ZoneInfo) -> str:
    moment = datetime.fromtimestamp(seconds, zone)
    if moment.utcoffset() == UTC.utcoffset(None):
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return moment.isoformat()
