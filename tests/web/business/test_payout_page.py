"""One payout on its page: what moved since the payout before adds up to what it was paid from, by the ledger alone."""

import csv
import io
import random
import re
from decimal import Decimal

import pytest

from qirsh.domain.tables import Tables
from qirsh.store.reads.reconciliation import read_reconciliation
from qirsh.workers.sealer import Sealer
from qirsh.workers.totaler import Totaler
from tests.guest import Guest
from tests.live import InProcess, Merchant, refund
from tests.web.business.payouts import asked, paid_out, ready
from tests.web.business.staff import home, join, owner

DAY_MS = 24 * 3_600_000


def counted(world: InProcess) -> None:
    async def count() -> None:
        context = world.context
        sealer = Sealer(context.store, context.engine, context.clock)
        await sealer.seal_settled()
        await sealer.seal_settled()
        worker = Totaler(context.store, context.engine)
        while await worker.count():
            pass

    world.run(count())


def facts(guest: Guest) -> dict[str, int]:
    """Terms of the page and their amounts, in cents."""
    found = re.findall(r"<dt>([^<]+)</dt><dd>\s*<span class=\"sum[^>]*><bdi class=\"num\">([^<]+)</bdi>", guest.page)
    return {term: int(Decimal(digits.replace(",", "").replace("\N{MINUS SIGN}", "-")) * 100) for term, digits in found}


def two_payouts(world: InProcess) -> tuple[Merchant, str, str]:
    """With a payment and a refund between them, and the clock a day back for the second."""
    _, merchant = owner(world)
    bank = ready(world, merchant)
    customer = world.anew(world.customer())
    world.paid(merchant, customer, amount=5000)
    first = paid_out(world, merchant, bank, 2000)
    payment = world.paid(merchant, customer, amount=700)
    world.data(refund(merchant.key, payment, amount=50))
    world.withdraw(merchant.account, 10)
    world.deposit(merchant.account, 3)
    second = paid_out(world, merchant, bank, 3000)
    return merchant, first, second


@pytest.mark.both_engines
@pytest.mark.parametrize("is_counted", [False, True])
def test_a_payout_shows_what_moved_since_the_one_before(still: InProcess, is_counted: bool) -> None:  # noqa: FBT001
    merchant, first, second = two_payouts(still)
    if is_counted:
        counted(still)
    boss = Guest(still).signed_in(merchant.email)
    boss.open(f"{home(merchant)}/payouts")
    assert f'href="{home(merchant)}/payouts/{second}"' in boss.page
    boss.open(f"{home(merchant)}/payouts/{first}")
    assert "Since the first payment" in boss.text
    assert "ending in 3000" in boss.text
    assert facts(boss) == {
        "Amount": 2000,
        "Opening balance": 0,
        "Taken": 5000,
        "Refunded": 0,
        "Fees": 0,
        "Corrections": 0,
        "Balance before this payout": 5000,
        "This payout": -2000,
        "Balance after this payout": 3000,
    }
    boss.open(f"{home(merchant)}/payouts/{second}")
    assert "Since the previous payout" in boss.text
    assert facts(boss) == {
        "Amount": 3000,
        "Balance after the previous payout": 3000,
        "Taken": 700,
        "Refunded": -50,
        "Fees": 0,
        "Paid out": -10,
        "Paid in": 3,
        "Corrections": 0,
        "Balance before this payout": 3643,
        "This payout": -3000,
        "Balance after this payout": 643,
    }


def test_its_transactions_are_exactly_those_that_the_page_adds_up(still: InProcess) -> None:
    merchant, first, second = two_payouts(still)
    boss = Guest(still).signed_in(merchant.email)
    for payout, wanted in (
        (first, [("pay", "50.00")]),
        (second, [("pay", "7.00"), ("refund", "-0.50"), ("withdrawal", "-0.10"), ("deposit", "0.03")]),
    ):
        path = f"{home(merchant)}/payouts/{payout}"
        boss.open(path)
        answer = boss.post(f"{path}/transactions", format="csv")
        assert answer.status_code == 200
        assert answer.headers["content-disposition"] == f'attachment; filename="transactions-{payout}.csv"'
        read = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))
        assert [(row["kind"], row["amount"]) for row in read[:-1]] == wanted
        boss.open(path)
        assert boss.post(f"{path}/transactions", format="doc").status_code == 422
        assert "Choose one of these" in boss.text


