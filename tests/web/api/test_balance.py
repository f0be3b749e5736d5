"""What an account holds, and every transfer that made it so; whose key it is; which currencies there are."""

import asyncio
import itertools
from typing import Any, Final

import pytest

from qirsh import __version__
from tests.live import (
    BALANCES,
    FUNDS,
    ORIGIN,
    Call,
    InProcess,
    Live,
    Merchant,
    World,
    create,
    field_errors,
    live,
    pay,
    refused,
)
from tests.postgres import PostgresServer
from tests.web.lists import BALANCE, TRANSFERS, asking, ids, refund, try_out, walk, walked

ME: Final = "/api/v1/me"
REFUNDS: Final = "/api/v1/refunds"
CURRENCY_LIST: Final = "/api/v1/currencies"
CURRENCIES: Final = ("SYP", "USD", "TRY", "EUR")
FIELDS: Final = [
    "id",
    "kind",
    "currency",
    "amount",
    "balance",
    "account",
    "paymentId",
    "refundId",
    "reference",
    "createdAt",
]
_NAMES: Final = itertools.count(1)


def cash(world: World, kind: str, account: str, amount: int, currency: str) -> str:
    """Money from or to the outside, by two operators; its reference."""
    reference = f"{kind} of the statement {next(_NAMES)}"
    typed = f"{amount // 100}.{amount % 100:02d}"
    world.act(f"{kind} ask", reference=reference, account=account, currency=currency, amount=typed, reason="test")
    world.act(f"{kind} confirm", operator=1, reference=reference)
    return reference


def held(world: World, key: str) -> dict[str, int]:
    items = world.data(asking(key, BALANCE))["items"]
    assert all(list(item) == ["currency", "amount"] for item in items)
    return {item["currency"]: item["amount"] for item in items}


def assert_adds_up(entries: list[dict[str, Any]], balances: dict[str, int]) -> None:
    """From nothing to what the account holds, without a gap, each currency by itself."""
    for currency in CURRENCIES:
        own = [entry for entry in reversed(entries) if entry["currency"] == currency]
        assert [entry["id"] for entry in own] == [f"tr_{currency}_{n}" for n in range(1, len(own) + 1)]
        balance = 0
        for entry in own:
            assert list(entry) == FIELDS
            balance += entry["amount"]
            assert entry["balance"] == balance >= 0
        assert balances.get(currency, 0) == balance
        assert (currency in balances) == bool(own)
    times = [entry["createdAt"] for entry in entries]
    assert times == sorted(times, reverse=True)


def busy_shop(world: InProcess) -> tuple[Merchant, list[tuple[Any, ...]]]:
    """A shop to which everything happened that can, and what its statement should say, oldest first."""
    merchant, customer = world.merchant(), world.customer()
    told: list[tuple[Any, ...]] = []
    for number in range(6):
        for currency in CURRENCIES[: 1 + number % 4]:
            payment_id = world.payment(merchant, amount=1000 + number, currency=currency)
            world.data(pay(customer, payment_id))
            told.append(("pay", currency, 1000 + number, customer.account, payment_id, None))
            world.clock.advance(number % 3)
        if number % 2:
            given = world.data(refund(merchant.key, payment_id, amount=number))
            assert given["id"].startswith("rf_")
            told.append(("refund", currency, -number, customer.account, payment_id, None))
        reference = cash(world, "deposit", merchant.account, 50, "EUR")
        told.append(("deposit", "EUR", 50, None, None, reference))
        reference = cash(world, "withdraw", merchant.account, 20, "SYP")
        told.append(("withdrawal", "SYP", -20, None, None, reference))
        world.clock.advance(1)
    return merchant, told


