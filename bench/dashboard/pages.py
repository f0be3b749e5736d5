"""Which pages are asked for, and within which time each should come."""

import time
from datetime import UTC, date, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

import msgspec

from bench.dashboard.history import COMMON_AMOUNT, COMMON_EVERY, RARE_CHANNEL, amount_of
from bench.dashboard.sample import Sample
from bench.seed import CURRENCY
from qirsh.domain.money import format_amount
from qirsh.web.http.cursor import encode_cursor

P90_MS_MAX: Final = 50.0  # Overview, lists, searches and reports.
P90_MS_MAX_OTHER: Final = 30.0
P99_MS_MAX: Final = 200.0  # Of all, while payments come in.


class Page(msgspec.Struct, frozen=True):
    """One kind of page, with some addresses, which are asked for in turn."""

    name: str
    addresses: list[str]
    p90_ms_max: float = P90_MS_MAX
    status: int = 200


def pages_of(sample: Sample) -> list[Page]:
    """Of one shop, by its owner."""
    begin = f"/business/{sample.shop.account}"
    return [
        *_overview(begin),
        *_lists(begin, sample),
        *_searches(begin, sample),
        *_reports(begin),
        *_others(begin, sample),
    ]


def _overview(begin: str) -> list[Page]:
    return [Page(f"overview, {days} days", [f"{begin}?days={days}"]) for days in (14, 90)]


def _lists(begin: str, sample: Sample) -> list[Page]:
    today = _today()
    cursors = [encode_cursor("c", at, payment_id) for at, payment_id in zip(sample.times, sample.ids, strict=True)]
    days = {
        "today": {"from": str(today), "to": str(today)},
        "a day two months ago": {"from": str(today - timedelta(60)), "to": str(today - timedelta(60))},
        "all days": {"from": str(today - timedelta(100)), "to": str(today)},
    }
    asked: dict[str, dict[str, str]] = {
        "anything": {},
        **{f"status={status}": {"status": status} for status in ("pending", "paid", "cancelled", "expired")},
        "currency=EUR": {"currency": "EUR"},
        "currency=TRY, of which there is none": {"currency": "TRY"},
        "status=paid, currency=EUR": {"status": "paid", "currency": "EUR"},
        "refunded": {"refunded": "yes"},
        "refunded, currency=EUR": {"refunded": "yes", "currency": "EUR"},
        "refunded, currency=TRY, of which there is none": {"refunded": "yes", "currency": "TRY"},
        **{f"of {name}": fields for name, fields in days.items()},
        **{f"paid, of {name}": {**fields, "by": "paid"} for name, fields in days.items()},
        "paid two months ago, currency=EUR": {**days["a day two months ago"], "by": "paid", "currency": "EUR"},
        "refunded, paid on all days": {**days["all days"], "by": "paid", "refunded": "yes"},
    }
    return [
        *(Page(f"list: {name}", [_with(f"{begin}/payments", **fields)]) for name, fields in asked.items()),
        Page("list: deep", [_with(f"{begin}/payments", after=cursor) for cursor in cursors]),
        Page(
            "list: deep, status=paid", [_with(f"{begin}/payments", status="paid", after=cursor) for cursor in cursors]
        ),
        Page("list: deep, refunded", [_with(f"{begin}/payments", refunded="yes", after=cursor) for cursor in cursors]),
    ]


