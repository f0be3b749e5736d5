"""Other people's ids on every route: the answer is that of an id that nobody has, and nothing is written."""

from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from qirsh.web.http.authentication import SESSION
from tests.live import START, InProcess, pay, refund, retrieve, see, sign_in, trial
from tests.web.belongings import BY_NAME, NAMES, Belongings, belongings, call_of, takes_an_id

# What nobody has, in the shape of what somebody could have.
NOBODYS: Final = {
    "payment": "1234567890123456",
    "refund": "rf_" + "0" * 24,
    "event": "evt_0_{account}_999999",
    "endpoint": "we_" + "0" * 24,
    "delivery": "dlv_" + "0" * 24 + "_1",
}
# Whoever has the id of a payment may see who asks for how much and pay it: that is what its address is for.
BY_THE_ID_ALONE: Final = tuple(name for name, route in BY_NAME.items() if route.token is SESSION and takes_an_id(route))
# Pages are shown to whoever has the id, and have guards of their own: test_pay_page_guards.py.
SWEPT: Final = tuple(
    name for name, route in BY_NAME.items() if takes_an_id(route) and name not in BY_THE_ID_ALONE and not route.is_page
)
# What no process writes by itself; this world has no workers anyway.
TABLES: Final = (
    *("account", "person", "pin", "api_key", "session", "payment", "refund", "bank_order", "balance", "transfer"),
    *("event_counter", "event", "stored_response", "audit", "webhook_endpoint", "webhook_queue", "webhook_delivery"),
)


@pytest.fixture(scope="module")
def theirs(still: InProcess) -> Iterator[Belongings]:
    """Of merchant A: one of everything."""
    things = belongings(still, still.merchants[0], still.customers[0])
    things.payments["live expired"] = still.payment(still.merchants[0], expiresIn=300)
    still.clock.advance(300_000)
    still.expire_due()
    yield things
    still.clock.now = START


@pytest.fixture(scope="module")
def others(still: InProcess, theirs: Belongings) -> dict[str, str | None]:  # noqa: ARG001 - the time is theirs
    """Who has no business there: merchant B, people who buy at either shop, an operator, nobody, and A's other half."""
    shop, customer, operator = still.merchants[1], still.customers[1], still.operators[0]
    return {
        "B's live key": shop.key,
        "B's test key": shop.test_key,
        "B's owner": still.data(sign_in(shop.email))["token"],
        "a customer": still.data(sign_in(customer.email))["token"],
        "the payer": still.data(sign_in(still.customers[0].email))["token"],
        "an operator": still.data(sign_in(operator.email, totp=still.code_of(operator.email)))["token"],
        "nobody": None,
    }


