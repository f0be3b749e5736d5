"""Which pages of the console are asked for, and within which time each should come."""

from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from bench.console.crowd import own_word
from bench.console.doors import Doors
from bench.console.entries import RARE_ACTION
from bench.console.ground import Desk
from bench.dashboard.pages import Page

P90_MS_MAX: Final = 50.0
P90_MS_MAX_ACCOUNT: Final = 80.0
NO_TARGET: Final = float("inf")  # It asks the disk and the database how they are.
_SEE_OTHER: Final = 303  # One hit leads there.


def pages_of(desk: Desk, doors: Doors) -> list[Page]:
    """By an operator with all roles. A page that is not there fails the bench."""
    return [
        Page("home", ["/operator"]),
        *_queues(desk, doors),
        *_searches(desk, doors),
        *_records(desk),
        *_logs(desk),
        Page("system", ["/operator/system"], NO_TARGET),
    ]


def _queues(desk: Desk, doors: Doors) -> list[Page]:
    crowd = desk.crowd
    bank = f"/operator/bank/{crowd.house}"
    return [
        Page("queue: identities", ["/operator/identities"]),
        Page("queue: businesses", ["/operator/businesses"]),
        Page("queue: names and logos", ["/operator/brands"]),
        Page("queue: payouts", ["/operator/payouts"]),
        Page("queue: proposals", ["/operator/proposals"]),
        Page("queue: messages", ["/operator/messages"]),
        Page("queue: lines of the bank", [f"{bank}/lines"]),
        Page("one of them: identity", [f"/operator/identities/{one}" for one in crowd.waiting_people]),
        Page("one of them: business", [f"/operator/businesses/{one}" for one in crowd.waiting_shops]),
        Page("one of them: name and logo", [f"/operator/brands/{one}" for one in crowd.branded]),
        Page("one of them: payout", [f"/operator/payouts/{one}" for one in crowd.payouts]),
        Page("one of them: proposal", [f"/operator/proposals/{one}" for one in crowd.proposals]),
        Page("money in and out", ["/operator/money"]),
        Page("bank", [f"/operator/bank?house={crowd.house}"]),
        Page("bank: orders without a line", [f"{bank}/orders"]),
        Page("bank: a file", [f"{bank}/statements/{doors.statement}"]),
    ]


def _searches(desk: Desk, doors: Doors) -> list[Page]:
    crowd, sample = desk.crowd, desk.ground.filled.large
    some = range(0, desk.size.people, max(1, desk.size.people // 50))
    return [
        _search("a beginning of one in ten names", ["ahm", "lay", "أحم"]),
        _search("a beginning of two names in ten", ["m"]),
        _search("two beginnings of one name in a hundred", ["ahmad had", "layla kho", "mariam yıl"]),
        _search("two beginnings that are never together", ["ahmad layla"]),
        _search("a beginning of a few names", [own_word(number)[:10] for number in some]),
        _search("a beginning of no name", ["zzyzx"]),
        _search("e-mail", crowd.emails, _SEE_OTHER),
        _search("e-mail of nobody", ["nobody@people.example"]),
        _search("account", [str(one) for one in crowd.shops], _SEE_OTHER),
        _search("payment", sample.ids, _SEE_OTHER),
        _search("refund", sample.refunds, _SEE_OTHER),
        _search("event", sample.events, _SEE_OTHER),
        _search("bank reference", crowd.references, _SEE_OTHER),
        _search("bank reference of nothing", ["BNK-X"]),
        _search("request id", doors.requests, _SEE_OTHER),
        _search("payout", crowd.payouts, _SEE_OTHER),
    ]


def _search(name: str, asked: list[str], status: int = 200) -> Page:
    return Page(f"search: {name}", [f"/operator/search?{urlencode({'q': words})}" for words in asked], status=status)


def _records(desk: Desk) -> list[Page]:
    crowd, filled = desk.crowd, desk.ground.filled
    return [
        Page("person", [f"/operator/people/{one}" for one in crowd.people]),
        Page("person who owns the shop with all payments", [f"/operator/people/{filled.large.shop.owner}"]),
        Page("payment", [f"/operator/payments/{one}" for one in filled.large.ids]),
        Page("payment: refunded", [f"/operator/payments/{one}" for one in filled.large.refunded]),
        _account("account", crowd.shops),
        _account("account of the shop with all payments", [filled.large.shop.account]),
        _account("account of the house", [crowd.house]),
        Page("ledger", ["/operator/ledger"]),
    ]


def _account(name: str, numbers: list[int]) -> Page:
    return Page(name, [f"/operator/accounts/{one}" for one in numbers], P90_MS_MAX_ACCOUNT)


def _logs(desk: Desk) -> list[Page]:
    today = datetime.now(UTC).date()
    day, month = (str(today - timedelta(ago)) for ago in (30, 60))
    crowd = desk.crowd
    people = [f"person {one}" for one in crowd.people]
    asked: dict[str, list[dict[str, str]]] = {
        "anything": [{}],
        "by an operator": [{"actor": str(one)} for one in crowd.operators],
        "by a person": [{"actor": one} for one in people],
        "by nobody": [{"actor": "person 999999999"}],
        "an act of one in six": [{"act": "session.opened"}],
        "an act of one in a thousand": [{"act": RARE_ACTION}],
        "acts that begin so": [{"act": "session"}],
        "about a person": [{"subject": one} for one in people],
        "about the shop with all payments": [{"subject": f"account {desk.ground.filled.large.shop.account}"}],
        "of a day": [{"from": day, "to": day}],
        "of a month": [{"from": month, "to": day}],
        "by an operator, an act, a day": [
            {"actor": str(one), "act": "note.added", "from": day, "to": day} for one in crowd.operators
        ],
        "by an operator, a rare act": [{"actor": str(one), "act": RARE_ACTION} for one in crowd.operators],
        "an act about a person, a month": [
            {"subject": one, "act": "session.opened", "from": month, "to": day} for one in people
        ],
    }
    return [
        Page(f"audit log: {name}", [f"/operator/audit?{urlencode(query)}" for query in queries])
        for name, queries in asked.items()
    ]