def _searches(begin: str, sample: Sample) -> list[Page]:
    payers = sample.shop.payers[CURRENCY]
    numbers = sample.payments
    rare_amounts = [number for number in numbers if number % COMMON_EVERY]
    common_amount = format_amount(COMMON_AMOUNT, CURRENCY)
    asked: dict[str, list[str]] = {
        "a payer who pays often": [str(payer) for payer in payers[:100]],
        "a payer who pays seldom": [str(payers[-1])],
        "a refund": sample.refunds,
        "an event": sample.events,
        "key:value of one": [f"order:A-2026-{number:08d}" for number in numbers],
        "key:value of one in a thousand": [f"channel:{RARE_CHANNEL}"],
        "key:value of all": ["delivery:courier"],
        "key:value of none": ["delivery:pigeon"],
        "a rare amount": [format_amount(amount_of(number), CURRENCY) for number in rare_amounts],
        "a common amount": [common_amount],
        "a common amount in a rare currency": [f"{common_amount} EUR"],
        "a common amount in a currency that there is not": [f"{common_amount} TRY"],
        "an amount of none": ["9,999,999.99"],
        "a word of one": [str(number) for number in numbers],
        "a word of one in a thousand": [RARE_CHANNEL],
        "a word of all": ["courier"],
        "a word of none": ["pigeon"],
        "an Arabic word of one in five": ["حمص"],
        "two words of all": ["courier newsletter"],
        "two common words that are never together": ["damascus aleppo"],
        "two words of one in a thousand and of three in five": [f"{RARE_CHANNEL} damascus"],
        "eight words of all": ["order courier newsletter mezzeh layla haddad spring26 2026"],
    }
    searches = [
        Page(f"search: {name}", [_with(f"{begin}/payments", q=q) for q in some]) for name, some in asked.items()
    ]
    narrowed = {
        "a word of all, status=cancelled": {"q": "courier", "status": "cancelled"},
        "a word of all, currency=TRY, of which there is none": {"q": "courier", "currency": "TRY"},
        "a word of all, refunded": {"q": "courier", "refunded": "yes"},
        "a word of one in five, status=pending": {"q": "aleppo", "status": "pending"},
        "a payer who pays often, refunded": {"q": str(payers[0]), "refunded": "yes"},
        "a payer who pays often, currency=EUR": {"q": str(payers[0]), "currency": "EUR"},
    }
    return [
        Page("search: a number", [_with(f"{begin}/payments", q=one) for one in sample.ids], status=303),
        *searches,
        *(Page(f"search: {name}", [_with(f"{begin}/payments", **fields)]) for name, fields in narrowed.items()),
    ]


def _reports(begin: str) -> list[Page]:
    today = _today()
    return [
        Page("report: this month", [f"{begin}/reports"]),
        Page("report: a month", [_days(begin, today - timedelta(60), today - timedelta(30))]),
        Page("report: a year", [_days(begin, today - timedelta(365), today)]),
        Page("report: a month in EUR", [_days(begin, today - timedelta(30), today) + "&currency=EUR"]),
    ]


def _others(begin: str, sample: Sample) -> list[Page]:
    found = {
        "a payment": [f"{begin}/payments/{one}" for one in sample.ids],
        "a refunded payment": [f"{begin}/payments/{one}" for one in sample.refunded],
        "its refund form": [f"{begin}/payments/{one}/refund" for one in sample.refunded],
        "activity log": [f"{begin}/activity"],
        "activity log: payments": [f"{begin}/activity?act=payment"],
        "activity log: keys, of which there are few": [f"{begin}/activity?act=key"],
        "payouts": [f"{begin}/payouts"],
        "bank accounts": [f"{begin}/bank-accounts"],
        "keys": [f"{begin}/keys"],
        "requests": [f"{begin}/requests"],
        "requests: refused": [f"{begin}/requests?status=4"],
        "requests: failed, of which there are none": [f"{begin}/requests?status=5"],
        "requests: of a payment": [f"{begin}/requests?payment={one}" for one in sample.ids],
        "staff": [f"{begin}/staff"],
        "settings": [f"{begin}/settings"],
        "exports": [f"{begin}/exports"],
        "webhooks": [f"{begin}/webhooks"],
        "take": [f"{begin}/take"],
        "sell": [f"{begin}/sell"],
    }
    return [Page(name, addresses, P90_MS_MAX_OTHER) for name, addresses in found.items()]


def _with(address: str, **fields: str) -> str:
    return f"{address}?{urlencode(fields)}" if fields else address


def _days(begin: str, first: date, last: date) -> str:
    return _with(f"{begin}/reports", **{"from": str(first), "to": str(last)})


def _today() -> date:
    return datetime.fromtimestamp(time.time(), UTC).date()
