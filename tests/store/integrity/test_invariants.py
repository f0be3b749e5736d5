"""Each invariant finds the row that breaks it, and names it; a good database breaks none."""

# Every statement is a constant of this file.
# ruff: noqa: S608

import re
from collections.abc import Iterable
from typing import Any, Final

import pytest

from qirsh.domain.limits import AMOUNT_MAX, BALANCE_MAX
from qirsh.domain.total import FIGURES
from qirsh.store.integrity.invariant import ROWS_NAMED_MAX, Invariant, Violation, violations_of
from qirsh.store.integrity.invariants import ALL, check
from tests.store.filled import FILLED, Hand
from tests.store.integrity.bank_breaks import BROKEN_BANK
from tests.store.integrity.operator_breaks import BROKEN_OPERATORS, NOT_BROKEN

NAMES: Final = FILLED.names()

_OF_EUROS: Final = "{} WHERE account = :shop AND currency = 'EUR'"
_REST: Final = ", ".join(("sequence", *FIGURES, *(f"{figure}_count" for figure in FIGURES)))

# The invariant, what breaks it, and how the broken row is named.
BROKEN: Final[list[tuple[str, str, str]]] = [
    (
        "per currency, debits equal credits",
        "UPDATE balance SET amount = amount + 10 WHERE account = :customer AND currency = 'USD'",
        "balances in USD sum to 10, not to zero",
    ),
    (
        "a balance is the sum of its transfers",
        "UPDATE balance SET amount = 90 WHERE account = :other AND currency = 'EUR'",
        "balance of account {other} in EUR is 90, its transfers sum to 100000",
    ),
    (
        "a balance is the sum of its transfers",
        "INSERT INTO balance VALUES (:other, 'SYP', 5, 1, FALSE, 0)",
        "balance of account {other} in SYP is 5, its transfers sum to 0",
    ),
    (
        "a balance is what its last transfer left",
        "UPDATE balance SET amount = 90 WHERE account = :other AND currency = 'EUR'",
        "balance of account {other} in EUR is 90 at sequence 1, that transfer left 100000, and 0 are later",
    ),
    (
        "a balance is what its last transfer left",
        "UPDATE balance SET amount = 100000, sequence = 1 WHERE account = :customer AND currency = 'USD'",
        "balance of account {customer} in USD is 100000 at sequence 1, that transfer left 100000, and 3 are later",
    ),
    (
        "a balance is what its last transfer left",
        "UPDATE balance SET sequence = 9 WHERE account = :other AND currency = 'EUR'",
        "balance of account {other} in EUR is 100000 at sequence 9, that transfer left nothing, and 0 are later",
    ),
    (
        "what is held is what open payouts ask for",
        "UPDATE balance SET held = 701 WHERE account = :customer AND currency = 'EUR'",
        "balance of account {customer} in EUR holds 701 back, its open payouts ask for 700",
    ),
    (
        "what is held is what open payouts ask for",
        "UPDATE balance SET held = 5 WHERE account = :other AND currency = 'EUR'",
        "balance of account {other} in EUR holds 5 back, its open payouts ask for 0",
    ),
    (
        "what is held is what open payouts ask for",
        "UPDATE payout SET state = 'cancelled' WHERE id = 'po_1'",
        "balance of account {customer} in EUR holds 700 back, its open payouts ask for 0",
    ),
    (
        "whoever has transfers has a balance",
        "DELETE FROM balance WHERE account = :customer AND currency = 'USD'",
        "account {customer} has 4 transfers in USD and no balance",
    ),
    (
        "a sequence has no gap and no number twice",
        "DELETE FROM transfer WHERE payment = :paid",
        "transfer .+ of account {customer} in USD has sequence 3, the one before it has 1",
    ),
    (
        "a sequence has no gap and no number twice",
        "UPDATE transfer SET credit_sequence = 1 WHERE payment = :paid_too",
        "transfer .+ of account {shop} in USD has sequence 1, the one before it has 1",
    ),
    (
        "a sequence has no gap and no number twice",
        "UPDATE transfer SET debit_sequence = 0 WHERE kind = 'mint' AND currency = 'USD'",
        "transfer .+ of account {mint} in USD has sequence 0, the one before it has 0",
    ),
    (
        "a balance-after follows from the one before it",
        "UPDATE transfer SET credit_balance = 501 WHERE payment = :paid_too",
        "transfer .+ leaves account {shop} with 501 USD at sequence 2, not with 500",
    ),
    (
        "a balance-after follows from the one before it",
        "UPDATE transfer SET amount = 299 WHERE payment = :paid",
        "transfer .+ leaves account {customer} with 99700 USD at sequence 2, not with 99701",
    ),
    (
        "only a house account is below zero",
        "UPDATE balance SET amount = -1 WHERE account = :shop AND currency = 'USD'",
        "balance of account {shop} in USD is -1, and the account is commercial",
    ),
    (
        "only a house account was ever below zero",
        "UPDATE transfer SET debit_balance = -1 WHERE payment = :paid",
        "transfer .+ leaves account {customer} with -1 USD, and the account is personal",
    ),
    (
        "only a house account was ever below zero",
        "UPDATE transfer SET credit_balance = -1 WHERE payment = :paid",
        "transfer .+ leaves account {shop} with -1 USD, and the account is commercial",
    ),
    (
        "a balance knows whether its account is of the house",
        "UPDATE balance SET is_house = TRUE WHERE account = :shop AND currency = 'USD'",
        "balance of account {shop} in USD has is_house 1, and the account is commercial",
    ),
    (
        "an amount is in its range",
        "UPDATE transfer SET amount = 0 WHERE payment = :paid",
        "transfer .+ has the amount 0",
    ),
    (
        "an amount is in its range",
        f"UPDATE payment SET amount = {AMOUNT_MAX + 1} WHERE number = :pending",
        f"payment {{pending}} has the amount {AMOUNT_MAX + 1}",
    ),
    (
        "an amount is in its range",
        "INSERT INTO refund VALUES ('re_9', :paid, 3, -1, '', '{}', 1, 1)",
        "refund re_9 has the amount -1",
    ),
    (
        "an amount is in its range",
        "UPDATE bank_order SET amount = -5 WHERE reference = 'slip'",
        "bank order slip has the amount -5",
    ),
    (
        "an amount is in its range",
        f"UPDATE balance SET amount = {BALANCE_MAX + 1} WHERE account = :house AND currency = 'USD'",
        f"balance of account {{house}} has the amount {BALANCE_MAX + 1}",
    ),
    (
        "no transfer goes from an account to itself",
        "UPDATE transfer SET credit = debit WHERE payment = :paid",
        "transfer .+ goes from account {customer} to itself",
    ),
    (
        "no transfer crosses live and test",
        "UPDATE transfer SET credit = :till WHERE payment = :paid",
        r"transfer .+ goes from account {customer} \(live\) to account {till} \(test\), which are not of one world",
    ),
    (
        "no transfer crosses live and test",
        "UPDATE account SET live_account = :house WHERE number = :till",
        r"transfer .+ goes from account {test_customer} \(test\) to account {till} \(test\), which .+",
    ),
    (
        "money enters and leaves only through the house",
        "UPDATE transfer SET kind = 'pay', payment = :pending WHERE bank_order = 'slip'",
        r"transfer .+ is a pay from account {customer} \(personal, live\) to account {house} \(house\)",
    ),
    (
        "money enters and leaves only through the house",
        "UPDATE transfer SET kind = 'mint' WHERE bank_order = 'slip 0'",
        r"transfer .+ is a mint from account {house} \(house, live\) to account {customer} \(personal\)",
    ),
    (
        "money enters and leaves only through the house",
        "UPDATE transfer SET debit = :shop WHERE bank_order = 'slip 0'",
        r"transfer .+ is a deposit from account {shop} \(commercial, live\) to account {customer} \(personal\)",
    ),
    (
        "money enters and leaves only through the house",
        "UPDATE transfer SET credit = :other WHERE bank_order = 'slip'",
        r"transfer .+ is a withdrawal from account {customer} \(personal, live\) to account {other} \(personal\)",
    ),
    *(
        (
            "money moves only as commands move it",
            f"UPDATE transfer SET {change} WHERE payment = :paid",
            f"transfer .+ is a {kind} from account {{customer}} to account {{shop}}, which no command makes",
        )
        for change, kind in (("kind = 'fee'", "fee"), ("kind = 'reversal'", "reversal"), ("reverses = 1", "pay"))
    ),
    *(
        (
            "money enters and leaves only through the house",
            f"UPDATE transfer SET kind = '{kind}' WHERE payment = :paid",
            rf"transfer .+ is a {kind} from account {{customer}} \(personal, live\) to account {{shop}} \(commercial\)",
        )
        for kind in ("reversal", "correction")
    ),
    (
        "a paid payment has exactly one pay transfer, and it matches",
        "DELETE FROM transfer WHERE payment = :paid",
        "payment number {paid} is paid and has 0 pay transfers, of which 0 match it",
    ),
    (
        "a paid payment has exactly one pay transfer, and it matches",
        "UPDATE transfer SET payment = :paid WHERE payment = :paid_too",
        "payment number {paid} is paid and has 2 pay transfers, of which 1 match it",
    ),
    *(
        (
            "a paid payment has exactly one pay transfer, and it matches",
            f"UPDATE payment SET {change} WHERE number = :paid",
            "payment number {paid} is paid and has 1 pay transfers, of which 0 match it",
        )
        for change in ("amount = amount + 1", "currency = 'EUR'", "payer = :other", "merchant = :till")
    ),
    (
        "a pay transfer has its paid payment",
        "UPDATE payment SET status = 'expired' WHERE number = :paid",
        "transfer .+ pays payment number {paid}, whose status is expired",
    ),
    (
        "a pay transfer has its paid payment",
        "DELETE FROM payment WHERE number = :paid",
        "transfer .+ pays payment number {paid}, whose status is nothing",
    ),
    (
        "what was refunded is the sum of its refunds, and no more than was paid",
        "UPDATE payment SET refunded_amount = 1 WHERE number = :paid",
        "payment number {paid} of 300 has 1 refunded, its refund transfers sum to 0",
    ),
    (
        "what was refunded is the sum of its refunds, and no more than was paid",
        "UPDATE transfer SET kind = 'refund' WHERE payment = :paid_too",
        "payment number {paid_too} of 200 has 0 refunded, its refund transfers sum to 200",
    ),
    (
        "what was refunded is the sum of its refunds, and no more than was paid",
        """UPDATE transfer SET kind = 'refund', payment = :paid_too WHERE payment = :paid;
        UPDATE payment SET refunded_amount = 300 WHERE number = :paid_too""",
        "payment number {paid_too} of 200 has 300 refunded, its refund transfers sum to 300",
    ),
    (
        "what was refunded is the sum of its refunds, and no more than was paid",
        "UPDATE payment SET refunded_amount = 149 WHERE number = :refunded",
        "payment number {refunded} of 250 has 149 refunded, its refund transfers sum to 150",
    ),
    *(
        ("a refund has its transfer, and a refund transfer its refund", sql, named)
        for sql, named in (
            (
                "UPDATE refund SET amount = 401 WHERE id = 're_1'",
                "refund re_1 of payment number {returned} is 401, its transfer moved 400",
            ),
            (
                "UPDATE refund SET version = 4 WHERE id = 're_1'",
                "refund re_1 of payment number {returned} is 400, its transfer moved 400",
            ),
            (
                "UPDATE refund SET sequence = 99 WHERE id = 're_1'",
                "refund re_1 of payment number {returned} is 400, its transfer moved nothing",
            ),
            (
                "UPDATE refund SET payment = :paid_too WHERE id = 're_1'",
                "refund re_1 of payment number {paid_too} is 400, its transfer moved nothing",
            ),
            *(
                ("UPDATE refund SET payment = :refunded WHERE id = 're_1'", named)
                for named in (
                    "refund re_1 of payment number {refunded} is 400, its transfer moved nothing",
                    "refund that is missing of payment number {returned} is nothing, its transfer moved 400",
                )
            ),
            *(
                (
                    f"UPDATE transfer SET {change} WHERE kind = 'refund' AND payment = :returned",
                    "refund re_1 of payment number {returned} is 400, its transfer moved nothing",
                )
                for change in ("currency = 'USD'", "debit = :other")
            ),
            (
                "UPDATE refund SET payment = 404 WHERE id = 're_1'",
                "refund re_1 of payment number 404 is 400, its transfer moved nothing",
            ),
            (
                (
                    "INSERT INTO refund SELECT 're_9', payment, version, amount, '', '{}', 99, 1 FROM refund"
                    " WHERE id = 're_1'"
                ),
                "refund re_9 of payment number {returned} is 400, its transfer moved nothing",
            ),
            (
                (
                    "INSERT INTO refund SELECT 're_9', payment, 4, amount, '', '{}', sequence, 1 FROM refund"
                    " WHERE id = 're_1'"
                ),
                "refund re_9 of payment number {returned} is 400, its transfer moved 400",
            ),
            (
                "UPDATE transfer SET kind = 'pay' WHERE payment = :returned AND kind = 'refund'",
                "refund re_1 of payment number {returned} is 400, its transfer moved nothing",
            ),
            (
                "DELETE FROM refund WHERE id = 're_2'",
                "refund that is missing of payment number {refunded} is nothing, its transfer moved 100",
            ),
            (
                "UPDATE refund SET sequence = (SELECT sequence FROM refund WHERE id = 're_3') WHERE id = 're_2'",
                "refund that is missing of payment number {refunded} is nothing, its transfer moved 100",
            ),
        )
    ),
    (
        "a refund goes back from the merchant to the payer",
        "UPDATE transfer SET credit = :other WHERE kind = 'refund' AND payment = :returned",
        "transfer .+ refunds EUR from account {shop} to account {other}, payment number {returned} is paid",
    ),
    (
        "a refund goes back from the merchant to the payer",
        "UPDATE transfer SET kind = 'refund' WHERE payment = :paid",
        "transfer .+ refunds USD from account {customer} to account {shop}, payment number {paid} is paid",
    ),
    (
        "a refund goes back from the merchant to the payer",
        "UPDATE transfer SET kind = 'refund', debit = credit, credit = debit, payment = :pending WHERE payment = :paid",
        "transfer .+ refunds USD from account {shop} to account {customer}, payment number {pending} is pending",
    ),
    *(
        ("status and times of a payment agree", f"UPDATE payment SET {change} WHERE number = :{which}", named)
        for which, change, named in (
            ("pending", "payer = :other", "payment number {pending} is pending with payer {other}, .+"),
            ("pending", "paid_at = 7", "payment number {pending} is pending with payer nothing, paid at 7, .+"),
            ("pending", "cancelled_at = 7", "payment number {pending} is pending .+, cancelled at 7, .+"),
            ("pending", "updated_at = 7", "payment number {pending} is pending .+, updated at 7, .+"),
            ("paid", "payer = NULL", "payment number {paid} is paid with payer nothing, .+"),
            ("paid", "paid_at = NULL", "payment number {paid} is paid .+, paid at nothing, .+"),
            ("paid", "cancelled_at = 7", "payment number {paid} is paid .+, cancelled at 7, .+"),
            ("paid", "updated_at = 7", "payment number {paid} is paid .+, updated at 7, .+"),
            ("paid", "expires_at = paid_at", f"payment number {{paid}} is paid .+, due at {FILLED.now}"),
            (
                "cancelled",
                "cancelled_at = NULL",
                "payment number {cancelled} is cancelled .+, cancelled at nothing, .+",
            ),
            ("cancelled", "payer = :other", "payment number {cancelled} is cancelled with payer {other}, .+"),
            ("cancelled", "updated_at = 7", "payment number {cancelled} is cancelled .+, updated at 7, .+"),
            ("cancelled", "expires_at = 7", "payment number {cancelled} is cancelled .+, due at 7"),
            ("expired", "payer = :other", "payment number {expired} is expired with payer {other}, .+"),
            ("expired", "paid_at = 7", "payment number {expired} is expired .+, paid at 7, .+"),
            ("expired", "updated_at = 7", "payment number {expired} is expired .+, updated at 7, .+"),
            ("expired", "status = 'lost'", "payment number {expired} is lost with .+"),
        )
    ),
    *(
        (
            "the version of a payment counts its changes",
            f"UPDATE payment SET version = {version} WHERE number = :{which}",
            f"payment number {{{which}}} is {which} at version {version}, and its changes make it {due}",
        )
        for which, version, due in (("pending", 2, 1), ("paid", 1, 2), ("paid", 3, 2), ("cancelled", 3, 2))
    ),
    *(
        (
            "the version of a payment counts its changes",
            f"UPDATE payment SET version = {version} WHERE number = :refunded",
            f"payment number {{refunded}} is paid at version {version}, and its changes make it 4",
        )
        for version in (2, 3, 5)
    ),
    (
        "a number in use was handed out",
        "UPDATE counter SET last = 1 WHERE name = 'payment'",
        f"payment number {max(FILLED.payments)} is in use and its counter stands at 1: it would be given again",
    ),
    (
        "a number in use was handed out",
        "DELETE FROM counter WHERE name = 'person'",
        f"person number {max(FILLED.people)} is in use and its counter stands at nothing: it would be given again",
    ),
    (
        "every change of a payment has exactly one event",
        "DELETE FROM event WHERE payment = :paid",
        "payment number {paid} is paid at version 2 and has 0 events for 0 versions",
    ),
    (
        "every change of a payment has exactly one event",
        "UPDATE event SET payment = :paid WHERE payment = :paid_too",
        "payment number {paid} is paid at version 2 and has 2 events for 1 versions",
    ),
    (
        "every change of a payment has exactly one event",
        "UPDATE event SET payment = :pending WHERE payment = :paid",
        "payment number {pending} is pending at version 1 and has 1 events for 1 versions",
    ),
    (
        "every change of a payment has exactly one event",
        "UPDATE event SET version = 1 WHERE payment = :paid",
        "payment number {paid} is paid at version 2 and has 1 events for 1 versions",
    ),
    (
        "every change of a payment has exactly one event",
        "DELETE FROM event WHERE payment = :refunded AND version = 4",
        "payment number {refunded} is paid at version 4 and has 2 events for 2 versions",
    ),
    (
        "an event tells of its change",
        "UPDATE event SET type = 'remote_payment.paid' WHERE payment = :refunded AND version = 3",
        "event .+ of account {shop} says remote_payment.paid of version 3 .+",
    ),
    (
        "an event tells of its change",
        "UPDATE event SET type = 'refund.created' WHERE payment = :refunded AND version = 2",
        "event .+ of account {shop} says refund.created of version 2 .+",
    ),
    *(
        ("an event tells of its change", f"UPDATE event SET {change} WHERE payment = :paid", named)
        for change, named in (
            (
                "type = 'remote_payment.expired'",
                "event 2 of account {shop} says remote_payment.expired of version 2 .+",
            ),
            ("version = 3", "event 2 of account {shop} says .+ of version 3 at .+"),
            ("created_at = 7", "event 2 of account {shop} says .+ at 7, payment number {paid} of {shop} is paid .+"),
            (
                "payment = :pending",
                "event 2 of account {shop} says .+, payment number {pending} of {shop} is pending .+",
            ),
            ("payment = 404", "event 2 of account {shop} says .+, payment number 404 of nothing is nothing .+"),
            (
                "account = :till, sequence = 9",
                "event 9 of account {till} says .+, payment number {paid} of {shop} is .+",
            ),
        )
    ),
    (
        "an event tells of its change",
        "UPDATE payment SET version = 3 WHERE number = :paid; UPDATE event SET version = 3 WHERE payment = :paid",
        "event 2 of account {shop} says remote_payment.paid of version 3 at .+ is paid at version 3",
    ),
    (
        "events are numbered without gaps",
        "DELETE FROM event WHERE account = :shop AND sequence = 2",
        "event 3 of account {shop} comes after event 1",
    ),
    (
        "events are numbered without gaps",
        "UPDATE event SET sequence = 9 WHERE account = :till AND sequence = 1",
        "event 2 of account {till} comes after event 0",
    ),
    (
        "an event counter stands at the last event",
        "UPDATE event_counter SET last = 9 WHERE account = :till",
        "the event counter of account {till} stands at 9, its last event is 3",
    ),
    (
        "an event counter stands at the last event",
        "DELETE FROM event_counter WHERE account = :till",
        "the event counter of account {till} stands at nothing, its last event is 3",
    ),
    (
        "an event counter stands at the last event",
        "INSERT INTO event_counter VALUES (:other, 1)",
        "the event counter of account {other} stands at 1, its last event is nothing",
    ),
    *(
        (
            "a test account mirrors a live commercial account of the same owner",
            f"UPDATE account SET {change} WHERE number = :{which}",
            named,
        )
        for which, change, named in (
            (
                "till",
                "state = 'approved'",
                r"account {till} \(commercial, test, approved\) is a test account of account {shop} .+",
            ),
            (
                "till",
                "owner = :first",
                r"account {till} \(commercial, test, mirrored\) is a test account of account {shop} .+",
            ),
            (
                "till",
                "live_account = :other",
                r"account {till} .+ is a test account of account {other} \(personal, live\)",
            ),
            ("till", "live_account = :mint", r"account {till} .+ is a test account of account {mint} \(house, test\)"),
            (
                "till",
                "live_account = NULL",
                r"account {till} .+ is a test account of account nothing \(nothing, nothing\)",
            ),
            (
                "other",
                "live_account = :shop",
                r"account {other} \(personal, live, verified\) is a test account of account {shop} .+",
            ),
            (
                "other",
                "state = 'mirrored'",
                r"account {other} \(personal, live, mirrored\) is a test account of account nothing .+",
            ),
        )
    ),
    (
        "an approved merchant has one test account of each kind, and nobody else has any",
        "DELETE FROM account WHERE number = :mint",
        r"account {shop} \(commercial, approved\) has test accounts: commercial 1, personal 1, house 0",
    ),
    (
        "an approved merchant has one test account of each kind, and nobody else has any",
        "UPDATE account SET kind = 'commercial' WHERE number = :test_customer",
        r"account {shop} \(commercial, approved\) has test accounts: commercial 2, personal 0, house 1",
    ),
    (
        "an approved merchant has one test account of each kind, and nobody else has any",
        "DELETE FROM account WHERE live_account = :shop",
        r"account {shop} \(commercial, approved\) has test accounts: commercial nothing, .+",
    ),
    (
        "an approved merchant has one test account of each kind, and nobody else has any",
        "UPDATE account SET state = 'requested' WHERE number = :shop",
        r"account {shop} \(commercial, requested\) has test accounts: commercial 1, personal 1, house 1",
    ),
    *(
        ("a person owns their personal account", f"UPDATE account SET {change} WHERE number = :other", named)
        for change, named in (
            ("owner = :first", r"person .+ has account {other} \(personal, live\), which is owned by person {first}"),
            ("kind = 'commercial'", r"person .+ has account {other} \(commercial, live\), which .+"),
            ("mode = 'test'", r"person .+ has account {other} \(personal, test\), which .+"),
            ("number = 7", r"person .+ has account {other} \(nothing, nothing\), which is owned by person nothing"),
        )
    ),
    *BROKEN_OPERATORS,
    *BROKEN_BANK,
    *(
        (
            "a member works at a live business of somebody else, and is still there",
            sql,
            f"person {named}",
        )
        for sql, named in (
            (
                "UPDATE member SET account = :till WHERE role = 'viewer'",
                r"{first} is viewer at account {till} \(commercial, test\) of person \d+, and was erased at nothing",
            ),
            (
                "UPDATE member SET account = :customer WHERE role = 'viewer'",
                r"{first} is viewer at account {customer} \(personal, live\) of .+",
            ),
            (
                "UPDATE member SET person = (SELECT owner FROM account WHERE number = :shop) WHERE role = 'viewer'",
                r"(\d+) is viewer at account {shop} \(commercial, live\) of person \1, and .+",
            ),
            ("UPDATE member SET role = 'owner' WHERE role = 'viewer'", "{first} is owner at account {shop} .+"),
            ("UPDATE member SET person = 404 WHERE role = 'viewer'", "404 is viewer at account {shop} .+"),
            ("UPDATE person SET erased_at = 5 WHERE id = :first", "{first} is viewer .+ and was erased at 5"),
        )
    ),
    *(
        ("only cashiers have caps", sql, f"person \\d+ may refund {named}")
        for sql, named in (
            ("UPDATE member SET role = 'viewer'", "150 EUR a day at account {shop}, where their role is viewer"),
            ("DELETE FROM member", "150 EUR a day at account {shop}, where their role is nothing"),
            ("UPDATE member_cap SET amount = 0", "0 EUR a day at account {shop}, where their role is cashier"),
        )
    ),
    *(
        (
            "what a person refunded in a day was refunded at a live business",
            f"UPDATE refund_tally SET {change}",
            f"person \\d+ refunded {named}, in a day",
        )
        for change, named in (
            ("used = -1", r"-1 EUR at account {shop} \(commercial, live\)"),
            ("account = :till", r"40 EUR at account {till} \(commercial, test\)"),
            ("account = 404", r"40 EUR at account 404 \(nothing, nothing\)"),
        )
    ),
    *(
        ("an invitation is to a live business, with a role that there is", f"UPDATE invitation SET {change}", named)
        for change, named in (
            ("account = :till", r"invitation inv_\w+ to account {till} \(commercial, test\) is for the role .+"),
            ("role = 'owner'", "invitation inv_.+ is for the role owner, with the caps '.*'"),
            ("role = 'viewer', caps = 'USD:5'", "invitation inv_.+ is for the role viewer, with the caps 'USD:5'"),
        )
    ),
    *(
        (
            "a business counts who works there and who was invited",
            f"UPDATE counter SET last = 7 WHERE name = '{name}'",
            f"the counter '{name}' stands at 7, and there are {times}",
        )
        for name, times in (
            (f"members of account {NAMES['shop']}", 2),
            (f"invitations of account {NAMES['shop']}", 1),
        )
    ),
    *(
        (
            "a webhook endpoint has its queue until it is removed",
            sql,
            f"webhook endpoint {named}",
        )
        for sql, named in (
            *(
                (
                    f"DELETE FROM webhook_queue WHERE endpoint = '{endpoint}'",
                    f"{endpoint} of account .+ is {state}, and its queue is of account nothing",
                )
                for endpoint, state in (("we_1", "enabled"), ("we_paused", "paused"), ("we_test", "stopped"))
            ),
            (
                "UPDATE webhook_queue SET account = :shop WHERE endpoint = 'we_1'",
                "we_1 of account {hooked} is enabled, and its queue is of account {shop}",
            ),
            (
                "UPDATE webhook_queue SET endpoint = 'we_gone' WHERE endpoint = 'we_paused'",
                "we_gone of account {hooked} is removed, and its queue is of account {hooked}",
            ),
        )
    ),
    *(
        (
            "a webhook queue stands within its log",
            f"UPDATE webhook_queue SET {change} WHERE endpoint = 'we_1'",
            f"the queue of webhook endpoint we_1 of account .+ goes on with event {named}",
        )
        for change, named in (
            ("next = 8", "8 and replays to 4, the last event is 6"),
            ("account = :other", "6 and replays to 4, the last event is nothing"),
            ("replay_until = 6", "6 and replays to 6, the last event is 6"),
        )
    ),
    *(
        ("a delivery is of an event of its endpoint's account", sql, f"the delivery of event {named} is of no event")
        for sql, named in (
            (
                "UPDATE webhook_delivery SET sequence = 7 WHERE endpoint = 'we_1' AND sequence = 1",
                "7 to webhook endpoint we_1 of account {hooked}",
            ),
            (
                "UPDATE webhook_endpoint SET account = :other WHERE id = 'we_1'",
                "1 to webhook endpoint we_1 of account {other}",
            ),
            (
                "DELETE FROM event WHERE account = :hooked AND sequence = 1",
                "1 to webhook endpoint we_gone of account {hooked}",
            ),
            (
                "UPDATE webhook_delivery SET endpoint = 'we_404' WHERE endpoint = 'we_test'",
                "1 to webhook endpoint we_404 of account nothing",
            ),
        )
    ),
    *(
        (
            "a total is the balance that its last transfer left",
            f"UPDATE account_total SET {change} WHERE account = :shop AND currency = 'USD'",
            f"the total of account {{shop}} in USD for quarter hour \\d+ is {named}",
        )
        for change, named in (
            ("taken = taken + 5", "305 after 1 transfers, the last of them left 300"),
            ("sequence = 2", "300 after 2 transfers, the last of them left 500"),
            ("sequence = 9", "300 after 9 transfers, the last of them left nothing"),
        )
    ),
    *(
        (
            "a total has all transfers up to its quarter hour, each in its place",
            sql,
            "the total of account {shop} in EUR for quarter hour \\d+ is not the sum of its first \\d+ transfers",
        )
        for sql in (
            f"UPDATE account_total SET {_OF_EUROS}".format("paid_in = 1, taken = taken - 1"),
            f"UPDATE account_total SET {_OF_EUROS}".format("taken_count = taken_count - 1"),
            f"UPDATE account_total SET {_OF_EUROS}".format("quarter = quarter + 1"),
            f"UPDATE account_total SET {_OF_EUROS}".format("sequence = 99"),
            # It says that it has all of a quarter hour, and the next row has the rest of it.
            f"""INSERT INTO account_total SELECT account, currency, quarter + 1, {_REST} FROM account_total
                WHERE account = :shop AND currency = 'EUR';
            UPDATE account_total SET sequence = 1, taken = 400, taken_count = 1, refunded = 0, refunded_count = 0
            WHERE account = :shop AND currency = 'EUR'
                AND quarter = (SELECT min(quarter) FROM account_total WHERE account = :shop AND currency = 'EUR')""",
        )
    ),
    *(
        ("a stop and its end are in the audit log", sql, f"stop {named}")
        for sql, named in (
            ("INSERT INTO stop VALUES (2, 1, 'by hand', 2, 'nobody')", "2, lifted by nobody, is not .+: by hand"),
            ("UPDATE stop SET at = at - 1", "1, lifted by test, .+"),
            ("UPDATE stop SET reason = 'x'", "1, .+: x"),
            ("UPDATE stop SET lifted_at = lifted_at + 1", "1, lifted by test, .+"),
            ("UPDATE stop SET lifted_by = 'x'", "1, lifted by x, .+"),
        )
    ),
]