def test_a_payout_that_waits_counts_to_now_and_one_that_ended_unpaid_counts_nothing(still: InProcess) -> None:
    merchant, _, second = two_payouts(still)
    bank = ready(still, merchant)
    waiting, refused = asked(still, merchant, bank, 100), asked(still, merchant, bank, 1)
    still.act("payout refuse", id=refused, reason="No such account")
    still.paid(merchant, still.anew(still.customer()), amount=7)
    boss = Guest(still).signed_in(merchant.email)
    boss.open(f"{home(merchant)}/payouts/{waiting}")
    assert facts(boss)["Balance after the previous payout"] == 643
    assert facts(boss)["Balance now"] == 650
    boss.open(f"{home(merchant)}/payouts/{refused}")
    assert "No such account" in boss.text
    assert list(facts(boss)) == ["Amount"]
    assert second not in boss.page


def test_figures_that_the_ledger_does_not_agree_with_are_not_shown(
    still: InProcess, caplog: pytest.LogCaptureFixture
) -> None:
    merchant, _, second = two_payouts(still)
    counted(still)
    still.database.meddle(
        "account_total",
        f"UPDATE account_total SET taken = taken + 1 WHERE account = {merchant.account}",  # noqa: S608 - ours
    )
    still.paid(merchant, still.anew(still.customer()), amount=7)
    waiting = asked(still, merchant, ready(still, merchant), 100)
    boss = Guest(still).signed_in(merchant.email)
    path = f"{home(merchant)}/payouts/{waiting}"
    boss.open(path)
    assert "do not agree with the ledger" in boss.text
    assert "Taken" not in boss.text
    assert any(record.levelname == "CRITICAL" for record in caplog.records)
    assert "/transactions" not in boss.page
    assert second not in boss.page


def test_a_payout_of_another_is_like_one_that_never_was(still: InProcess) -> None:
    merchant, first, _ = two_payouts(still)
    boss, other = owner(still)
    answers = [boss.open(f"{home(other)}/payouts/{payout}") for payout in (first, "po_none", "%00", "%D8%B4")]
    assert {answer.status_code for answer in answers} == {404}
    viewer = join(still, merchant, "viewer")
    viewer.open(f"{home(merchant)}/payouts/{first}")
    assert "Taken" in viewer.text
    assert "/transactions" not in viewer.page


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_payouts_of_a_random_life_follow_each_other_to_the_coin(still: InProcess, seed: int) -> None:
    _, merchant = owner(still)
    bank, chance, payouts = ready(still, merchant), random.Random(seed), []
    still.clock.advance(DAY_MS)  # Time enough for a clock that goes back.
    customer = still.anew(still.customer())
    for _ in range(25):
        match chance.randrange(6):
            case 0 if still.held(merchant.account) > 300:
                payouts.append(paid_out(still, merchant, bank, chance.randrange(1, 300)))
            case 1 if still.held(merchant.account) > 50:
                still.withdraw(merchant.account, chance.randrange(1, 50))
            case 2:
                counted(still)
            case _:
                payment = still.paid(merchant, customer, amount=chance.randrange(1, 900))
                if chance.random() < 0.3:
                    still.data(refund(merchant.key, payment, amount=1))
        still.clock.advance(chance.choice((0, 1, 60_000, 1_000_000, -2_000_000)))
    left, place = 0, 0
    for name in payouts:
        payout = still.run(still.context.store.find(Tables.payouts, name))
        assert payout is not None
        found = still.run(read_reconciliation(still.context.store, payout))
        assert found.faults == ()
        assert (found.opening, found.first) == (left, place)
        assert found.opening + found.sums.net == found.closing
        assert payout.sequence == found.last + 1
        left, place = found.closing - payout.amount, payout.sequence
