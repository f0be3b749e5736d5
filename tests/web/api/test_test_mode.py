"""Test calls: what a merchant makes happen to payments of its test account, and that nothing live ever moves by it."""

from collections import Counter
from typing import Any, Final

import pytest

from tests.live import (
    TRIALS,
    Call,
    InProcess,
    Live,
    Merchant,
    World,
    cancel,
    create,
    field_errors,
    outcome,
    pay,
    post,
    refund,
    refused,
    retrieve,
    trial,
)

MAX: Final = 999_999_999_999_999
ENDS: Final = {"pay": "paid", "expire": "expired", "cancel": "cancelled"}
TOO_LATE: Final = {"paid": "already_paid", "expired": "expired", "cancelled": "cancelled"}


def left_alone(world: World, call: Call, status: int, code: str) -> None:
    before = world.counts()
    refused(world.send(call), status, code)
    assert world.counts() == before


def asked(world: World, merchant: Merchant, **fields: object) -> str:
    payment_id: str = world.data(create(merchant.test_key, **fields))["id"]
    return payment_id


def live_rows(world: World) -> dict[str, list[tuple[Any, ...]]]:
    """Whatever belongs to a live account."""
    accounts = "(SELECT number FROM account WHERE mode = 'live')"
    tables = {
        "account": "number",
        "balance": "account",
        "payment": "merchant",
        "event": "account",
        "event_counter": "account",
        "api_key": "account",
        "stored_response": "account",
        "session": "account",
    }
    with world.books() as books:
        rows = {
            table: sorted(books.select(f"SELECT * FROM {table} WHERE {column} IN {accounts}"), key=repr)  # noqa: S608 - ours
            for table, column in tables.items()
        }
        sql = f"SELECT * FROM transfer WHERE debit IN {accounts} OR credit IN {accounts} ORDER BY id"  # noqa: S608 - ours
        rows["transfer"] = books.select(sql)
        rows["bank_order"] = books.select("SELECT * FROM bank_order ORDER BY house, reference")
        rows["pin"] = books.select("SELECT * FROM pin ORDER BY person")
    return rows