def silence(_: Invariant) -> None:
    pass


def violations(hand: Hand) -> list[Violation]:
    return check(hand.type, silence)


def test_a_good_database_breaks_no_invariant(any_hand: Hand) -> None:
    assert violations(any_hand) == []
    any_hand.disarm()
    assert violations(any_hand) == []


def test_each_broken_row_is_named_by_its_invariant(subtests: pytest.Subtests, any_hand: Hand) -> None:
    any_hand.disarm()
    invariants = {invariant.name: invariant for invariant in ALL}
    for name, sql, named in BROKEN:
        with subtests.test(f"{name}: {sql}"), any_hand.tentative():
            any_hand.type(sql)
            found = [violation.sentence for violation in violations_of(invariants[name], any_hand.type)]
            assert any(re.fullmatch(named.format(**NAMES), sentence) for sentence in found), found


def test_what_may_be_breaks_no_invariant(subtests: pytest.Subtests, any_hand: Hand) -> None:
    any_hand.disarm()
    for name, sql in NOT_BROKEN.items():
        with subtests.test(name), any_hand.tentative():
            any_hand.type(sql)
            assert violations(any_hand) == []


def test_every_invariant_has_a_row_that_breaks_it() -> None:
    assert {name for name, _, _ in BROKEN} == {invariant.name for invariant in ALL}
    assert len({invariant.name for invariant in ALL}) == len(ALL)


