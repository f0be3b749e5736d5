"""`Retry-After` in both of its forms, and in none."""

import pytest

from qirsh.outbound.retry_after import read_retry_after

DAY_MS = 24 * 3600 * 1000


def test_a_receiver_may_say_when_to_come_again(subtests: pytest.Subtests) -> None:
    for value, wait_ms in [
        (b"0", 0),
        (b"120", 120_000),
        (b" 7 ", 7000),
        (b"86400", DAY_MS),
        (b"86401", DAY_MS),
        (b"9" * 5000, DAY_MS),
        (b"Tue, 14 Nov 2023 22:14:20 GMT", 60_000),  # A minute after the time that the sender has.
        (b"Tue, 14 Nov 2023 22:14:20 -0000", 60_000),
        (b"Tue, 14 Nov 2023 22:00:00 GMT", 0),
        (b"Fri, 31 Dec 9999 23:59:59 GMT", DAY_MS),
        (b"-1", None),
        (b"1.5", None),
        (b"\xd9\xa1", None),
        (b"soon", None),
        (b"Tue, 99 Nov 2023 22:14:20 GMT", None),
        (b"Tue, 14 Nov 99999999999 22:14:20 GMT", None),
        (b"", None),
    ]:
        with subtests.test(f"{value!r} {wait_ms!r}"):
            assert read_retry_after(value, now_ms=1_700_000_000_000) == wait_ms
