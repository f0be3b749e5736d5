"""Monthly statements of a business: the numbers of the report and of the export, on paper, for whom may have it."""

import csv
import html
import io
import random
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from pypdf import PdfReader

from qirsh.domain.limits import STATEMENT_MONTHS_MAX
from qirsh.web.business import statement_pages
from tests.guest import Guest
from tests.live import Books, InProcess, Merchant, refund
from tests.web.business.staff import home, join, owner
from tests.web.business.test_payout_page import counted

DAY_MS: Final = 24 * 3_600_000
LABELS: Final = (
    *("Opening balance", "Taken", "Refunded", "Fees", "Paid out", "Paid in", "Corrections", "Closing balance"),
)


def noted(books: Books, merchant: Merchant) -> list[tuple[str]]:
    sql = "SELECT detail FROM audit WHERE action = 'export.made' AND subject = ?"
    return books.select(sql, f"account {merchant.account}")


def months(guest: Guest) -> list[str]:
    return re.findall(r'name="month" value="([\d-]+)"', guest.page)


def paper(guest: Guest, base: str, month: str, currency: str = "USD") -> str:
    """The text of a statement."""
    guest.open(f"{base}/statements?currency={currency}")
    answer = guest.post(f"{base}/statements", currency=currency, month=month)
    assert answer.status_code == 200, guest.text
    assert answer.headers["content-type"] == "application/pdf"
    [page] = PdfReader(io.BytesIO(answer.content)).pages
    return page.extract_text().replace("\u00a0", " ")


def minor(digits: str) -> int:
    return int(Decimal(digits.replace(",", "").replace("\N{MINUS SIGN}", "-").replace("+", "")) * 100)


def on_paper(text: str) -> dict[str, int]:
    """What stands beside each word, after how many there were."""
    found = {}
    for label in LABELS:
        [digits] = re.findall(rf"^{label}(?: [\d,]+)? ([+\N{{MINUS SIGN}}]?[\d,]+\.\d\d)$", text, re.MULTILINE)
        found[label] = minor(digits)
    return found


def on_page(guest: Guest) -> dict[str, int]:
    found = re.findall(r"<dt>([^<]+)</dt><dd>\s*<span class=\"sum[^>]*><bdi class=\"num\">([^<]+)</bdi>", guest.page)
    return {term: minor(digits) for term, digits in found}


def in_file(guest: Guest, base: str, currency: str, first: str, last: str) -> dict[str, int]:
    """What the transactions of these days add up to."""
    guest.open(f"{base}/exports")
    fields = {"kind": "transactions", "currency": currency, "format": "csv", "from": first, "to": last}
    answer = guest.post(f"{base}/exports", **fields)
    assert answer.status_code == 200, guest.text
    read = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))[:-1]
    figures = {"pay": "Taken", "refund": "Refunded", "withdrawal": "Paid out", "deposit": "Paid in"}
    sums = dict.fromkeys(LABELS[1:-1], 0)
    for row in read:
        sums[figures[row["kind"]]] += minor(row["amount"])
    return sums


def live(world: InProcess, merchant: Merchant, chance: random.Random) -> None:
    """Some months, also with a clock that goes back over midnight."""
    for step in range(24):
        customer = world.anew(world.customers[0])
        currency = chance.choice(("USD", "USD", "TRY"))
        payment = world.paid(merchant, customer, amount=chance.randrange(100, 9000), currency=currency)
        if chance.random() < 0.4:
            world.data(refund(merchant.key, payment, amount=chance.randrange(1, 100)))
        if chance.random() < 0.2 and world.held(merchant.account) > 50:
            world.withdraw(merchant.account, chance.randrange(1, 50))
        if chance.random() < 0.1:
            world.deposit(merchant.account, chance.randrange(1, 50))
        if step % 7 == 3:
            counted(world)
        world.clock.advance(chance.choice((1, 3_600_000, DAY_MS, 3 * DAY_MS, 9 * DAY_MS, -2 * 3_600_000)))


@pytest.mark.parametrize(
    "zone", ["Asia/Kathmandu", *(pytest.param(zone, marks=pytest.mark.slow) for zone in ("UTC", "America/St_Johns"))]
)
def test_report_statement_and_export_say_the_same_of_each_month(still: InProcess, zone: str) -> None:
    still.change(time_zone=ZoneInfo(zone))
    _, merchant = owner(still)
    base = home(merchant)
    live(still, merchant, random.Random(zone))
    boss = Guest(still).signed_in(merchant.email)
    looked_at = 0
    for currency in ("USD", "TRY"):
        boss.open(f"{base}/statements?currency={currency}")
        found, closing = list(reversed(months(boss))), 0
        for month in found:
            text = paper(boss, base, month, currency)
            told = on_paper(text)
            first = f"{month}-01"
            following = (datetime.fromisoformat(first) + timedelta(days=31)).replace(day=1)
            last = str((following - timedelta(days=1)).date())
            boss.open(f"{base}/reports?currency={currency}&from={first}&to={last}")
            assert told == on_page(boss)
            assert told["Opening balance"] == closing
            closing = told["Closing balance"]
            assert told["Opening balance"] + sum(told[label] for label in LABELS[1:-1]) == closing
            assert {label: told[label] for label in LABELS[1:-1]} == in_file(boss, base, currency, first, last)
            assert "both balances agree" in text
            looked_at += 1
        assert closing == still.held(merchant.account, currency)
    assert looked_at > 3