def events(world: World, key: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = world.data(Call("GET", "/api/v1/events?limit=100", key))["items"]
    return items


def test_each_trial_ends_a_payment_as_the_real_thing_would(world: Live, subtests: pytest.Subtests) -> None:
    for what in ENDS:
        with subtests.test(what):
            merchant = world.merchant()
            payment_id = asked(world, merchant, amount=77)
            before = world.data(retrieve(merchant.test_key, payment_id))
            answer = world.send(trial(merchant.test_key, what, payment_id))
            shown = answer.json()["data"]
            assert answer.status_code == 200
            assert shown == world.data(retrieve(merchant.test_key, payment_id))
            assert (shown["status"], shown["version"], shown["livemode"]) == (ENDS[what], 2, False)
            assert shown["updatedAt"] >= before["createdAt"]
            assert (shown["paidAt"] is not None, shown["cancelledAt"] is not None) == (what == "pay", what == "cancel")
            assert (shown["from"] is not None) == (what == "pay")
            told = [(event["type"], event["data"]) for event in events(world, merchant.test_key)]
            assert told == [(f"remote_payment.{ENDS[what]}", shown)]
            assert events(world, merchant.key) == []
            # What is final is final, for each of them.
            for another in ENDS:
                left_alone(world, trial(merchant.test_key, another, payment_id), 409, TOO_LATE[ENDS[what]])
            left_alone(world, cancel(merchant.test_key, payment_id), 409, TOO_LATE[ENDS[what]])
            assert world.held(merchant.test_account) == (77 if what == "pay" else 0)


def test_the_payer_is_the_accounts_own_test_customer(world: Live) -> None:
    one, two = world.merchant(), world.merchant()
    payers = {
        shop.account: {
            world.data(trial(shop.test_key, "pay", asked(world, shop, currency=currency)))["from"]
            for currency in ("USD", "SYP", "USD")
        }
        for shop in (one, two)
    }
    assert [len(numbers) for numbers in payers.values()] == [1, 1]
    assert payers[one.account] != payers[two.account]
    with world.books() as books:
        for shop, numbers in payers.items():
            [row] = books.select("SELECT kind, mode, live_account FROM account WHERE number = ?", int(*numbers))
            assert row == ("personal", "test", int(shop))


def test_a_customer_without_money_leaves_everything_as_it_was(world: Live) -> None:
    merchant = world.merchant()
    payment_id = asked(world, merchant)
    before = world.data(retrieve(merchant.test_key, payment_id))
    short = trial(merchant.test_key, "pay", payment_id, outcome="insufficient_funds")
    for call in (short, short.once("short")):
        left_alone(world, call, 409, "insufficient_funds")
    assert world.data(retrieve(merchant.test_key, payment_id)) == before
    assert events(world, merchant.test_key) == []
    # The same key may be used for the try that succeeds, since a refusal is not remembered.
    paid = trial(merchant.test_key, "pay", payment_id, outcome="paid").once("short")
    assert world.data(paid)["status"] == "paid"
    # When it is paid, it is told so, whatever is wished for.
    left_alone(world, short, 409, "already_paid")


def test_the_purse_refills_and_is_never_below_zero(world: Live) -> None:
    merchant = world.merchant()
    payers = set()
    for amount in (MAX, MAX, 1, MAX, MAX - 1, 2):
        shown = world.data(trial(merchant.test_key, "pay", asked(world, merchant, amount=amount)))
        payers.add(shown["from"])
        assert world.held(shown["from"]) >= 0
    assert world.held(merchant.test_account) == MAX * 4 + 2
    assert len(payers) == 1
    assert world.violations() == []


def test_refunds_go_back_to_the_test_customer_and_are_paid_out_again(world: Live) -> None:
    merchant = world.merchant()
    for _ in range(3):
        payment_id = asked(world, merchant, amount=MAX)
        world.data(trial(merchant.test_key, "pay", payment_id))
        world.data(refund(merchant.test_key, payment_id))
        assert world.held(merchant.test_account) == 0
    with world.books() as books:
        [(minted,)] = books.select(
            "SELECT count(*) FROM transfer t JOIN account a ON a.number = t.debit WHERE t.kind = 'mint'"
            " AND a.live_account = ? AND t.currency = 'USD' AND t.amount = ?",
            int(merchant.account),
            MAX,
        )
    # The funds that the account was opened with may have been smaller; one filling is enough for all three.
    assert minted <= 2


def test_an_account_that_holds_all_it_can_takes_no_more(still: InProcess) -> None:
    merchant = still.merchants[0]
    told: Counter[str] = Counter()
    for _ in range(11):
        answers = still.together(create(merchant.test_key, amount=MAX, currency="TRY") for _ in range(100))
        ids = [answer.json()["data"]["id"] for answer in answers]
        told.update(outcome(answer) for answer in still.together(trial(merchant.test_key, "pay", one) for one in ids))
    # A thousand times the largest payment is what an account can hold, and about what the mint can make.
    assert told.keys() == {"", "balance_limit"} or told.keys() == {"", "insufficient_funds"}, told
    assert told[""] in {999, 1000}
    assert still.held(merchant.test_account, "TRY") == told[""] * MAX
    assert still.violations() == []


def test_a_live_key_makes_no_trials_whatever_it_names(world: Live, subtests: pytest.Subtests) -> None:
    for what in ENDS:
        with subtests.test(what):
            merchant = world.merchants[0]
            ids = [world.payment(merchant), asked(world, merchant), "1234567890123456", "x"]
            told = set()
            for payment_id in ids:
                call = trial(merchant.key, what, payment_id)
                left_alone(world, call, 409, "test_and_live")
                left_alone(world, call.once("trial with a live key"), 409, "test_and_live")
                told.add(world.send(call).json()["detail"])
            assert len(told) == 1
            assert "qk_test_" in told.pop()


def test_a_live_payment_is_nothing_to_a_test_key(world: Live, subtests: pytest.Subtests) -> None:
    for what in ENDS:
        with subtests.test(what):
            merchant = world.merchants[0]
            payment_id = world.payment(merchant)
            left_alone(world, trial(merchant.test_key, what, payment_id), 404, "not_found")
            assert world.data(retrieve(merchant.key, payment_id))["status"] == "pending"


def test_trials_touch_nothing_of_any_live_account(still: InProcess) -> None:
    merchant, other, customer = *still.merchants[:2], still.customers[0]
    live = [still.payment(merchant), still.paid(merchant, customer)]
    before = live_rows(still)
    for shop in (merchant, other):
        for what in ENDS:
            payment_id = asked(still, shop)
            still.data(trial(shop.test_key, what, payment_id).once(f"touches nothing {what}"))
            for one in (*live, payment_id):
                still.send(trial(shop.test_key, "pay", one, outcome="insufficient_funds"))
                still.send(trial(shop.key, what, one))
                still.send(trial(shop.test_key, what, one))
        payment_id = asked(still, shop)
        still.data(trial(shop.test_key, "pay", payment_id))
        still.data(refund(shop.test_key, payment_id))
        # A live customer has nothing to pay with here.
        assert outcome(still.send(pay(customer, asked(still, shop)))) == "test_and_live"
    assert live_rows(still) == before
    assert still.violations() == []


def test_a_suspended_owner_makes_no_trials(world: Live, subtests: pytest.Subtests) -> None:
    for what in ENDS:
        with subtests.test(what):
            merchant = world.merchant()
            payment_id = asked(world, merchant)
            world.act("account suspend", account=merchant.account)
            left_alone(world, trial(merchant.test_key, what, payment_id), 403, "account_suspended")
            assert world.data(retrieve(merchant.test_key, payment_id))["status"] == "pending"
            world.act("account resume", account=merchant.account)
            world.data(trial(merchant.test_key, what, payment_id))


def test_a_payment_whose_time_is_over_can_be_expired_and_not_paid(still: InProcess) -> None:
    merchant = still.merchants[0]
    one, two = (asked(still, merchant, expiresIn=300) for _ in range(2))
    still.clock.advance(300_000)
    left_alone(still, trial(merchant.test_key, "pay", one), 409, "expired")
    left_alone(still, trial(merchant.test_key, "cancel", one), 409, "expired")
    assert still.data(trial(merchant.test_key, "expire", one))["status"] == "expired"
    assert still.expire_due() >= 1
    left_alone(still, trial(merchant.test_key, "expire", two), 409, "expired")


# Bodies.


WRONG_BODIES: Final = [
    ({"outcome": "Paid"}, {"outcome": "unknown_value"}),
    ({"outcome": ""}, {"outcome": "unknown_value"}),
    ({"outcome": "wrong_pin"}, {"outcome": "unknown_value"}),
    ({"outcome": 1}, {"outcome": "wrong_type"}),
    ({"outcome": ["paid"]}, {"outcome": "wrong_type"}),
    ({"pin": "246813"}, {"pin": "unknown_field"}),
    ({"amount": 1}, {"amount": "unknown_field"}),
    ([], {"": "wrong_type"}),
    ("paid", {"": "wrong_type"}),
]


def test_a_wrong_body_of_a_trial_is_named(world: Live, subtests: pytest.Subtests) -> None:
    for body, errors in WRONG_BODIES:
        with subtests.test(repr(body)):
            merchant = world.merchants[0]
            payment_id = asked(world, merchant)
            before = world.counts()
            assert field_errors(world.send(post(f"{TRIALS}/{payment_id}/pay", merchant.test_key, body))) == errors
            assert world.counts() == before


def test_a_trial_needs_no_body(world: Live, subtests: pytest.Subtests) -> None:
    for what in ENDS:
        with subtests.test(what):
            merchant = world.merchants[0]
            for content, content_type in ((None, ""), (b"", "text/plain"), (b"{}", "application/json")):
                call = Call("POST", f"{TRIALS}/{asked(world, merchant)}/{what}", merchant.test_key, content)
                assert world.data(call.with_header("content-type", content_type))["status"] == ENDS[what]
            path = f"{TRIALS}/{asked(world, merchant)}/{what}"
            refused(world.send(Call("POST", path, merchant.test_key, b"{}")), 415, "unsupported_media_type")
            refused(world.send(post(path, merchant.test_key, b"{")), 400, "invalid_json")
            if what != "pay":
                assert field_errors(world.send(post(path, merchant.test_key, {"outcome": "paid"}))) == {
                    "outcome": "unknown_field"
                }


def test_trials_at_once_have_one_winner(anywhere: World) -> None:
    merchant = anywhere.merchant()
    till = 0
    for _ in range(20):
        payment_id = asked(anywhere, merchant, amount=3)
        calls = [trial(merchant.test_key, what, payment_id) for what in ENDS for _ in range(3)]
        answers = anywhere.together(calls)
        won = [answer for answer in answers if answer.is_success]
        assert len(won) == 1
        status = won[0].json()["data"]["status"]
        assert {outcome(answer) for answer in answers} == {"", TOO_LATE[status]}
        till += 3 if status == "paid" else 0
        assert anywhere.held(merchant.test_account) == till
    assert anywhere.violations() == []
