"""Receipts and statements for the tests of what is drawn from them."""

from datetime import date
from typing import Final, get_args

import msgspec

from qirsh.domain.ledger import Kind
from qirsh.language.local_time import UTC_ZONE
from qirsh.web.documents.receipt import Receipt
from qirsh.web.documents.statement import Line, Statement

NEW_YEAR: Final = 1_767_225_600_000  # 2026-01-01, midnight in UTC.
HOUR: Final = 3_600_000
NAMES: Final = ("مكتبة الشام", "Şükrü Çağlayan İğdır", "Damascus Books (2026)", "Café مقهى Central")
NOTES: Final = ("الطلب 1029: روايتان ودفتر (هدية)", "Order #1029: two novels", "Öğle yemeği \N{GRINNING FACE} 漢字", "")


def receipt(**changes: object) -> Receipt:
    made = Receipt(
        service_name="Qirsh",
        base_url="https://pay.example",
        payee="Damascus Books",
        payee_account="482711903356",
        payer_name="Layla Haddad",
        payer_account="119033568841",
        amount_minor=1_234_567_890,
        currency="SYP",
        note="Order #1029: two novels",
        reference="ORDER-2026/77",
        payment_id="1234567812345670",
        paid_at=NEW_YEAR,
        time_zone=UTC_ZONE,
        share_url="https://pay.example/receipt/abcdEFGH1234567890",
    )
    return msgspec.structs.replace(made, **changes)


def statement(count: int, **changes: object) -> Statement:
    kinds = get_args(Kind)
    lines = []
    balance = 123_456
    for number in range(count):
        amount = (1 if number % 2 == 0 else -1) * (number * 7919 % 90_000 + 1)
        balance += amount
        lines.append(
            Line(
                at=NEW_YEAR + number * HOUR,
                what=kinds[number % len(kinds)],
                other_name=NAMES[number % len(NAMES)],
                other_account="482711903356",
                payment_id=str(1_000_000_000_000_000 + number),
                note=NOTES[number % len(NOTES)],
                amount_minor=amount,
                balance_after_minor=balance,
            )
        )
    made = Statement(
        service_name="Qirsh",
        holder="Layla Haddad",
        account="119033568841",
        currency="SYP",
        from_day=date(2026, 1, 1),
        to_day=date(2026, 6, 30),
        time_zone=UTC_ZONE,
        opening_minor=123_456,
        closing_minor=balance,
        lines=tuple(lines),
    )
    return msgspec.structs.replace(made, **changes)