def test_months_are_listed_from_the_first_payment_to_this_one(
    still: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    still.change(time_zone=ZoneInfo("UTC"))
    boss, merchant = owner(still)
    base = home(merchant)
    assert "No statements yet" in boss.read(f"{base}/statements")
    still.paid(merchant, still.anew(still.customer()), amount=500)
    begun = datetime.fromtimestamp(still.now_ms() // 1000, UTC)
    still.clock.advance(65 * DAY_MS)
    boss = Guest(still).signed_in(merchant.email)
    boss.open(f"{base}/statements")
    now = datetime.fromtimestamp(still.now_ms() // 1000, UTC)
    assert months(boss)[0] == f"{now:%Y-%m}"
    assert months(boss)[-1] == f"{begun:%Y-%m}"
    assert len(months(boss)) == (now.year - begun.year) * 12 + now.month - begun.month + 1
    assert boss.text.count("so far") == 1
    assert boss.open(html.unescape(re.findall(rf'href="({base}/reports\?[^"]+)"', boss.page)[-1])).status_code == 200
    assert f'value="{begun:%Y-%m}-01"' in boss.page
    boss.open(f"{base}/statements")
    assert "So far" in paper(boss, base, months(boss)[0])
    boss.open(f"{base}/statements")
    assert "So far" not in paper(boss, base, months(boss)[-1])
    monkeypatch.setattr(statement_pages, "STATEMENT_MONTHS_MAX", 2)
    boss.open(f"{base}/statements")
    assert len(months(boss)) == 2 < STATEMENT_MONTHS_MAX


def test_a_statement_that_there_cannot_be_is_not_found(still: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("USD", "2019-01"),
        ("USD", "2999-01"),
        ("USD", "2026-13"),
        ("USD", ""),
        ("XXX", ""),
        ("SYP", ""),
        ("", ""),
    ]
    for currency, month in cases:
        with subtests.test(currency=currency, month=month):
            boss, merchant = owner(still)
            still.paid(merchant, still.anew(still.customer()), amount=500)
            boss.open(f"{home(merchant)}/statements")
            this = months(boss)[0]
            wanted = month or (this if currency != "USD" else "")
            assert boss.post(f"{home(merchant)}/statements", currency=currency, month=wanted).status_code == 404
            assert boss.open(f"{home(merchant)}/statements?currency=XXX").status_code == 422


@pytest.mark.both_engines
def test_a_statement_that_the_ledger_does_not_agree_with_is_not_made(still: InProcess) -> None:
    boss, merchant = owner(still)
    base = home(merchant)
    still.paid(merchant, still.anew(still.customer()), amount=500)
    counted(still)
    boss.open(f"{base}/statements")
    month = months(boss)[0]
    still.database.meddle(
        "account_total",
        f"UPDATE account_total SET taken = taken + 1 WHERE account = {merchant.account}",  # noqa: S608 - ours
    )
    answer = boss.post(f"{base}/statements", currency="USD", month=month)
    assert answer.status_code == 503
    assert "do not agree with the ledger" in boss.text
    with still.books() as books:
        assert noted(books, merchant) == []


@pytest.mark.parametrize(("code", "word"), [("ar", "كشف"), ("tr", "Aylık hesap özeti")])
def test_a_statement_is_in_the_language_of_its_reader(still: InProcess, code: str, word: str) -> None:
    boss, merchant = owner(still)
    still.paid(merchant, still.anew(still.customer()), amount=500)
    boss.open(f"{home(merchant)}/statements")
    month = months(boss)[0]
    boss.open(f"{home(merchant)}/statements?lang={code}")
    text = paper(boss, home(merchant), month)
    assert word in text
    assert "5.00" in text or "5,00" in text


def test_roles_see_the_list_and_have_the_file_as_they_may_and_each_is_noted(still: InProcess) -> None:
    boss, merchant = owner(still)
    base = home(merchant)
    still.paid(merchant, still.anew(still.customer()), amount=500)
    boss.open(f"{base}/statements")
    month = months(boss)[0]
    viewer, accountant = join(still, merchant, "viewer", boss), join(still, merchant, "accountant", boss)
    viewer.open(f"{base}/statements")
    assert months(viewer) == []
    assert "Download PDF" not in viewer.text
    assert "5.00" in paper(accountant, base, month)
    with still.books() as books:
        [(detail,)] = noted(books, merchant)
    assert detail.startswith(f"statement of USD, {month}-01 to ")