@pytest.mark.both_engines
def test_the_statement_tells_everything_once_newest_first_and_adds_up_to_the_balance(still: InProcess) -> None:
    merchant, told = busy_shop(still)
    everything = walk(still, merchant.key, TRANSFERS, limit=100)
    assert_adds_up(everything, held(still, merchant.key))
    with still.books() as books:
        [(house,)] = books.select("SELECT number FROM account WHERE name = 'bank' AND kind = 'house' AND mode = 'live'")
    for currency in CURRENCIES:
        shown = [
            tuple(entry[name] for name in ("kind", "currency", "amount", "account", "paymentId", "reference"))
            for entry in reversed(everything)
            if entry["currency"] == currency
        ]
        expected = [(*line[:3], line[3] or str(house), *line[4:]) for line in told if line[1] == currency]
        assert shown == expected
    assert {entry["kind"] for entry in everything} == {"pay", "refund", "deposit", "withdrawal"}
    for limit in (1, 2, 7, 20):
        assert walk(still, merchant.key, TRANSFERS, limit=limit) == everything
    for currency in CURRENCIES:
        only = [entry for entry in everything if entry["currency"] == currency]
        for limit in (1, 3, 100):
            assert walk(still, merchant.key, TRANSFERS, limit=limit, currency=currency) == only


