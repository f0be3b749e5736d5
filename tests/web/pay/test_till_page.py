"""A till as customers meet it: what it shows, and that one form makes one payment, within its bounds."""

import json
import re
from typing import Final

import pytest

from qirsh.domain.commands.till import CloseTill
from qirsh.domain.limits import TILL_PAYMENT_MS_MAX, TILL_PAYMENTS_OF_ADDRESS, TILL_PAYMENTS_PER_MINUTE
from qirsh.domain.tables import Tables
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import Guest
from tests.live import InProcess, Merchant, World, in_process, pay, retrieve
from tests.postgres import PostgresServer
from tests.web.tills import fixed_till, new_till


def payments_of(world: World, till: str) -> list[tuple[int, str, str]]:
    """Amount, currency and note of each that was made there."""
    with world.books() as books:
        rows = books.select("SELECT amount, currency, note, metadata FROM payment ORDER BY number")
    return [(amount, currency, note) for amount, currency, note, told in rows if json.loads(told).get("till") == till]


def close(world: InProcess, merchant: Merchant, till: str) -> None:
    account = world.run(world.context.store.find(Tables.accounts, int(merchant.account)))
    assert account is not None
    assert account.owner is not None
    world.run(world.context.engine.submit(CloseTill(till, int(merchant.account), account.owner)))


def test_a_customer_enters_an_amount_and_pays_it(still: InProcess) -> None:
    merchant, customer = still.merchants[1], still.customer()
    till = new_till(still, merchant)
    guest = Guest(still)
    read = guest.read(f"/till/{till}")
    for words in ("Shop", "Verified business", "Table 4", "From 1.00 to 50.00"):
        assert words in read
    answer = guest.post(f"/till/{till}", amount="12.5")
    assert answer.status_code == 303
    payment_id = answer.headers["location"].removeprefix("/pay/")
    guest.follow(answer)
    for words in ("12.50 USD", "Note from the shop Tea"):
        assert words in guest.text
    told = still.data(retrieve(merchant.key, payment_id))
    assert (told["amount"], told["status"], told["metadata"]) == (1250, "pending", {"till": till})
    assert still.data(pay(customer, payment_id))["status"] == "paid"


def test_a_fixed_amount_is_shown_and_cannot_be_changed(still: InProcess) -> None:
    till = fixed_till(still, still.merchants[1])
    guest = Guest(still)
    assert "2.50 USD" in guest.read(f"/till/{till}")
    assert 'name="amount"' not in guest.page
    assert guest.post(f"/till/{till}", amount="1.00").status_code == 303
    assert payments_of(still, till) == [(250, "USD", "Tea")]


TYPED_AMOUNTS: Final = [
    ("en", "1,2.00", None),
    ("tr", "12,50", 1250),
    ("tr", "12.50", None),
    ("ar", "\u0661\u0662\u066b\u0665", 1250),
    ("en", "50", 5000),
]


def test_amounts_are_typed_as_people_of_the_language_type_them(still: InProcess, subtests: pytest.Subtests) -> None:
    for language, typed, amount in TYPED_AMOUNTS:
        with subtests.test(language):
            till = new_till(still, still.merchants[1])
            guest = Guest(still, language)
            guest.open(f"/till/{till}")
            assert guest.post(f"/till/{till}", amount=typed).status_code == (422 if amount is None else 303)
            assert payments_of(still, till) == ([] if amount is None else [(amount, "USD", "Tea")])


WRONG_AMOUNTS: Final = [
    ("", "Enter a valid amount, such as 50.00."),
    ("tea", "Enter a valid amount, such as 50.00."),
    ("-5", "Enter a valid amount, such as 50.00."),
    ("1e1", "Enter a valid amount, such as 50.00."),
    ("<b>", "Enter a valid amount, such as 50.00."),
    ("9" * 30, "Enter a valid amount, such as 50.00."),
    ("0.99", "Enter an amount from 1.00 to 50.00"),
    ("50.01", "Enter an amount from 1.00 to 50.00"),
]


def test_what_is_wrong_stands_beside_the_field_with_what_was_typed(still: InProcess, subtests: pytest.Subtests) -> None:
    for typed, says in WRONG_AMOUNTS:
        with subtests.test(typed):
            till = new_till(still, still.merchants[1])
            guest = Guest(still)
            guest.open(f"/till/{till}")
            assert guest.post(f"/till/{till}", amount=typed).status_code == 422
            assert says in guest.text
            assert guest.value("amount") == typed
            assert payments_of(still, till) == []


def test_one_form_makes_one_payment_of_an_amount(still: InProcess) -> None:
    """A double tap, and who comes back to the form for another amount."""
    till = new_till(still, still.merchants[1])
    guest = Guest(still)
    guest.open(f"/till/{till}")
    twice = guest.posting(f"/till/{till}", amount="10")
    answers = still.together([twice] * 5)
    assert {answer.status_code for answer in answers} == {303}
    assert len({answer.headers["location"] for answer in answers}) == 1
    other = guest.post(f"/till/{till}", amount="11")
    assert other.headers["location"] != answers[0].headers["location"]
    assert payments_of(still, till) == [(1000, "USD", "Tea"), (1100, "USD", "Tea")]


def test_a_till_that_is_closed_says_so_also_to_who_has_its_form(still: InProcess) -> None:
    merchant = still.merchants[1]
    till = new_till(still, merchant)
    guest = Guest(still)
    guest.open(f"/till/{till}")
    call = guest.posting(f"/till/{till}", amount="10")
    close(still, merchant, till)
    guest.follow(still.send(call))
    assert "This till is closed" in guest.text
    assert "<form method" not in guest.page.partition("<main")[2]
    assert payments_of(still, till) == []


