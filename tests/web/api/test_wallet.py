"""The customer's calls: signing in, balances, seeing a payment, paying it, and all that can keep one from paying."""

import re
from typing import Final

import pytest

from tests.live import (
    BALANCES,
    FUNDS,
    PASSWORD,
    PIN,
    SESSIONS,
    START,
    WALLET,
    WRONG_PIN,
    Call,
    Customer,
    InProcess,
    Live,
    World,
    create,
    field_errors,
    pay,
    post,
    refund,
    refused,
    retrieve,
    see,
    sign_in,
)

PAYER_FIELDS: Final = [
    *("_id", "amount", "currency", "status", "to", "merchantName", "note", "expiresAt", "paidAt", "livemode"),
    "refundedAmount",
]
HALF_DAY_MS: Final = 12 * 3600 * 1000


def status(world: World, key: str, payment_id: str) -> str:
    return str(world.data(retrieve(key, payment_id))["status"])


# Signing in.


def test_signing_in_gives_a_token_that_opens_the_wallet(world: Live) -> None:
    customer = world.customer()
    answer = world.send(sign_in(customer.email))
    assert answer.status_code == 201
    data = answer.json()["data"]
    assert list(answer.json()) == ["data"]
    assert list(data) == ["token", "expiresAt"]
    assert re.fullmatch("qs_[0-9A-Za-z]{51}", data["token"])
    assert world.send(Call("GET", BALANCES, data["token"])).status_code == 200
    # Each device has a session of its own; a new one ends no other.
    assert data["token"] != customer.token
    assert world.send(Call("GET", BALANCES, customer.token)).status_code == 200


def test_an_address_is_the_same_in_any_case(world: Live) -> None:
    email = world.customer().email
    assert world.send(sign_in(f"  {email.upper()} ")).status_code == 201


def test_a_wrong_password_and_an_unknown_address_look_the_same(world: Live) -> None:
    customer, operator = world.customer(), world.operators[0]
    calls = [
        sign_in(customer.email, "not the password"),
        sign_in(customer.email, PASSWORD + " "),
        sign_in(customer.email, PASSWORD.upper()),
        sign_in(customer.email, ""),
        sign_in("nobody@nowhere.example"),
        sign_in("not an address"),
        sign_in(""),
        sign_in("' OR 1=1 --"),
        # With a second factor the password alone opens nothing, and nobody is told which of the two was wrong.
        sign_in(operator.email),
        sign_in(operator.email, totp=""),
        sign_in(operator.email, totp="000000"),
        sign_in(operator.email, "not the password", totp=world.one_time_code(operator.email)),
    ]
    bodies = set()
    for call in calls:
        answer = world.send(call)
        told = refused(answer, 401, "wrong_credentials")
        assert answer.headers["www-authenticate"] == "Bearer"
        bodies.add(answer.content.replace(told["requestId"].encode(), b""))
    assert len(bodies) == 1


def test_a_second_factor_opens_the_operators_own_wallet(world: Live) -> None:
    operator = world.operators[0]
    assert world.send(sign_in(operator.email, totp=world.one_time_code(operator.email))).status_code == 201


def test_an_idempotency_key_has_no_meaning_when_signing_in(world: Live) -> None:
    customer = world.customer()
    tokens = {world.data(sign_in(customer.email).once("the same"))["token"] for _ in range(2)}
    assert len(tokens) == 2


def test_a_session_ends_after_half_a_day(still: InProcess) -> None:
    customer = still.customer()
    still.clock.now = START
    data = still.data(sign_in(customer.email))
    assert data["expiresAt"] == "2027-01-15T20:00:00.000Z"
    balances = Call("GET", BALANCES, data["token"])
    still.clock.now = START + HALF_DAY_MS - 1
    assert still.send(balances).status_code == 200
    still.clock.now = START + HALF_DAY_MS
    refused(still.send(balances), 401, "unauthorized")
    still.clock.now = START


# Seeing.


def test_signing_out_ends_this_session_and_no_other(world: Live) -> None:
    customer = world.customer()
    other = world.data(sign_in(customer.email))["token"]
    told = world.data(Call("DELETE", f"{SESSIONS}/current", other))
    assert list(told) == ["endedAt"]
    # The process that ended it knows at once, others within a second.
    refused(world.send(Call("GET", BALANCES, other)), 401, "unauthorized")
    refused(world.send(Call("DELETE", f"{SESSIONS}/current", other)), 401, "unauthorized")
    assert world.send(Call("GET", BALANCES, customer.token)).status_code == 200


