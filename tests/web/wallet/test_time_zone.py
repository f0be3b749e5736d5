"""What people read is in the service's time zone, and its days are what statements and filters count by."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pypdf
import pytest

from qirsh.language.mail_text import compose
from tests.guest import Guest
from tests.language.letters import EVERY_LETTER
from tests.live import InProcess, in_process, retrieve
from tests.visitor import Visitor

HOUR_MS: Final = 3_600_000
# On this day clocks in Berlin go from 2:00 to 3:00: it lasts 23 hours, from 23:00 of the day before in UTC to 22:00.
EVE_MS: Final = int(datetime(2027, 3, 27, 22, 30, tzinfo=UTC).timestamp()) * 1000
MOMENTS: Final = {"eve": 0, "first": HOUR_MS, "last": 23 * HOUR_MS, "after": 24 * HOUR_MS}


@pytest.fixture(scope="module")
def berlin() -> Iterator[InProcess]:
    with in_process(shops=1, people=3, more={"QIRSH_TIME_ZONE": "Europe/Berlin"}) as world:
        world.clock.advance(EVE_MS - world.now_ms())
        yield world


@pytest.fixture(scope="module")
def guest(berlin: InProcess) -> Guest:
    """Somebody who has paid before, at the begin of, at the end of, and after the day."""
    merchant, customer = berlin.merchant(), berlin.customer()
    for note, late_ms in MOMENTS.items():
        berlin.clock.advance(EVE_MS + late_ms - berlin.now_ms())
        guest = Guest(berlin).entered(customer)
        payment = berlin.payment(merchant, amount=100, note=note)
        Visitor(berlin, payment).signed_in(customer).confirm()
    return guest


def test_a_statement_covers_the_days_of_the_zone(guest: Guest) -> None:
    answer = guest.ask("/wallet/statement.csv", currency="USD", from_="2027-03-28", to="2027-03-28")
    opening, *lines, closing = csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline=""))
    assert [line["note"] for line in lines] == ["first", "last"]
    assert [line["time"] for line in lines] == ["2027-03-28T00:30:00+01:00", "2027-03-28T23:30:00+02:00"]
    assert (opening["time"], closing["time"]) == ("2027-03-28T00:00:00+01:00", "2027-03-29T00:00:00+02:00")
    drawn = guest.ask("/wallet/statement.pdf", currency="USD", from_="2027-03-28", to="2027-03-28")
    text = "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(drawn.content)).pages)
    assert "28 March 2027 to 28 March 2027 (Berlin time)" in text
    assert "00:30" in text
    assert "23:30" in text


def test_the_history_is_filtered_by_the_days_of_the_zone(guest: Guest) -> None:
    shown = guest.ask("/wallet/history", from_="2027-03-28", to="2027-03-28").text
    assert [note for note in MOMENTS if f"<bdi>{note}</bdi>" in shown] == ["first", "last"]
    assert "Dates are in Berlin time." in shown
    assert re.findall(r"<h2><bdi><time[^>]*>(.*?)</time>", shown) == ["28 March 2027"]


@pytest.mark.usefixtures("guest")  # Its clock goes no way but on.
def test_the_month_of_a_statement_is_the_zones(berlin: InProcess) -> None:
    """In the last hours of a month of UTC it is the next month already."""
    month_end_ms = int(datetime(2027, 3, 31, 22, 30, tzinfo=UTC).timestamp()) * 1000
    berlin.clock.advance(month_end_ms - berlin.now_ms())
    customer = berlin.customer()
    assert "from 1 April 2027 to 1 April 2027" in Guest(berlin).entered(customer).ask("/wallet/statement").text


def test_receipts_and_devices_name_the_zone_and_the_api_stays_in_utc(berlin: InProcess) -> None:
    merchant, customer = berlin.merchant(), berlin.customer()
    payment = berlin.payment(merchant, amount=100)
    visitor = Visitor(berlin, payment)
    visitor.signed_in(customer).confirm()
    paid_at = berlin.data(retrieve(merchant.key, payment))["paidAt"]
    assert paid_at.endswith("Z")
    here = datetime.fromisoformat(paid_at).astimezone(berlin.settings.time_zone)
    visitor.open()
    assert f'<time datetime="{paid_at}">{here:%-d %B %Y, %H:%M} (Berlin time)</time>' in visitor.page
    shown = Guest(berlin).entered(customer).ask("/wallet/security").text
    assert 'data-zone="Europe/Berlin"' in shown


def test_a_mail_names_the_zone(berlin: InProcess) -> None:
    words = {**EVERY_LETTER["paid"], "at": EVE_MS}
    zone = berlin.settings.time_zone
    for language, moment in {
        "en": "27 March 2027, 23:30 (Berlin time)",
        "ar": "27 آذار 2027، 23:30 (بتوقيت برلين)",
        "tr": "27 Mart 2027 23:30 (Berlin saati)",
    }.items():
        _, body = compose("paid", language, words, at=0, base_url=berlin.settings.base_url, zone=zone)
        assert moment in body