def test_a_clock_that_goes_back_changes_no_order_within_a_currency(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    made = []
    for step in (0, 5, -9, 3, -20, 40):
        still.clock.advance(step)
        for currency in ("USD", "EUR"):
            made.append(still.payment(merchant, amount=5, currency=currency))
            still.data(pay(customer, made[-1]))
    still.clock.advance(20)
    for limit in (1, 2, 5, 100):
        found = walk(still, merchant.key, TRANSFERS, limit=limit)
        assert sorted(entry["paymentId"] for entry in found) == sorted(made)
        for offset, currency in enumerate(("USD", "EUR")):
            own = [entry["paymentId"] for entry in found if entry["currency"] == currency]
            assert own == made[offset::2][::-1]


def moments_of(entries: list[dict[str, Any]]) -> list[str]:
    return sorted({entry["createdAt"] for entry in entries})


@pytest.mark.both_engines
def test_transfers_and_refunds_are_found_by_when_they_were_made(still: InProcess) -> None:
    merchant, _ = busy_shop(still)
    for path in (TRANSFERS, REFUNDS):
        everything = walk(still, merchant.key, path, limit=100)
        moments = moments_of(everything)
        some = (moments[0], moments[1], moments[len(moments) // 2], moments[-1])
        for begin, end in itertools.combinations(sorted(set(some)), 2):
            for currency in ("USD", None):
                only = {} if currency is None else {"currency": currency}
                expected = [
                    entry
                    for entry in everything
                    if begin < entry["createdAt"] < end and currency in {None, entry["currency"]}
                ]
                query = {"createdAfter": begin, "createdBefore": end, **only}
                for limit in (3, 100):
                    assert walk(still, merchant.key, path, limit=limit, **query) == expected


@pytest.mark.both_engines
def test_a_transfer_of_a_refund_names_it_and_all_refunds_are_listed_newest_first(still: InProcess) -> None:
    merchant, _ = busy_shop(still)
    entries = walk(still, merchant.key, TRANSFERS, limit=100)
    given = [entry for entry in entries if entry["kind"] == "refund"]
    assert len(given) > 2
    assert all((entry["refundId"] is not None) == (entry["kind"] == "refund") for entry in entries)
    for limit in (1, 2, 100):
        found = walk(still, merchant.key, REFUNDS, limit=limit)
        assert [item["id"] for item in found] == [entry["refundId"] for entry in given]
    for item, entry in zip(found, given, strict=True):
        assert (item["paymentId"], item["amount"]) == (entry["paymentId"], -entry["amount"])
        assert still.data(asking(merchant.key, f"{REFUNDS}/{item['id']}")) == item
    other = still.merchant()
    assert walk(still, other.key, REFUNDS) == walk(still, merchant.test_key, REFUNDS) == []


def test_test_money_has_a_statement_of_its_own(still: InProcess) -> None:
    merchant = still.merchant()
    tried = []
    for currency in CURRENCIES:
        tried.append(still.data(create(merchant.test_key, amount=700, currency=currency))["id"])
        still.data(try_out(merchant.test_key, tried[-1]))
    still.data(refund(merchant.test_key, tried[0], amount=300))
    found = walk(still, merchant.test_key, TRANSFERS, limit=2)
    assert_adds_up(found, held(still, merchant.test_key))
    assert held(still, merchant.test_key) == {"SYP": 400, "USD": 700, "TRY": 700, "EUR": 700}
    assert {entry["paymentId"] for entry in found} == set(tried)
    assert held(still, merchant.key) == {}
    assert walk(still, merchant.key, TRANSFERS) == []


def test_an_account_without_transfers_has_nothing(still: InProcess) -> None:
    key = still.merchant().key
    assert still.send(asking(key, TRANSFERS)).content == b'{"data":{"items":[],"nextCursor":null,"hasMore":false}}'
    assert still.send(asking(key, BALANCE)).content == b'{"data":{"items":[],"nextCursor":null,"hasMore":false}}'


WRONG_QUERIES: Final = [
    ("limit=0", {"limit": "out_of_range"}),
    ("limit=101", {"limit": "out_of_range"}),
    ("limit=1e2", {"limit": "wrong_type"}),
    ("currency=usd", {"currency": "unknown_value"}),
    ("currency=null", {"currency": "unknown_value"}),
    ("currency=USD&currency=EUR", {"currency": "repeated"}),
    ("account=123456789012", {"account": "unknown_parameter"}),
    ("kind=pay&wait=3", {"kind": "unknown_parameter", "wait": "unknown_parameter"}),
    ("metadata[a]=x", {"metadata[a]": "unknown_parameter"}),
    ("cursor=x", {"cursor": "invalid"}),
    ("cursor=cC4xLjEuMS4x", {"cursor": "invalid"}),  # p.1.1.1.1
    ("cursor=dC4xLjEuMQ", {"cursor": "invalid"}),  # t.1.1.1
    ("cursor=dC4xLjEuMS4tMQ", {"cursor": "invalid"}),  # t.1.1.1.-1
    ("cursor=dC4xLjEuMS45OTk5OTk5OTk5OTk5OTk5OTk5", {"cursor": "invalid"}),  # Nineteen digits.
]


def test_a_wrong_parameter_of_the_statement_is_named(still: InProcess, subtests: pytest.Subtests) -> None:
    for query, errors in WRONG_QUERIES:
        with subtests.test(query):
            assert field_errors(still.send(asking(still.merchants[0].key, TRANSFERS, query))) == errors


def test_a_foreign_or_made_up_cursor_shows_only_own_transfers(still: InProcess) -> None:
    merchant, _ = busy_shop(still)
    stranger = still.merchant()
    still.data(pay(still.customer(), still.payment(stranger)))
    own = ids(walk(still, stranger.key, TRANSFERS))
    accounts = [entry["account"] for entry in walk(still, stranger.key, TRANSFERS)]
    told = still.data(asking(merchant.key, TRANSFERS, {"limit": "2"}))
    for cursor in (told["nextCursor"], "dC45OTk5Ljk5OTkuOTk5OS45OTk5", "dC4wLjAuMC4w"):
        found = walk(still, stranger.key, TRANSFERS, cursor=cursor)
        assert set(ids(found)) <= set(own)
        assert {entry["account"] for entry in found} <= set(accounts)


# While money moves.


def assert_adds_up_meanwhile(world: World, merchant: Merchant) -> None:
    customer = world.customers[0]

    async def paid(currency: str) -> None:
        made = await world.sent(create(merchant.key, amount=3, currency=currency))
        payment_id = made.json()["data"]["id"]
        assert (await world.sent(pay(customer, payment_id))).status_code == 200
        assert (await world.sent(refund(merchant.key, payment_id, amount=1))).status_code == 201

    async def scene() -> None:
        await asyncio.gather(*(paid(currency) for currency in CURRENCIES * 10))
        before = await walked(world, merchant.key, TRANSFERS, limit=100)
        stop = asyncio.Event()

        async def churn() -> None:
            while not stop.is_set():
                await asyncio.gather(*(paid(currency) for currency in CURRENCIES))

        churning = asyncio.create_task(churn())
        found = await asyncio.gather(
            *(walked(world, merchant.key, TRANSFERS, limit=limit) for limit in (1, 2, 7, 20, 100))
        )
        stop.set()
        await churning
        for entries in found:
            assert len(set(ids(entries))) == len(entries)
            assert set(ids(before)) <= set(ids(entries))
            newest = {entry["currency"]: entry["balance"] for entry in reversed(entries)}
            assert_adds_up(entries, newest)

    world.run(scene())
    assert_adds_up(walk(world, merchant.key, TRANSFERS, limit=100), held(world, merchant.key))


def test_each_transfer_is_on_exactly_one_page_while_money_moves(world: Live) -> None:
    assert_adds_up_meanwhile(world, world.merchant())


def test_each_transfer_is_on_exactly_one_page_also_when_processes_take_turns(postgres: PostgresServer) -> None:
    with live(postgres, processes=2) as two:
        assert_adds_up_meanwhile(two, two.merchants[0])
        assert two.violations() == []


@pytest.mark.both_engines
def test_a_pay_is_in_balance_and_statement_from_the_moment_it_was_answered(world: Live) -> None:
    merchant, customer = world.merchant(), world.customer()
    for number in range(1, 11):
        payment_id = world.payment(merchant, amount=number)
        world.data(pay(customer, payment_id))
        assert held(world, merchant.key) == {"USD": number * (number + 1) // 2}
        [newest] = world.data(asking(merchant.key, TRANSFERS, {"limit": "1"}))["items"]
        assert newest["paymentId"] == payment_id


# Whose key, and which currencies.


def test_me_tells_whose_key_it_is_and_what_it_may_do(still: InProcess) -> None:
    merchant = still.merchant()
    told = still.data(asking(merchant.key, ME))
    assert list(told) == [
        *("account", "name", "state", "livemode", "returnOrigins", "timeZone", "defaultExpiresIn", "key"),
        "serverVersion",
    ]
    assert (told["timeZone"], told["defaultExpiresIn"]) == ("UTC", 3600)
    assert told["serverVersion"] == __version__
    assert list(told["key"]) == ["id", "name", "hint", "scopes", "createdAt", "expiresAt"]
    assert (told["account"], told["name"], told["state"]) == (merchant.account, "Shop", "approved")
    assert (told["livemode"], told["returnOrigins"]) == (True, [ORIGIN])
    assert told["key"]["id"] == merchant.key_id
    assert merchant.key.endswith(told["key"]["hint"])
    assert len(told["key"]["hint"]) < 10
    assert merchant.key not in still.send(asking(merchant.key, ME)).text
    tested = still.data(asking(merchant.test_key, ME))
    assert (tested["account"], tested["livemode"], tested["state"]) == (merchant.test_account, False, "approved")
    still.act("account suspend", account=merchant.account)
    for key in (merchant.key, merchant.test_key):
        assert still.data(asking(key, ME))["state"] == "suspended"
        still.data(asking(key, BALANCE))
        still.data(asking(key, TRANSFERS))


def test_currencies_are_those_of_the_table(still: InProcess) -> None:
    told = still.data(asking(still.merchants[0].key, CURRENCY_LIST))
    items = [{"code": code, "exponent": 2} for code in CURRENCIES]
    assert told == {"items": items, "nextCursor": None, "hasMore": False}


def test_reading_needs_a_key_and_no_session_will_do(still: InProcess) -> None:
    for path in (TRANSFERS, BALANCE, ME, CURRENCY_LIST):
        refused(still.send(Call("GET", path)), 401, "unauthorized")
        refused(still.send(Call("GET", path, still.customers[0].token)), 401, "unauthorized")
    assert still.data(Call("GET", BALANCES, still.customer().token))["items"] == [
        {"currency": code, "amount": FUNDS} for code in sorted(CURRENCIES)
    ]
