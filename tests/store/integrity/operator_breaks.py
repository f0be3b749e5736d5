"""What breaks the invariants of operators, proposals, bank orders and payouts: `test_invariants` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

from tests.store.filled import FILLED

_NAMES: Final = FILLED.names()
_AGREED: Final = "a bank order is what two operators agreed to"
_DECIDED: Final = "a proposal is decided once, and done by another than who asked for it or changed it"
_ACTING: Final = "a proposal is asked for and decided by operators"
_ABOUT: Final = "nobody confirms a proposal about themselves, their account or their employer"
_ORDERED: Final = "a payout is ordered by the one proposal that is open for it, or asked for"
_BOOKED: Final = "a bank order has exactly one transfer, and it matches"
_HAS_ORDER: Final = "a transfer between the house and an account has its bank order"
_TAKEN_BACK: Final = "a reversal takes back one order of its house, whole and once"
_NAMES_BACK: Final = "a reversal names the transfer that it takes back"
_SLIP, _SLIP_OF_CUSTOMER = "pr_7", f"account {FILLED.customer.account}"
assert FILLED.bank_orders[FILLED.house, "slip"].proposal == _SLIP
_PAYOUT: Final = FILLED.bank_orders[FILLED.house, "payout"].proposal
_WRONG_BACK: Final = FILLED.bank_orders[FILLED.house, "wrong back"].proposal
_OURS: Final = FILLED.bank_orders[FILLED.corrections, "ours"].proposal
_LATE_MS: Final = 60_001
_ASKED_AT: Final = FILLED.proposals[_SLIP].asked_at


def _order(change: str, reference: str = "slip") -> str:
    return f"UPDATE bank_order SET {change} WHERE reference = '{reference}'"


def _proposal(change: str, proposal: str = _SLIP) -> str:
    return f"UPDATE proposal SET {change} WHERE id = '{proposal}'"


def _command(field: str, value: str, proposal: str = _SLIP) -> str:
    """With something else in one field."""
    was = str(getattr(FILLED.book(kind="withdrawal"), field))
    quote = "" if was.isdigit() else '"'
    return _proposal(
        f"command = replace(command, '\"{field}\":{quote}{was}{quote}', '\"{field}\":{quote}{value}{quote}')", proposal
    )


_BANK_ORDERS: Final[list[tuple[str, str, str]]] = [
    (
        _BOOKED,
        "DELETE FROM transfer WHERE bank_order = 'slip'",
        "bank order slip of account {house} has 0 transfers, of which 0 match it",
    ),
    (_BOOKED, _order("amount = amount + 1"), "bank order slip of account {house} has 1 transfers, of which 0 match it"),
    (
        _BOOKED,
        "UPDATE transfer SET bank_order = 'slip 0' WHERE bank_order = 'slip 2'",
        "bank order slip 0 of account {house} has 2 transfers, of which 1 match it",
    ),
    (
        _HAS_ORDER,
        "DELETE FROM bank_order WHERE reference = 'slip'",
        "transfer .+ is a withdrawal by the bank order slip, which does not match it",
    ),
    *(
        (_HAS_ORDER, sql, f"transfer .+ is a {named}, which does not match it")
        for sql, named in (
            (_order("reverses = NULL", "wrong back"), "reversal by the bank order wrong back"),
            (_order("house = :house", "ours"), "correction by the bank order ours"),
            (_order("house = :corrections", "slip"), "withdrawal by the bank order slip"),
            (_order("kind = 'deposit'", "slip"), "withdrawal by the bank order slip"),
        )
    ),
    (
        _BOOKED,
        "UPDATE transfer SET kind = 'deposit' WHERE bank_order = 'ours'",
        "bank order ours of account {corrections} has 1 transfers, of which 0 match it",
    ),
    (
        _BOOKED,
        "UPDATE transfer SET debit = credit, credit = debit WHERE bank_order = 'slip'",
        "bank order slip of account {house} has 1 transfers, of which 0 match it",
    ),
    *(
        (_TAKEN_BACK, sql, f"bank order {named}")
        for sql, named in (
            (_order("amount = 9999", "wrong"), "wrong back .+ reverses wrong, which does not match it, or which 1 .+"),
            (_order("account = :customer", "wrong"), "wrong back .+ reverses wrong, which does not match it, .+"),
            (_order("currency = 'EUR'", "wrong"), "wrong back .+ reverses wrong, which does not match it, .+"),
            (_order("kind = 'withdrawal'", "wrong"), "wrong back .+ reverses wrong, which does not match it, .+"),
            (_order("reverses = 'none'", "wrong back"), "wrong back .+ reverses none, which does not match it, .+"),
            (_order("reverses = 'slip'", "wrong"), "wrong back .+ reverses wrong, which does not match it, .+"),
        )
    ),
    *(
        (
            _NAMES_BACK,
            f"UPDATE transfer SET reverses = {other} WHERE bank_order = 'wrong back'",
            "transfer .+ by the bank order wrong back reverses transfer .+, which does not match it",
        )
        for other in ("1", "(SELECT id FROM transfer WHERE payment = :paid)")
    ),
    *(
        (_AGREED, sql, f"bank order .+ of account .+ is not what its proposal {named}")
        for sql, named in (
            (
                _proposal("decided_by = asked_by"),
                f"{_SLIP} says, which is done, asked by operator 1 and confirmed by 1",
            ),
            (
                _proposal("decided_by = NULL"),
                f"{_SLIP} says, which is done, asked by operator 1 and confirmed by nothing",
            ),
            (_proposal("editors = '1 2'"), f"{_SLIP} says, which is done, .+"),
            (_proposal("state = 'open'"), f"{_SLIP} says, which is open, .+"),
            (_proposal("state = 'refused'"), f"{_SLIP} says, which is refused, .+"),
            (_proposal("action = 'deposit'"), f"{_SLIP} says, which is done, .+"),
            (_proposal("subject = 'account 1'"), f"{_SLIP} says, which is done, .+"),
            (
                f"DELETE FROM proposal WHERE id = '{_SLIP}'",
                f"{_SLIP} says, which is nothing, asked by operator nothing and confirmed by nothing",
            ),
            (_order(f"proposal = '{FILLED.asked.id}'"), f"{FILLED.asked.id} says, which is open, .+"),
            *((_order(change), f"{_SLIP} says, which is done, .+") for change in ("amount = 1", "currency = 'EUR'")),
            *(
                (_order(change), f"{_SLIP} says, which is done, .+")
                for change in ("reference = 'other'", "kind = 'deposit'")
            ),
            *((_order(change), f"{_SLIP} says, which is done, .+") for change in ("house = :mint", "account = :other")),
            (_order("payout = 'po_1'"), f"{_SLIP} says, which is done, .+"),
            *(
                (_command(field, value), f"{_SLIP} says, which is done, .+")
                for field, value in (
                    ("amount", "100000"),
                    ("amount", "1000"),
                    ("currency", "EUR"),
                    ("reference", "slip 0"),
                    ("kind", "deposit"),
                    ("house", "1"),
                    ("account", "1"),
                )
            ),
            *(
                (_order(change, "payout"), f"{_PAYOUT} says, which is done, .+")
                for change in ("payout = 'po_1'", "payout = NULL")
            ),
            (_order("reverses = 'slip 0'", "wrong back"), f"{_WRONG_BACK} says, which is done, .+"),
            (_order("reverses = 'slip 0'"), f"{_SLIP} says, which is done, .+"),
            (_order("house = :corrections"), f"{_SLIP} says, which is done, .+"),
            (_order("house = :house", "ours"), f"{_OURS} says, which is done, .+"),
            (
                _proposal("command = replace(command, 'CorrectBalance', 'BookBankTransfer')", _OURS),
                f"{_OURS} says, which is done, .+",
            ),
        )
    ),
    *(
        (
            "nobody moves money of their own as an operator",
            f"UPDATE account SET owner = :{who} WHERE number = :other",
            f"bank order .+ is for account {{other}} of person {{{who}}}, asked by operator {{first}} and confirmed .+",
        )
        for who in ("first", "second")
    ),
    (
        "an operator and who made them do not confirm each other's orders at first",
        "UPDATE operator SET created_at = 1800000000000 - 604799999 WHERE person = :second",
        "bank order slip .+ asked by operator {first} and confirmed by {second}, less than 7 days .+",
    ),
]
_PROPOSALS: Final[list[tuple[str, str, str]]] = [
    *(
        (_DECIDED, _proposal(change, proposal), f"proposal {proposal} \\(.+\\) is {named}")
        for proposal, change, named in (
            (_SLIP, "decided_by = asked_by", "done, asked by operator 1, changed by operators '', decided by 1 at .+"),
            (_SLIP, "editors = '2 3'", "done, asked by operator 1, changed by operators '2 3', decided by 2 at .+"),
            (_SLIP, "decided_by = NULL", "done, .+ decided by nothing at .+"),
            (_SLIP, "decided_at = NULL", "done, .+ at nothing"),
            (_SLIP, "state = 'withdrawn'", "withdrawn, .+"),
            (_SLIP, "state = 'lapsed'", "lapsed, .+"),
            (_SLIP, "state = 'open', decided_at = NULL", "open, .+"),
            (_SLIP, "state = 'dropped'", "dropped, .+"),
            (FILLED.lost.id, "decided_by = asked_by", "refused, .+"),
            (FILLED.lost.id, "decided_by = NULL", "refused, .+"),
            (FILLED.asked.id, "decided_at = 1", "open, .+"),
        )
    ),
    *(
        (_ACTING, sql, f"proposal {_SLIP} \\(withdrawal\\) is done, {named}")
        for sql, named in (
            (
                f"UPDATE operator SET ended_at = {_ASKED_AT - _LATE_MS} WHERE person = :second",
                ".+ decided by {second} .+",
            ),
            (
                f"UPDATE operator SET ended_at = {_ASKED_AT - _LATE_MS} WHERE person = :first",
                "asked by operator {first} .+",
            ),
            (f"UPDATE operator SET created_at = {_ASKED_AT + _LATE_MS} WHERE person = :second", ".+ by {second} .+"),
            (_proposal("decided_by = 3"), ".+ decided by 3 at .+"),
            (_proposal("asked_by = 3"), "asked by operator 3 at .+"),
        )
    ),
    (
        _ACTING,
        _proposal("decided_by = NULL", FILLED.appointed.id),
        rf"proposal {FILLED.appointed.id} \(operator create\) is done, .+, decided by nothing at .+",
    ),
    (
        _ABOUT,
        _proposal("subject = 'person 2'"),
        rf"proposal {_SLIP} \(withdrawal\) about person 2 was confirmed by operator {{second}}",
    ),
    (
        _ABOUT,
        "UPDATE account SET owner = :second WHERE number = :customer",
        rf"proposal {_SLIP} \(withdrawal\) about {_SLIP_OF_CUSTOMER} was confirmed by operator {{second}}",
    ),
    (
        _ABOUT,
        "UPDATE member SET person = :second, account = :customer, created_at = 1 WHERE role = 'viewer'",
        rf"proposal {_SLIP} \(withdrawal\) about {_SLIP_OF_CUSTOMER} was confirmed by operator {{second}}",
    ),
]
_PAYOUTS: Final[list[tuple[str, str, str]]] = [
    *(
        ("a payout that is paid has its transfer", sql, named)
        for sql, named in (
            (
                "UPDATE payout SET sequence = sequence + 1 WHERE id = 'po_2'",
                "payout po_2 of account {customer} is paid by transfer \\d+ of that account in EUR, which .+",
            ),
            (
                "UPDATE payout SET sequence = NULL WHERE id = 'po_2'",
                "payout po_2 of account {customer} is paid by transfer nothing of .+",
            ),
        )
    ),
    *(
        ("a payout that is paid has its bank order, and it matches", sql, named)
        for sql, named in (
            (
                "UPDATE payout SET state = 'paid', reference = 'r' WHERE id = 'po_1'",
                "payout po_1 of account {customer} is paid under the reference r, and 0 bank orders match it",
            ),
            (
                "UPDATE payout SET state = 'ordered' WHERE id = 'po_2'",
                "payout po_2 of account {customer} is ordered under the reference payout, and 1 bank orders match it",
            ),
            *(
                (
                    _order(change, "payout"),
                    "payout po_2 of account {customer} is paid under the reference payout, and 0 bank orders match it",
                )
                for change in (
                    "payout = NULL",
                    "account = :other",
                    "currency = 'USD'",
                    "amount = 1",
                    "reference = 'another'",
                    "kind = 'deposit'",
                )
            ),
        )
    ),
    *(
        (
            "a bank order for a payout is that payout's",
            sql,
            f"bank order .+ of account {{house}} is for payout {named} and does not match it",
        )
        for sql, named in (
            (_order("payout = 'po_1'"), "po_1, which is asked"),
            (_order("payout = 'gone'", "payout"), "gone, which is nothing"),
            *(
                (f"UPDATE payout SET {change} WHERE id = 'po_2'", f"po_2, which is {state}")
                for change, state in (
                    ("reference = 'r'", "paid"),
                    ("account = :other", "paid"),
                    ("currency = 'USD'", "paid"),
                    ("amount = 1", "paid"),
                    ("state = 'refused'", "refused"),
                )
            ),
        )
    ),
    *(
        (_ORDERED, sql, f"payout {named} that are for it")
        for sql, named in (
            (
                "UPDATE payout SET state = 'ordered', reference = 'told' WHERE id = 'po_1'",
                "po_1 of account {customer} is ordered under the reference told, and 0 open proposals say so of 0",
            ),
            (
                "UPDATE payout SET state = 'asked', reference = NULL WHERE id = 'po_3'",
                "po_3 of account {owner} is asked under the reference nothing, and 0 open proposals say so of 1",
            ),
            (
                "UPDATE payout SET reference = 'other' WHERE id = 'po_3'",
                "po_3 of account {owner} is ordered under the reference other, and 0 open proposals say so of 1",
            ),
            *(
                (
                    _proposal(change, FILLED.ordered.id),
                    "po_3 of account {owner} is ordered under the reference told, and 0 open proposals say so of 0",
                )
                for change in (
                    "state = 'refused'",
                    "subject = 'account 1'",
                    "action = 'withdrawal'",
                    "command = replace(command, 'po_3', 'po_30')",
                )
            ),
            (
                f"DELETE FROM proposal WHERE id = '{FILLED.ordered.id}'",
                "po_3 of account {owner} is ordered under the reference told, and 0 open proposals say so of 0",
            ),
            (
                _proposal("state = 'open'", _PAYOUT),
                "po_2 of account {customer} is paid under the reference payout, and 1 open proposals say so of 1",
            ),
        )
    ),
]
_APPOINTED: Final = "an appointment is what was agreed to"
_RESET: Final = "what is set back for a person is what two operators agreed to, a day later"
_OPERATOR: Final = "an operator was made by others, who were there before"
BROKEN_OPERATORS: Final[list[tuple[str, str, str]]] = [
    *_BANK_ORDERS,
    *_PROPOSALS,
    *_PAYOUTS,
    *(
        (_APPOINTED, sql, f"the appointment by proposal {named} is not what that says")
        for sql, named in (
            ("UPDATE appointment SET roles = 'admin treasury support'", f"{FILLED.appointed.id} that is done"),
            ("UPDATE appointment SET roles = 'treasury'", f"{FILLED.appointed.id} that is done"),
            ("UPDATE appointment SET name = 'Third'", f"{FILLED.appointed.id} that is done"),
            ("UPDATE appointment SET email = 'other@example.com'", f"{FILLED.appointed.id} that is done"),
            ("UPDATE appointment SET proposal = 'pr_0'", "pr_0 that is done"),
            (f"UPDATE appointment SET proposal = '{FILLED.asked.id}'", f"{FILLED.asked.id} that is open"),
            (_proposal("state = 'open'", FILLED.appointed.id), f"{FILLED.appointed.id} that is open"),
            (f"DELETE FROM proposal WHERE id = '{FILLED.appointed.id}'", f"{FILLED.appointed.id} that is nothing"),
        )
    ),
    *(
        (_RESET, sql, f"the {named}, which does not say so")
        for sql, named in (
            (
                "UPDATE pending_reset SET due_at = due_at - 1",
                f"pin of person 3 is set back at .+ by proposal {FILLED.reset.id}",
            ),
            ("UPDATE pending_reset SET person = 4", f"pin of person 4 is set back at .+ by proposal {FILLED.reset.id}"),
            ("UPDATE pending_reset SET what = 'factors'", f"factors of person 3 is set back at .+ {FILLED.reset.id}"),
            (f"UPDATE pending_reset SET proposal = '{FILLED.asked.id}'", f"pin of person 3 .+ {FILLED.asked.id}"),
            (_proposal("state = 'refused'", FILLED.reset.id), f"pin of person 3 .+ {FILLED.reset.id}"),
        )
    ),
    *(
        (
            _OPERATOR,
            f"UPDATE operator SET {change} WHERE person = :{who}",
            f"operator {{{made}}} was made by operator {named}",
        )
        for who, change, made, named in (
            ("second", "created_by = :second", "second", "{second} and confirmed by nothing"),
            ("second", "confirmed_by = :second", "second", "{first} and confirmed by {second}"),
            ("second", "confirmed_by = :first", "second", "{first} and confirmed by {first}"),
            ("first", "created_by = :second", "first", "{second} and confirmed by nothing"),
            ("second", "created_at = created_at - 1", "second", "{first} and confirmed by nothing"),
        )
    ),
    (
        _OPERATOR,
        "INSERT INTO operator SELECT 3, 'auditor', :first, created_at + 1, NULL, NULL FROM operator WHERE person = 1",
        "operator 3 was made by operator {first} and confirmed by nothing",
    ),
    *(
        (
            "a counter says how many there are",
            f"UPDATE counter SET last = 7 WHERE name = '{name}'",
            f"the counter '{name}' stands at 7, and there are {times}",
        )
        for name, times in (
            ("admin", 2),
            (f"open payouts of account {_NAMES['customer']}", 1),
            (f"passkeys of person {FILLED.customer.id}", 1),
            (f"webhook endpoints of account {_NAMES['hooked']}", 3),
        )
    ),
    (
        "a counter says how many there are",
        "DELETE FROM counter WHERE name LIKE 'open payouts of account %'",
        "the counter 'open payouts of account {customer}' stands at nothing, and there are 1",
    ),
    (
        "a counter says how many there are",
        "UPDATE operator SET roles = 'treasury' WHERE person = :second",
        "the counter 'admin' stands at 2, and there are 1",
    ),
]

# What may well be, though it looks like what is above.
NOT_BROKEN: Final[dict[str, str]] = {
    "an operator made by one alone, before another became an admin": f"""
        INSERT INTO operator SELECT 3, 'auditor', :first, created_at + 1, NULL, NULL FROM operator WHERE person = 1;
        INSERT INTO proposal SELECT 'pr_roles', 'operator roles', '', 'person 2', 'x', 1, {_ASKED_AT}, '', 'done', 3,
        {_ASKED_AT}, '' FROM operator WHERE person = 1""",
    "an operator made by one alone, before another became an admin by a recovery": """
        INSERT INTO operator SELECT 3, 'auditor', :first, created_at + 1, NULL, NULL FROM operator WHERE person = 1;
        UPDATE recovery SET roles = 'support'""",
    "a decision of an operator who ends meanwhile": f"""
        UPDATE operator SET ended_at = {_ASKED_AT - 100} WHERE person = :second;
        UPDATE counter SET last = 1 WHERE name = 'admin'""",
    "who came to work at a business that they decided on before": (
        f"UPDATE member SET person = :second, created_at = {_ASKED_AT + 1} WHERE role = 'viewer'"
    ),
}
