"""Days of a time zone: none overlap, none leave a moment out, however long they are."""

from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from qirsh.language.local_time import UTC_ZONE, local_day, local_timestamp, midnight_ms
from tests.each import each

HOUR: Final = 3_600_000
# Some change their clocks at midnight, by half an hour, or not at all.
ZONES: Final = (
    *("UTC", "Asia/Damascus", "Asia/Beirut", "Africa/Cairo", "Europe/Istanbul", "Europe/Berlin"),
    *("Atlantic/Azores", "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu"),
)
DAYS: Final = st.dates(date(2000, 1, 1), date(2100, 1, 1))


@given(day=DAYS, key=st.sampled_from(ZONES))
def test_a_day_begins_where_the_one_before_it_ends(day: date, key: str) -> None:
    zone = ZoneInfo(key)
    begin = midnight_ms(day, zone)
    assert local_day(begin, zone) == day
    assert local_day(begin - 1, zone) == day - timedelta(days=1)
    assert local_day(midnight_ms(day + timedelta(days=1), zone) - 1, zone) == day


@each(
    ("key", "day", "hours"),
    [
        ("Europe/Berlin", date(2027, 3, 28), 23),
        ("Europe/Berlin", date(2027, 10, 31), 25),
        ("Asia/Beirut", date(2027, 3, 28), 23),  # There is no midnight on it.
        ("Asia/Damascus", date(2027, 3, 26), 24),
    ],
)
def test_a_day_is_as_long_as_its_clocks_make_it(key: str, day: date, hours: int) -> None:
    zone = ZoneInfo(key)
    assert midnight_ms(day + timedelta(days=1), zone) - midnight_ms(day, zone) == hours * HOUR


def test_a_timestamp_tells_its_offset() -> None:
    moment = midnight_ms(date(2027, 10, 31), UTC_ZONE) + 30 * 60_000
    assert local_timestamp(moment, UTC_ZONE) == "2027-10-31T00:30:00Z"
    berlin = ZoneInfo("Europe/Berlin")
    # The same hour twice, an hour apart.
    assert local_timestamp(moment, berlin) == "2027-10-31T02:30:00+02:00"
    assert local_timestamp(moment + HOUR, berlin) == "2027-10-31T02:30:00+01:00"
    # London is not always at UTC's offset, and when it is, it is no matter.
    assert local_timestamp(moment, ZoneInfo("Europe/London")) == "2027-10-31T01:30:00+01:00"


@given(seconds=st.integers(0, 4_102_444_800), key=st.sampled_from((*ZONES, "Africa/Monrovia")))
def test_a_timestamp_is_the_moment_as_the_clocks_showed_it(seconds: int, key: str) -> None:
    zone = ZoneInfo(key)
    moment = datetime.fromtimestamp(seconds, zone)
    for later in (0, 7, 59):  # Some are in the same minute.
        found = datetime.fromisoformat(local_timestamp(seconds * 1000 + later * 1000 + 999, zone))
        assert found == moment.astimezone(UTC) + timedelta(seconds=later)
        assert found.utcoffset() == datetime.fromtimestamp(seconds + later, zone).utcoffset()


def test_clocks_that_differed_by_seconds_are_shown_as_they_were() -> None:
    assert local_timestamp(10_000, ZoneInfo("Africa/Monrovia")) == "1969-12-31T23:15:40-00:44:30"