def test_a_payer_sees_what_came_back(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    payment_id = world.paid(merchant, customer)
    world.data(refund(merchant.key, payment_id, amount=30))
    assert world.data(see(customer, payment_id))["refundedAmount"] == 30


def test_balances_are_listed_by_currency(world: Live) -> None:
    answer = world.send(Call("GET", BALANCES, world.customer().token))
    assert answer.json() == {
        "data": {
            "items": [{"currency": code, "amount": FUNDS} for code in ("EUR", "SYP", "TRY", "USD")],
            "nextCursor": None,
            "hasMore": False,
        }
    }


def test_who_never_had_money_has_an_empty_list(world: Live) -> None:
    newcomer = world.person(verified=False)
    assert world.data(Call("GET", BALANCES, newcomer.token))["items"] == []


def test_a_customer_sees_who_asks_for_how_much(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant, amount=10098, currency="SYP", note="Order 1", reference="R", metadata={"a": 1})
    data = world.data(see(customer, payment_id))
    assert list(data) == PAYER_FIELDS
    assert data == {
        "_id": payment_id,
        "amount": 10098,
        "currency": "SYP",
        "status": "pending",
        "to": merchant.account,
        "merchantName": "Shop",
        "note": "Order 1",
        "expiresAt": world.data(retrieve(merchant.key, payment_id))["expiresAt"],
        "paidAt": None,
        "livemode": True,
        "refundedAmount": 0,
    }


def test_a_paid_payment_is_shown_to_its_payer_only(world: Live) -> None:
    payer, other = world.customer(), world.customer()
    payment_id = world.payment(world.merchants[0])
    paid = world.data(pay(payer, payment_id))
    assert world.data(see(payer, payment_id)) == paid
    answer = world.send(see(other, payment_id))
    refused(answer, 409, "already_paid")
    assert payer.account.encode() not in answer.content


def test_what_nobody_asked_for_is_not_found(world: Live, subtests: pytest.Subtests) -> None:
    for payment_id in ("1234567890123456", "123", "%00", "x" * 16, "*"):
        with subtests.test(payment_id):
            customer = world.customer()
            refused(world.send(see(customer, payment_id)), 404, "not_found")
            refused(world.send(pay(customer, payment_id)), 404, "not_found")


# Paying.


@pytest.mark.both_engines
def test_paying_moves_exactly_the_amount(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    payment_id = world.payment(merchant, amount=10098, currency="TRY", note="Order 1")
    seen = world.data(see(customer, payment_id))
    answer = world.send(pay(customer, payment_id))
    assert answer.status_code == 200
    assert list(answer.json()) == ["data"]
    paid = answer.json()["data"]
    assert list(paid) == PAYER_FIELDS
    assert paid == {**seen, "status": "paid", "paidAt": paid["paidAt"]}
    assert paid["paidAt"] == world.data(retrieve(merchant.key, payment_id))["paidAt"]
    assert world.balance(customer, "TRY") == FUNDS - 10098
    assert [world.balance(customer, code) for code in ("EUR", "SYP", "USD")] == [FUNDS] * 3
    with world.books() as books:
        assert books.select("SELECT currency, amount FROM balance WHERE account = ?", int(merchant.account)) == [
            ("TRY", 10098)
        ]
        assert books.violations() == []


@pytest.mark.both_engines
def test_the_last_coin_can_be_spent_and_one_more_cannot(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    too_much = world.payment(merchant, amount=FUNDS + 1)
    refused(world.send(pay(customer, too_much)), 409, "insufficient_funds")
    assert status(world, merchant.key, too_much) == "pending"
    world.data(pay(customer, world.payment(merchant, amount=FUNDS)))
    assert world.balance(customer) == 0
    refused(world.send(pay(customer, world.payment(merchant, amount=1))), 409, "insufficient_funds")


def test_a_payment_that_was_short_of_money_can_be_paid_after_a_deposit(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant, amount=FUNDS + 1)
    refused(world.send(pay(customer, payment_id)), 409, "insufficient_funds")
    world.deposit(customer.account, 1)
    assert world.data(pay(customer, payment_id))["status"] == "paid"
    assert world.balance(customer) == 0


def test_no_currency_stands_in_for_another(world: Live) -> None:
    customer = world.person(verified=True)
    world.deposit(customer.account, 500, "USD")
    refused(world.send(pay(customer, world.payment(world.merchants[0], currency="EUR"))), 409, "insufficient_funds")
    assert world.balance(customer) == 500


def test_a_second_payment_of_one_payment_is_told_it_is_paid(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant, amount=100)
    world.data(pay(customer, payment_id))
    for again in (customer, world.customer()):
        refused(world.send(pay(again, payment_id)), 409, "already_paid")
    assert world.balance(customer) == FUNDS - 100


def test_wrong_pins_count_down_and_a_right_one_starts_again(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    first, second = world.payment(merchant), world.payment(merchant)
    for left in (4, 3, 2, 1):
        assert refused(world.send(pay(customer, first, WRONG_PIN)), 403, "wrong_pin")["attemptsLeft"] == left
    assert status(world, merchant.key, first) == "pending"
    assert world.data(pay(customer, first))["status"] == "paid"
    assert refused(world.send(pay(customer, second, WRONG_PIN)), 403, "wrong_pin")["attemptsLeft"] == 4


@pytest.mark.both_engines
def test_five_wrong_pins_lock_and_the_right_one_opens_nothing(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant)
    for left in (4, 3, 2, 1, 0):
        assert refused(world.send(pay(customer, payment_id, WRONG_PIN)), 403, "wrong_pin")["attemptsLeft"] == left
    for pin in (PIN, WRONG_PIN):
        assert refused(world.send(pay(customer, payment_id, pin)), 403, "pin_locked")["attemptsLeft"] == 0
    assert status(world, merchant.key, payment_id) == "pending"
    assert world.balance(customer) == FUNDS


def test_a_payment_that_cannot_be_paid_costs_nobody_an_attempt(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    paid = world.payment(merchant)
    world.data(pay(world.customer(), paid))
    for _ in range(6):
        refused(world.send(pay(customer, paid, WRONG_PIN)), 409, "already_paid")
    told = refused(world.send(pay(customer, world.payment(merchant), WRONG_PIN)), 403, "wrong_pin")
    assert told["attemptsLeft"] == 4


def test_who_guesses_pins_learns_nothing_about_the_balance(world: Live) -> None:
    customer = world.customer()
    too_much = world.payment(world.merchants[0], amount=FUNDS + 1)
    refused(world.send(pay(customer, too_much, WRONG_PIN)), 403, "wrong_pin")


def test_what_cannot_be_a_pin_costs_no_attempt(world: Live, subtests: pytest.Subtests) -> None:
    for pin in ("", "12345", "1234567", "24681a", "\uff12" * 6, "\u0662" * 6, " 246813"):
        with subtests.test(pin):
            customer = world.customers[0]
            payment_id = world.payment(world.merchants[0])
            answer = world.send(post(f"{WALLET}/{payment_id}/pay", customer.token, {"pin": pin}))
            assert field_errors(answer) == {"pin": "invalid"}


def test_a_time_that_is_over_cannot_be_paid_even_while_the_status_lags(still: InProcess) -> None:
    merchant, customer = still.merchants[0], still.customer()
    payment_id = still.payment(merchant, expiresIn=300)
    still.clock.advance(299_999)
    assert status(still, merchant.key, payment_id) == "pending"
    still.clock.advance(1)
    refused(still.send(pay(customer, payment_id)), 409, "expired")
    assert status(still, merchant.key, payment_id) == "pending"
    assert still.expire_due() == 1
    assert status(still, merchant.key, payment_id) == "expired"
    refused(still.send(pay(customer, payment_id)), 409, "expired")
    assert still.data(see(customer, payment_id))["status"] == "expired"
    data = still.data(retrieve(merchant.key, payment_id))
    assert (data["version"], data["from"], data["paidAt"], data["cancelledAt"]) == (2, None, None, None)


# Who may not pay.


def test_nobody_pays_their_own_shop(world: Live) -> None:
    merchant = world.merchant()
    token = world.data(sign_in(merchant.email))["token"]
    world.deposit(merchant.personal, 1000)
    owner = Customer(merchant.email, merchant.personal, token)
    refused(world.send(pay(owner, world.payment(merchant))), 409, "same_account")
    assert world.balance(owner) == 1000


def test_an_unverified_person_cannot_pay(world: Live) -> None:
    newcomer = world.person(verified=False)
    payment_id = world.payment(world.merchants[0])
    assert world.data(see(newcomer, payment_id))["status"] == "pending"
    refused(world.send(pay(newcomer, payment_id)), 403, "not_verified")


def test_live_money_does_not_pay_for_test_things(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.data(create(merchant.test_key))["id"]
    assert world.data(see(customer, payment_id))["livemode"] is False
    refused(world.send(pay(customer, payment_id)), 409, "test_and_live")
    assert world.balance(customer) == FUNDS


def test_a_suspended_customer_sees_and_does_not_pay(world: Live) -> None:
    merchant, customer = world.merchants[0], world.customer()
    payment_id = world.payment(merchant)
    world.act("account suspend", account=customer.account, reason="lost phone")
    refused(world.send(pay(customer, payment_id)), 401, "unauthorized")
    customer = world.anew(customer)
    refused(world.send(pay(customer, payment_id)), 403, "account_suspended")
    assert world.balance(customer) == FUNDS
    assert world.data(see(customer, payment_id))["status"] == "pending"
    world.act("account resume", account=customer.account)
    assert world.data(pay(customer, payment_id))["status"] == "paid"


def test_a_suspended_merchant_is_not_paid(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    payment_id = world.payment(merchant)
    world.act("account suspend", account=merchant.account)
    refused(world.send(pay(customer, payment_id)), 409, "merchant_suspended")
    assert world.balance(customer) == FUNDS
    world.act("account resume", account=merchant.account)
    assert world.data(pay(customer, payment_id))["status"] == "paid"


def test_the_body_cannot_choose_payer_amount_or_currency(world: Live) -> None:
    customer = world.customer()
    payment_id = world.payment(world.merchants[0], amount=500)
    for field, value in (("amount", 1), ("currency", "SYP"), ("from", "100000000000"), ("to", customer.account)):
        body = {"pin": PIN, field: value}
        answer = world.send(post(f"{WALLET}/{payment_id}/pay", customer.token, body))
        assert field_errors(answer) == {field: "unknown_field"}
    assert world.balance(customer) == FUNDS


def test_other_methods_name_those_that_are_allowed(world: Live, subtests: pytest.Subtests) -> None:
    for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"):
        with subtests.test(method):
            payment_id = world.payment(world.merchants[0])
            token = world.customers[0].token
            seeing = {BALANCES: "HEAD, GET", f"{WALLET}/{payment_id}": "HEAD, GET"}
            for path, allow in {**seeing, SESSIONS: "POST", f"{WALLET}/{payment_id}/pay": "POST"}.items():
                if method not in allow.split(", "):
                    answer = world.send(Call(method, path, token))
                    assert answer.status_code == 405
                    assert answer.headers["allow"] == allow


def test_clock_jumps_move_no_money_and_pay_nothing_twice(still: InProcess) -> None:
    merchant, customer = still.merchants[1], still.customer()
    still.clock.now = START
    token = still.data(sign_in(customer.email))["token"]
    customer = customer._replace(token=token)
    hour_ms = 3_600_000
    payment_id = still.payment(merchant, expiresIn=7200)
    sooner = still.payment(merchant, expiresIn=7200)
    still.clock.advance(-24 * hour_ms)
    # Before its own creation a payment is payable: order comes from the ledger, not from the clock.
    assert still.data(pay(customer, payment_id).once("jump"))["status"] == "paid"
    for jump in (hour_ms, 24 * hour_ms, -hour_ms, 10 * hour_ms):
        still.clock.advance(jump)
        answer = still.send(pay(customer, payment_id).once("jump"))
        if answer.status_code != 401:
            assert answer.headers["idempotency-replayed"] == "true"
        refused(still.send(pay(still.customers[0], payment_id)), *_late(still, START + HALF_DAY_MS))
    still.clock.now = START + 7_200_000
    still.expire_due()
    still.clock.now = START
    # What has expired stays so, wherever the clock goes.
    assert status(still, merchant.key, sooner) == "expired"
    refused(still.send(pay(customer, sooner)), 409, "expired")
    assert still.balance(customer) == FUNDS - 100
    assert still.violations() == []


def _late(world: InProcess, sessions_end: int) -> tuple[int, str]:
    return (401, "unauthorized") if world.clock.now >= sessions_end else (409, "already_paid")