def test_a_suspended_shop_takes_nothing(still: InProcess) -> None:
    merchant = still.merchant()
    live, test = new_till(still, merchant), new_till(still, merchant, account=int(merchant.test_account))
    guests = {till: Guest(still) for till in (live, test)}
    calls = {}
    for till, guest in guests.items():
        guest.open(f"/till/{till}")
        calls[till] = guest.posting(f"/till/{till}", amount="10")
    still.act("account suspend", account=merchant.account, reason="a test")
    for till, guest in guests.items():
        guest.follow(still.send(calls[till]))
        assert "This shop cannot take payments at the moment" in guest.text
        assert "Verified business" not in guest.text
        assert payments_of(still, till) == []


def test_a_test_till_says_that_no_money_moves(still: InProcess) -> None:
    merchant = still.merchants[1]
    till = new_till(still, merchant, account=int(merchant.test_account))
    guest = Guest(still)
    read = guest.read(f"/till/{till}")
    assert "Test payment. No money moves." in read
    assert "Verified business" not in read
    guest.follow(guest.post(f"/till/{till}", amount="10"))
    assert "Test payment. No money moves." in guest.text


def test_unpaid_payments_of_a_till_expire_within_the_hour(still: InProcess) -> None:
    merchant = still.merchants[1]
    till = new_till(still, merchant)
    guest = Guest(still)
    guest.open(f"/till/{till}")
    payment_id = guest.post(f"/till/{till}", amount="10").headers["location"].removeprefix("/pay/")
    still.clock.advance(TILL_PAYMENT_MS_MAX)
    assert "has expired" in guest.read(f"/pay/{payment_id}")


def test_one_page_for_all_that_is_not_there(still: InProcess, subtests: pytest.Subtests) -> None:
    for name in ("till_0", f"till_{'0' * 18}", "till_%00", "%D9%A0", f"TILL_{'0' * 18}"):
        with subtests.test(name):
            guest = Guest(still)
            answer = guest.open(f"/till/{name}")
            assert answer.status_code == 404
            assert "There is no such page" in guest.text


def test_a_form_of_another_till_or_browser_is_not_heard(still: InProcess) -> None:
    first, second = (new_till(still, still.merchants[1]) for _ in range(2))
    guest, stranger = Guest(still), Guest(still)
    guest.open(f"/till/{first}")
    fields = guest.form(f"/till/{first}") | {"amount": "10"}
    assert guest.post(f"/till/{second}", fields).status_code == 403
    assert guest.post(f"/till/{first}", fields | {"nonce": "0" * 18}).status_code == 403
    assert guest.post(f"/till/{first}", fields | {"more": "1"}).status_code == 422
    assert guest.post(f"/till/{first}", {}, {"content_type": "application/json"}).status_code == 415
    stranger.open(f"/till/{first}")
    assert stranger.post(f"/till/{first}", fields).status_code == 403
    assert payments_of(still, first) == payments_of(still, second) == []


def test_nobody_fills_the_list_of_a_shop(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=0) as world:
        tills = [new_till(world, world.merchants[0]) for _ in range(2)]
        world.limit(RateLimits(clock=lambda: 0))
        guest = Guest(world)

        def sent(till: str) -> int:
            guest.open(f"/till/{till}")
            return guest.post(f"/till/{till}", amount="10").status_code

        world.come_from("192.0.2.1")
        assert [sent(tills[number % 2]) for number in range(TILL_PAYMENTS_OF_ADDRESS)] == [303] * (
            TILL_PAYMENTS_OF_ADDRESS
        )
        assert sent(tills[0]) == 429
        assert "Too many attempts" in guest.text
        assert f'href="/till/{tills[0]}"' in guest.page
        made = 0
        for number in range(2, 20):
            world.come_from(f"192.0.2.{number}")
            made += [sent(tills[0]) for _ in range(TILL_PAYMENTS_OF_ADDRESS)].count(303)
        assert made + TILL_PAYMENTS_OF_ADDRESS // 2 == TILL_PAYMENTS_PER_MINUTE
        world.come_from("192.0.2.99")
        assert [sent(tills[0]), sent(tills[1])] == [429, 303]


def test_the_page_is_in_the_language_of_who_scans_it(still: InProcess, subtests: pytest.Subtests) -> None:
    for language, direction, says in (("en", "ltr", "Continue"), ("ar", "rtl", "متابعة"), ("tr", "ltr", "Devam et")):
        with subtests.test(language):
            till = new_till(still, still.merchants[1])
            guest = Guest(still, language)
            assert says in guest.read(f"/till/{till}")
            assert f'dir="{direction}"' in guest.page


def test_a_shops_words_stay_its_words(still: InProcess) -> None:
    till = new_till(still, still.merchants[1], name="<script>alert(1)</script>")
    guest = Guest(still)
    guest.read(f"/till/{till}")
    assert "<script>alert" not in guest.page
    assert "<script>alert(1)</script>" in guest.text


def test_the_page_is_small_and_has_nothing_of_the_dashboard(still: InProcess) -> None:
    guest = Guest(still)
    guest.read(f"/till/{new_till(still, still.merchants[1])}")
    assert not re.search(r"business\.(css|js)", guest.page)
    assert len(guest.page) < 10_000
