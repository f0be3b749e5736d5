"""Payouts of a business on its pages: a bank account, a day, a PIN, and one payout for one form."""

import re

import pytest

from qirsh.domain.limits import BANK_ACCOUNT_NEW_MS, BANK_ACCOUNTS_MAX
from tests.guest import Guest
from tests.live import PASSWORD, InProcess, Merchant
from tests.mailbox import words_to
from tests.web.business.staff import home, join, owner

BANK = {"holder": "Al-Sham Books", "bank": "Bank of Aleppo", "account": "DE89 3704 0044 0532 0130 00"}
PIN = "246813"


def add_bank(guest: Guest, merchant: Merchant, **changes: str) -> str:
    path = f"{home(merchant)}/bank-accounts"
    guest.open(path)
    answer = guest.post(path, **{**BANK, "password": PASSWORD, **changes})
    assert answer.status_code == 303, guest.text
    guest.open(path)
    return str(re.findall(r"/bank-accounts/(ba_\w+)/remove", guest.page)[-1])


def rich(world: InProcess) -> tuple[Guest, Merchant, str]:
    """An owner at home whose shop has money, and a bank account that is a day old."""
    boss, merchant = owner(world)
    world.paid(merchant, world.anew(world.customer()), amount=5000)
    bank = add_bank(boss, merchant)
    world.clock.advance(BANK_ACCOUNT_NEW_MS)
    return Guest(world).signed_in(merchant.email), merchant, bank


@pytest.mark.both_engines
def test_a_bank_account_is_added_shown_mailed_and_removed(still: InProcess) -> None:
    boss, merchant = owner(still)
    bank = add_bank(boss, merchant)
    assert "DE89 3704" in boss.text
    assert "Bank of Aleppo" in boss.text
    assert "Bank of Aleppo" in words_to(still, merchant.email)["bank_account_added"]["bank"]
    with still.books() as books:
        [(sealed,)] = books.select("SELECT details_sealed FROM bank_account WHERE id = ?", bank)
    assert b"Aleppo" not in bytes(sealed)
    boss.follow(boss.post(f"{home(merchant)}/bank-accounts/{bank}/remove"))
    assert "was removed" in boss.text
    assert "No bank accounts yet" in boss.text


def test_what_is_wrong_with_a_bank_account_stands_beside_it(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[dict[str, str], str]] = [
        ({"account": "DE89 3704 0044 0532 0130 01"}, "typing error"),
        ({"account": "12"}, "too short"),
        ({"holder": ""}, "Required"),
        ({"bank": ""}, "Required"),
    ]
    for changes, says in cases:
        with subtests.test(changes=changes, says=says):
            path = f"{home(merchant)}/bank-accounts"
            boss.open(path)
            assert boss.post(path, **{**BANK, **changes}).status_code == 422
            assert says in boss.text


def test_the_eleventh_bank_account_is_refused_in_words(still: InProcess) -> None:
    boss, merchant = owner(still)
    for _ in range(BANK_ACCOUNTS_MAX):
        add_bank(boss, merchant)
    path = f"{home(merchant)}/bank-accounts"
    boss.open(path)
    assert boss.post(path, **BANK).status_code == 422
    assert "maximum number of bank accounts" in boss.text


@pytest.mark.both_engines
def test_a_payout_is_asked_for_once_followed_and_cancelled(still: InProcess) -> None:
    boss, merchant, bank = rich(still)
    path = f"{home(merchant)}/payouts"
    boss.open(path)
    call = boss.posting(path, bank_account=bank, amount="12.50", currency="USD", pin=PIN, password=PASSWORD)
    assert {answer.status_code for answer in still.together([call] * 3)} == {303}
    boss.read(path)
    [payout] = set(re.findall(r"/payouts/(po_\w+)/cancel", boss.page))
    assert "12.50" in boss.text
    assert words_to(still, merchant.email)["shop_payout_asked"]["amount"] == 1250
    boss.follow(boss.post(f"{path}/{payout}/cancel"))
    assert "is cancelled" in boss.text


def test_a_new_bank_account_a_wrong_pin_and_too_much_are_refused_beside_their_fields(still: InProcess) -> None:
    boss, merchant, bank = rich(still)
    path = f"{home(merchant)}/payouts"
    young = add_bank(boss, merchant)
    good = {"bank_account": bank, "amount": "1", "currency": "USD", "pin": PIN, "password": PASSWORD}
    for changes, says in (
        ({"bank_account": young}, "24 hours after it was added"),
        ({"bank_account": "ba_odd"}, "Choose one of the bank accounts"),
        ({"pin": "111111"}, "4 attempts are left"),
        ({"pin": ""}, "six digits"),
        ({"amount": "1000000"}, "does not have this much"),
        ({"amount": "x"}, "valid amount"),
    ):
        boss.open(path)
        assert boss.post(path, **{**good, **changes}).status_code == 422, changes
        assert says in boss.text, changes
    with still.books() as books:
        assert books.select("SELECT count(*) FROM payout WHERE account = ?", int(merchant.account)) == [(0,)]


def test_the_form_says_from_when_a_new_bank_account_can_be_used(still: InProcess) -> None:
    boss, merchant, old = rich(still)
    new = add_bank(boss, merchant, bank="Bank of Homs")
    boss.open(f"{home(merchant)}/payouts")
    options = dict(re.findall(r'<option value="(ba_\w+)"[^>]*>([^<]*)<', boss.page))
    assert " · From " in options[new]
    assert " · From " not in options[old]


def test_roles_see_and_ask_as_they_may(still: InProcess) -> None:
    boss, merchant, bank = rich(still)
    accountant, viewer = join(still, merchant, "accountant", boss), join(still, merchant, "viewer", boss)
    path = f"{home(merchant)}/payouts"
    accountant.read(path)
    assert "/bank-accounts" not in accountant.page
    assert accountant.post(path, bank_account=bank, amount="1", currency="USD", pin=PIN).status_code == 303
    viewer.read(path)
    assert "Request payout" not in viewer.text
    assert viewer.open(f"{home(merchant)}/bank-accounts").status_code == 403


def test_test_money_is_not_paid_out(still: InProcess) -> None:
    boss, merchant = owner(still)
    assert "Test money cannot be paid out" in boss.read(f"/business/{merchant.test_account}/payouts")