def test_progress_is_told_of_every_invariant_in_turn(any_hand: Hand) -> None:
    told: list[Invariant] = []
    check(any_hand.type, told.append)
    assert told == list(ALL)


def test_of_many_broken_rows_the_first_are_named_and_the_rest_are_mentioned(any_hand: Hand) -> None:
    any_hand.disarm()
    rows = ", ".join(f"({number}, 1)" for number in range(100))
    any_hand.type(f"INSERT INTO event_counter VALUES {rows}")
    found = [violation for violation in violations(any_hand) if violation.name.startswith("an event counter")]
    assert len(found) == ROWS_NAMED_MAX + 1
    assert found[-1].sentence == f"and more than these {ROWS_NAMED_MAX}"


def test_an_engine_may_hand_out_its_rows_one_by_one() -> None:
    taken = []

    def select(_sql: str) -> Iterable[tuple[Any, ...]]:
        for number in range(1000):
            taken.append(number)
            yield ("USD", number)

    found = violations_of(ALL[0], select)
    assert len(found) == ROWS_NAMED_MAX + 1
    assert len(taken) == ROWS_NAMED_MAX + 1


def test_what_moved_through_an_account_may_exceed_64_bits(any_hand: Hand) -> None:
    """The sums of a busy account pass the limits of an integer on the way to a small balance."""
    any_hand.disarm()
    rounds = 2 * (2**63 // AMOUNT_MAX)
    any_hand.type(
        f"""WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {rounds} - 1)
        INSERT INTO transfer (kind, debit, credit, currency, amount, debit_sequence, debit_balance, credit_sequence,
            credit_balance, payment, bank_order, reverses, created_at)
        SELECT 'fee', CASE WHEN i % 2 = 1 THEN :till ELSE :test_customer END,
            CASE WHEN i % 2 = 1 THEN :test_customer ELSE :till END, 'EUR', {AMOUNT_MAX},
            i + 2 - i % 2, 0, i + 1 + i % 2, {AMOUNT_MAX}, :tested, NULL, NULL, 1 FROM n;
        INSERT INTO balance VALUES (:till, 'EUR', 0, {rounds}, FALSE, 0);
        UPDATE balance SET sequence = {rounds} + 1 WHERE account = :test_customer AND currency = 'EUR'"""
    )
    assert rounds // 2 * AMOUNT_MAX > 2**63 - AMOUNT_MAX
    assert {violation.name for violation in violations(any_hand)} == {"money moves only as commands move it"}