def rows(world: InProcess) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that is stored, in some order that stays."""
    with world.books() as books:
        return {table: sorted(books.select(f"SELECT * FROM {table}"), key=repr) for table in TABLES}  # noqa: S608 - ours


def bare(answer: httpx2.Response) -> tuple[int, list[tuple[str, str]], bytes]:
    """The whole answer but for the request id."""
    request_id = answer.headers["x-request-id"]
    headers = [(name, value) for name, value in answer.headers.multi_items() if name != "x-request-id"]
    return answer.status_code, headers, answer.content.replace(request_id.encode(), b"")


def nobodys(name: str, account: str) -> str:
    kind = NAMES[name]
    return NOBODYS[kind if kind in NOBODYS else "payment"].format(account=account)


def test_every_route_with_an_id_says_what_it_names() -> None:
    assert set(NAMES) == {name for name, route in BY_NAME.items() if takes_an_id(route)}
    assert len(SWEPT) >= 9


def test_somebody_elses_id_is_answered_like_one_that_nobody_has(
    still: InProcess, theirs: Belongings, others: dict[str, str | None], subtests: pytest.Subtests
) -> None:
    for name in SWEPT:
        with subtests.test(name):
            before = rows(still)
            account = still.merchants[0].account
            for who, token in others.items():
                nothing = bare(still.send(call_of(name, token, nobodys(name, account))))
                assert nothing[0] in {401, 404, 409}
                for what, argument in theirs.of(name).items():
                    assert bare(still.send(call_of(name, token, argument))) == nothing, (who, what)
                    once = call_of(name, token, argument).once("idor")
                    assert bare(still.send(once)) == nothing, (who, what)
            assert rows(still) == before


def test_the_live_and_the_test_account_of_one_shop_know_nothing_of_each_other(
    still: InProcess, theirs: Belongings, subtests: pytest.Subtests
) -> None:
    for name in SWEPT:
        with subtests.test(name):
            before = rows(still)
            shop = still.merchants[0]
            for mode, key in (("live", shop.test_key), ("test", shop.key)):
                nothing = bare(still.send(call_of(name, key, nobodys(name, shop.account))))
                assert nothing[0] in {404, 409}
                for what, argument in theirs.of(name).items():
                    if what.startswith(mode):
                        assert bare(still.send(call_of(name, key, argument))) == nothing, what
            assert rows(still) == before


def test_keys_open_nothing_of_the_wallet(
    still: InProcess, theirs: Belongings, others: dict[str, str | None], subtests: pytest.Subtests
) -> None:
    for name in BY_THE_ID_ALONE:
        with subtests.test(name):
            before = rows(still)
            tokens = [token for who, token in others.items() if "key" in who or who == "nobody"]
            for token in (*tokens, still.merchants[0].key):
                nothing = bare(still.send(call_of(name, token, NOBODYS["payment"])))
                assert nothing[0] == 401
                for argument in theirs.payments.values():
                    assert bare(still.send(call_of(name, token, argument))) == nothing
            assert rows(still) == before


def test_a_stranger_who_has_the_id_of_a_paid_payment_learns_that_it_is_paid_and_no_more(
    still: InProcess, theirs: Belongings, others: dict[str, str | None]
) -> None:
    before = rows(still)
    stranger = still.customers[1]._replace(token=str(others["a customer"]))
    told = set()
    for what in ("live paid", "live refunded", "test paid", "test refunded"):
        for call in (see(stranger, theirs.payments[what]), pay(stranger, theirs.payments[what])):
            answer = still.send(call)
            assert answer.status_code == 409
            told.add(bare(answer)[2])
    assert len(told) == 1
    # Nor does anybody's refund tell.
    assert not [text for text in told for account in still.merchants[:1] if account.account.encode() in text]
    # What may still be paid shows who asks for how much, not the merchant's books.
    shown = still.data(see(stranger, theirs.payments["live pending"]))
    assert set(shown) == {
        *("_id", "amount", "currency", "status", "to", "merchantName", "note", "expiresAt", "paidAt", "livemode"),
        "refundedAmount",
    }
    assert rows(still) == before


LISTS: Final = tuple(
    name for name, route in BY_NAME.items() if route.scope and route.method == "GET" and not takes_an_id(route)
)


def test_lists_show_nothing_of_anybody_else(
    still: InProcess, theirs: Belongings, others: dict[str, str | None], subtests: pytest.Subtests
) -> None:
    for name in LISTS:
        with subtests.test(name):
            ids = theirs.ids
            shop = still.merchants[0]
            for who in ("B's live key", "B's test key"):
                text = still.send(call_of(name, others[who])).text
                assert not [one for one in (*ids, shop.account, shop.test_account) if one in text]
            # Nor does a cursor of somebody else's lead there.
            page = still.data(call_of(name, shop.key))
            cursor = page.get("nextCursor") or theirs.events["live"]
            asked = call_of(name, others["B's live key"])
            text = still.send(asked._replace(path=f"{asked.path}?cursor={cursor}")).text
            assert not [one for one in (*ids - {cursor}, shop.account + '"') if one in text]


ODD: Final = (
    *("%00", "rf_%00", "evt_%00", "rf_0%00", "%ff", "rf_%ff%fe", "rf_%ed%a0%80", "..", "%2e%2e", "%2F", "a%2Fb", "*"),
    *("'", "%27%20OR%201=1--", "rf_'", "%25", "rf_%25", "rf__", "_", "+1", "-1", "0", "1e3", "null", "x" * 3000),
    *("1" * 15, "1" * 17, "1" * 16, "%D9%A1" * 16, "evt_0_1_1", "evt_0_999999999999_1"),
    *("evt_999999_100000000000_" + "9" * 18, "evt_0_100000000000_" + "9" * 19),
    *("evt_0_100000000000_0", "evt_-1_100000000000_1", "rf_" + "g" * 24, "RF_" + "0" * 24),
    *("we_", "we_%00", "we_" + "g" * 24, "WE_" + "0" * 24, "we_" + "0" * 25, "we_" + "0" * 24 + "%0A"),
    *("dlv_", "dlv_%00_1", "dlv_" + "0" * 24, "dlv_" + "0" * 24 + "_0", "dlv_" + "0" * 24 + "_01"),
    *("dlv_" + "0" * 24 + "_" + "9" * 18, "dlv_" + "0" * 24 + "_" + "9" * 19, "dlv_" + "0" * 24 + "_-1"),
)  # fmt: skip


def test_what_is_no_id_is_not_found(still: InProcess, others: dict[str, str | None], subtests: pytest.Subtests) -> None:
    for name in (*SWEPT, *BY_THE_ID_ALONE):
        with subtests.test(name):
            before = rows(still)
            shop = still.merchants[1]
            token = others["a customer"] if name in BY_THE_ID_ALONE else shop.test_key if "/test/" in name else shop.key
            for odd in ODD:
                answer = still.send(call_of(name, token, odd))
                assert answer.status_code == 404, (odd, answer.text)
            assert rows(still) == before


def test_an_idempotency_key_of_one_tenant_says_nothing_to_another(still: InProcess, theirs: Belongings) -> None:
    one, two = still.merchants[:2]
    customer = still.customers[0]._replace(token=still.data(sign_in(still.customers[0].email))["token"])
    paid = {shop.key: still.paid(shop, customer, amount=10) for shop in (one, two)}
    calls = [refund(key, payment_id, amount=1).once("shared by tenants") for key, payment_id in paid.items()]
    first, second = (still.data(call)["id"] for call in calls)
    assert first != second
    # The very request of the first, byte for byte, by the second: somebody else's payment.
    foreign = refund(two.key, paid[one.key], amount=1)
    assert still.send(foreign.once("shared by tenants")).json()["code"] == "idempotency_key_reused"
    assert still.send(foreign.once("not shared")).json()["code"] == "not_found"
    assert theirs.refunds["live"] not in {first, second}


def test_a_trial_with_the_test_key_of_another_shop_moves_no_money(still: InProcess, theirs: Belongings) -> None:
    one, two = still.merchants[:2]
    before = rows(still)
    for what in ("pay", "expire", "cancel"):
        assert still.send(trial(two.test_key, what, theirs.payments["test pending"])).status_code == 404
    assert rows(still) == before
    assert still.data(retrieve(one.test_key, theirs.payments["test pending"]))["status"] == "pending"
