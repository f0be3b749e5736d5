"""What a person reads of by mail, since a thief may have done it: keys, payouts, and a PIN that is not theirs."""

from collections.abc import Iterator

import pytest

from qirsh.domain.pending_reset import RESET_AFTER_MS
from tests.guest import Guest
from tests.live import PASSWORD, PIN, WRONG_PIN, InProcess, in_process
from tests.mailbox import words_to
from tests.postgres import PostgresServer


@pytest.fixture(scope="module")
def house(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=3, people=4) as world:
        world.change(has_mail=True)
        yield world


def test_a_payout_is_told_once_it_is_asked_for(house: InProcess) -> None:
    customer = house.customer()
    guest = Guest(house).entered(customer)
    bank = {"holder": "Layla", "bank": "Bank Audi", "account": "TR330006100519786457841326"}
    for pin in (WRONG_PIN, PIN):
        assert "payout_asked" not in words_to(house, customer.email)
        guest.open("/wallet/payouts")
        guest.post("/wallet/payouts", amount="12.50", currency="USD", **bank)
        guest.post("/wallet/payouts", pin=pin)
    told = words_to(house, customer.email)["payout_asked"]
    assert (told["amount"], told["currency"], told["name"]) == (1250, "USD", "Layla")


def test_a_key_is_told_to_the_owner_whoever_makes_it(house: InProcess) -> None:
    shop = house.merchants[0]
    assert "key_issued" not in words_to(house, shop.email)
    house.act("key issue", account=shop.account)
    assert words_to(house, shop.email)["key_issued"]["url"].endswith(f"/business/{shop.account}/keys")
    other = house.merchants[1]
    guest = Guest(house).signed_in(other.email)
    guest.open(f"/business/{other.account}/keys")
    form = {"name": "Server", "days": "", "password": PASSWORD, "payments-read": "yes"}
    answer = guest.post(f"/business/{other.account}/keys", **form)
    assert answer.status_code == 200, guest.text
    told = words_to(house, other.email)["key_issued"]
    assert told["name"] == "Shop"
    assert told["url"].endswith(f"/business/{other.account}/keys")


def test_a_pin_that_operators_are_to_set_back_is_told_a_day_before(house: InProcess) -> None:
    customer = house.customer()
    house.agree("access reset-pin", email=customer.email, reason="has forgotten it")
    told = words_to(house, customer.email)["pin_reset_agreed"]
    assert (told["at"], told["url"].endswith("/wallet/security")) == (house.now_ms() + RESET_AFTER_MS, True)
