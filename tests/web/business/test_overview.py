"""The overview and reports of a business: its money by currency and day, exact to the moment."""

import html
import re
from datetime import timedelta

import pytest

from qirsh.language.local_time import local_day
from tests.guest import Guest
from tests.live import InProcess, trial
from tests.web.business.staff import home, join, owner, refund_form, take

DAY_MS = 24 * 3_600_000


def test_an_empty_shop_shows_the_way_to_its_first_payment(still: InProcess) -> None:
    boss, merchant = owner(still)
    boss.read(home(merchant))
    assert "First steps" in boss.text
    assert f'href="/business/{merchant.test_account}/take"' in boss.page
    test = f"/business/{merchant.test_account}"
    payment = take(boss, test)
    still.data(trial(merchant.test_key, "pay", payment))
    boss.read(home(merchant))
    assert boss.page.count('class="badge verified"') >= 2  # The payment with test money, and a key.
    assert "First steps" not in boss.read(test)


@pytest.mark.both_engines
def test_what_was_taken_is_seen_at_once_beside_yesterday(still: InProcess) -> None:
    boss, merchant = owner(still)
    still.paid(merchant, still.anew(still.customer()), amount=12_50)
    still.clock.advance(DAY_MS)
    boss = Guest(still).signed_in(merchant.email)
    paid = still.paid(merchant, still.anew(still.customer()), amount=30_00)
    path = refund_form(boss, home(merchant), paid)
    assert boss.post(path, amount="5", note="").status_code == 303
    text = boss.read(home(merchant))
    assert "First steps" not in text
    assert re.search(r"Taken today 30\.00 \S+ 1 payment\b", text), text
    assert re.search(r"Refunded today 5\.00", text)
    assert re.search(r"Available 37\.50", text)
    assert re.search(r"Yesterday : 12\.50", text) or "Yesterday: 12.50" in text, text
    assert '<svg class="chart"' in boss.page
    # Each number leads to the list that it counts.
    [report_of_today] = re.findall(r'Refunded today</small><a class="big" href="([^"]+)"', boss.page)
    reader = Guest(still).signed_in(merchant.email)
    reader.open(html.unescape(report_of_today))
    assert "5.00" in reader.text.partition("Refunded")[2].partition("Fees")[0]
    assert "Opening balance 12.50" in reader.text  # Of today alone.
    [list_of_today] = re.findall(r'class="big" href="([^"]+by=paid[^"]+)"', boss.page)
    boss.open(list_of_today.replace("&amp;", "&"))
    assert re.findall(r"/payments/(\d{16})\"", boss.page) == [paid]
    for span in ("14", "30", "90", "odd"):
        assert boss.ask(home(merchant), days=span).status_code == 200


def test_a_currency_without_payments_in_these_days_says_so_after_the_others(still: InProcess) -> None:
    _, merchant = owner(still)
    still.paid(merchant, still.anew(still.customer()), amount=12_50, currency="SYP")
    still.clock.advance(20 * DAY_MS)
    boss = Guest(still).signed_in(merchant.email)
    assert "No payments in the last 14 days." in boss.read(home(merchant))
    assert '<svg class="chart"' not in boss.page
    still.paid(merchant, still.anew(still.customer()), amount=30_00)
    text = boss.read(home(merchant))
    assert text.index("30.00 USD") < text.index("No payments in the last 14 days.")
    assert boss.page.count('<svg class="chart"') == 1
    assert "No payments" not in boss.read(home(merchant), days="30")


def test_a_report_adds_up_and_is_the_same_by_days(still: InProcess) -> None:
    boss, merchant = owner(still)
    still.paid(merchant, still.anew(still.customer()), amount=12_50)
    still.clock.advance(DAY_MS)
    boss = Guest(still).signed_in(merchant.email)
    still.paid(merchant, still.anew(still.customer()), amount=30_00)
    today = local_day(still.now_ms(), still.context.time_zone)
    days = {"currency": "USD", "from_": str(today), "to": str(today)}
    text = boss.read(f"{home(merchant)}/reports", **days)
    assert re.search(r"Opening balance 12\.50", text), text
    assert re.search(r"Taken \+30\.00", text)
    assert re.search(r"Closing balance 42\.50", text)
    assert "Checked against the ledger" in text
    both = boss.read(f"{home(merchant)}/reports", **days | {"from_": str(today - timedelta(days=1))})
    assert re.search(r"Opening balance 0\.00", both)
    assert re.search(r"Taken \+42\.50", both)


@pytest.mark.parametrize(
    ("code", "head", "status"), [("ar", "المردود", "رُدّ المبلغ"), ("tr", "İade edilen", "İade edildi")]
)
def test_what_was_refunded_heads_a_column_in_other_words_than_the_status(
    still: InProcess, code: str, head: str, status: str
) -> None:
    merchant = still.merchant()
    still.paid(merchant, still.anew(still.customer()), amount=12_50)
    today = str(local_day(still.now_ms(), still.context.time_zone))
    boss = Guest(still, code).signed_in(merchant.email)
    text = boss.read(f"{home(merchant)}/reports", currency="USD", from_=today, to=today)
    assert text.count(head) == 2
    assert status not in text


def test_a_report_of_nonsense_says_so(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[dict[str, str], str]] = [
        ({"from_": "2026-13-01", "to": "2026-01-01"}, "valid date"),
        ({"from_": "2026-02-01", "to": "2026-01-01"}, "before the start"),
        ({"from_": "2020-01-01", "to": "2026-01-01"}, "at most 366 days"),
        ({"currency": "XXX"}, ""),
    ]
    for query, says in cases:
        with subtests.test(query=query, says=says):
            assert boss.ask(f"{home(merchant)}/reports", **query).status_code == 422
            assert says in boss.text


def test_a_cashier_sees_no_money(still: InProcess) -> None:
    boss, merchant = owner(still)
    still.paid(merchant, still.anew(still.customer()), amount=12_50)
    cashier = join(still, merchant, "cashier", boss)
    text = cashier.read(home(merchant))
    assert "Taken today" not in text
    assert "Latest payments" in text
    assert cashier.open(f"{home(merchant)}/reports").status_code == 403


# Searching.


@pytest.mark.both_engines
def test_one_box_finds_payments_and_says_what_it_looked_for(still: InProcess) -> None:
    boss, merchant = owner(still)
    customer = still.anew(still.customer())
    paid = still.paid(merchant, customer, amount=12_34, note="Kahve İstanbul", reference="ORD-7")
    base = f"{home(merchant)}/payments"
    assert boss.ask(base, q=paid).headers["location"] == f"{base}/{paid}"
    assert "Payments of the payer" in boss.read(base, q=customer.account)
    assert f"/payments/{paid}" in boss.page
    assert "Payments of exactly" in boss.read(base, q="12.34 USD")
    assert "Payments with these words" in boss.read(base, q="istanbul")
    viewer = join(still, merchant, "viewer", boss)
    viewer.read(base, q=customer.account)
    assert "Payments of the payer" not in viewer.text
    assert f"/payments/{paid}" not in viewer.page
    assert boss.ask(base, q="x" * 500).status_code == 422
