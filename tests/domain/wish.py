"""Random batches of commands over the people of one small market, as Hypothesis strategies."""

import itertools
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from qirsh.domain.batch import Answer, Submission
from qirsh.domain.business import Business
from qirsh.domain.command import Command
from qirsh.domain.commands.account import (
    IssueKey,
    MoveAccount,
    OpenHouseAccount,
    RequestCommercial,
    RevokeKey,
    RotateKey,
    TellKeyEnd,
)
from qirsh.domain.commands.idempotency import ForgetStoredResponses
from qirsh.domain.commands.ledger_check import RecordLedgerChecks
from qirsh.domain.commands.login_credentials import ChangePin
from qirsh.domain.commands.operator_session import CloseOperatorSession, OpenOperatorSession
from qirsh.domain.commands.payment import CancelPayment, CreatePayment, ExpirePayment, Pay
from qirsh.domain.commands.payment_attempt import ForgetAttempts, RecordAttempts
from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.refund import RefundPayment
from qirsh.domain.commands.request_log import ForgetRequests, RecordRequests
from qirsh.domain.commands.session import CloseSession, OpenSession
from qirsh.domain.commands.test_mode import ExpireAsTest, PayAsTest
from qirsh.domain.commands.total import FollowTotals, ForgetTotals, RecordTotals
from qirsh.domain.commands.webhook import CreateWebhookEndpoint
from qirsh.domain.idempotency import IdempotencyKey
from qirsh.domain.ledger_check import LedgerSum, Looked
from qirsh.domain.limits import IDEMPOTENCY_FORGOTTEN_MS, IDEMPOTENCY_KEPT_MS
from qirsh.domain.payment_attempt import FailedAttempt
from qirsh.domain.payment_index import PaymentWord
from qirsh.domain.person import Person
from qirsh.domain.proposal import PROPOSAL_MS
from qirsh.domain.total import fold
from qirsh.domain.unit_of_work import UnitOfWork
from tests.domain.bank_wish import about_bank, settle_bank
from tests.domain.market import HELD, PIN, WRONG_PIN, Market
from tests.domain.note_cases import about_notes
from tests.domain.people_wish import Town, about_people, letter_id, settle
from tests.domain.proposal_wish import Office, about_operators, money_forms
from tests.domain.request_cases import logged
from tests.domain.staff_wish import about_staff, settle_staff
from tests.domain.totals import holdings, moves_of, totals_of
from tests.domain.webhook_wish import about_webhooks, endpoint_id, settle_webhooks


def _seed() -> Market:
    market = Market()
    market.create(amount=HELD)
    market.create(amount=HELD, currency="EUR")
    market.create(merchant=market.till, amount=HELD)
    market.create(amount=HELD, expires_in_ms=1000)
    # Paid, so that refunds find something to give back.
    market.buy(amount=HELD // 2, currency="EUR")
    market.do(market.pay_as_test(market.create(merchant=market.till, amount=HELD)))
    market.do(money_forms(market)[0].ask(market.first.id))
    settle(market)
    settle_webhooks(market)
    settle_staff(market)
    settle_bank(market)
    return market


SEED: Final = _seed()
# Those of the market, and those that are opened next.
ACCOUNTS: Final = [SEED.identifiers.account_number(ordinal) for ordinal in range(1, len(SEED.accounts) + 8)]
PEOPLE: Final = range(1, len(SEED.people) + 3)
PAYERS: Final = [
    (SEED.customer.id, SEED.customer.account),
    (SEED.other.id, SEED.other.account),
    (SEED.owner.id, SEED.owner.account),
    (SEED.owner.id, SEED.test_customer),
]
# Who has no business to pay from there.
THIEVES: Final = [
    (SEED.other.id, SEED.customer.account),
    (SEED.customer.id, SEED.house),
    (SEED.owner.id, SEED.mint),
    (SEED.owner.id, SEED.till),
]
BATCH: Final = 12
OPERATORS: Final = (SEED.first.id, SEED.second.id)

accounts = st.sampled_from(ACCOUNTS)
merchants = st.sampled_from([*[SEED.shop] * 6, *[SEED.till] * 4, *ACCOUNTS[len(SEED.accounts) :][:5]])
NEXT: Final = max(SEED.payments) + 1
payments = st.integers(1, 4) | st.sampled_from([*range(1, 7), NEXT, NEXT + 1])
paid_payments = st.sampled_from([5, 5, 5, 6, 6]) | payments
amounts = st.sampled_from([1, HELD // 2, HELD, HELD])
currencies = st.sampled_from(["USD", "EUR"])
urls = st.sampled_from([None, None, "https://shop.example/back", "https://evil.example/back"])
emails = st.sampled_from(["customer@example.com", "new@example.com", "newer@example.com"])
actor = st.just("test")

creates = st.builds(
    CreatePayment,
    merchant=merchants,
    amount=amounts,
    currency=currencies,
    note=st.just(""),
    metadata=st.just("{}"),
    reference=st.none(),
    return_url=urls,
    cancel_url=st.none(),
    expires_in_ms=st.sampled_from([1000, 3_600_000]),
)
pays = st.builds(
    lambda payment, payer, macs: Pay(payment=payment, person=payer[0], payer=payer[1], pin_macs=macs),
    payments,
    st.sampled_from([*PAYERS * 4, *THIEVES]),
    st.sampled_from([(PIN,), (PIN,), (WRONG_PIN,)]),
)
refunds = st.builds(
    RefundPayment,
    id=st.just(""),
    payment=paid_payments,
    merchant=merchants,
    amount=st.sampled_from([None, 1, HELD // 4, HELD // 4, HELD // 2, HELD]),
)
# Of one test account: who names another has a fault, and no refusal.
test_pays = st.builds(
    PayAsTest,
    payment=payments | st.just(3),
    merchant=st.sampled_from([SEED.till, SEED.till, SEED.till, SEED.shop]),
    payer=st.just(SEED.test_customer),
    mint=st.just(SEED.mint),
    has_funds=st.sampled_from([True, True, False]),
)
test_expires = st.builds(ExpireAsTest, payment=payments | st.just(3), merchant=merchants)
indexes = st.integers(0, 5).map(
    lambda done: IndexPayments(
        block=1,
        after=done,
        until=done + 1,
        words=(PaymentWord(SEED.shop, "v", SEED.now, done + 1),),
    )
)
# Those that the seed's transfers make, a few at a time, so that they are true whatever else happens.
_TOTALS: Final = [
    RecordTotals(last, tuple(fold(*key, last, moves_of(SEED, *key)[last.sequence if last else 0 : until])))
    for key in holdings(SEED)
    for count in range(len(moves_of(SEED, *key)))
    for last in (totals_of(SEED, *key, count)[-1] if count else None,)
    for until in range(count + 1, len(moves_of(SEED, *key)) + 1)
]
totals = (
    st.sampled_from(_TOTALS)
    | st.sampled_from([ForgetTotals(*key, (totals_of(SEED, *key)[-1].quarter,)) for key in holdings(SEED)])
    | st.integers(0, 2).map(lambda after: FollowTotals(after, after + 1))
)
cancels = st.builds(CancelPayment, payment=payments, merchant=merchants)
expires = st.builds(ExpirePayment, payment=payments)
people = (
    st.builds(AddPerson, email=emails, name=st.just("New"), password_hash=st.just("-"), actor=actor)
    | st.builds(
        ChangePin,
        person=st.sampled_from(PEOPLE),
        pin_mac=st.sampled_from([PIN, b"new"]),
        actor=actor,
        old_macs=st.sampled_from([(PIN,), (PIN, b"new"), (b"new",), ()]),
    )
    | st.builds(
        OpenSession,
        hash=st.just(b""),
        person=st.just(SEED.customer.id),
        account=st.just(SEED.customer.account),
        actor=actor,
    )
    | st.builds(CloseSession, hash=st.integers(0, 30).map(lambda serial: b"%032d" % serial), actor=actor)
    | st.builds(
        lambda operator, step: OpenOperatorSession(
            hash=b"",
            person=operator,
            operator=operator,
            actor="test",
            address="192.0.2.7",
            email=next(login.email for login in SEED.logins.values() if login.person == operator),
            totp_step=step,
        ),
        st.sampled_from(OPERATORS),
        st.integers(0, 60),
    )
    | st.builds(
        CloseOperatorSession,
        person=st.sampled_from(OPERATORS),
        hash=st.integers(0, 30).map(lambda serial: b"%032d" % serial),
        actor=actor,
    )
    | st.builds(OpenHouseAccount, name=st.just(""))
    | st.builds(RequestCommercial, personal=accounts, name=st.just("Shop"), return_origins=st.just(""), actor=actor)
    | st.builds(
        MoveAccount,
        account=accounts,
        to=st.sampled_from(["verified", "approved", "rejected", "suspended"]),
        operator=st.sampled_from(OPERATORS),
        reason=st.just(""),
        actor=actor,
    )
    | st.builds(
        IssueKey,
        id=st.just(""),
        account=accounts,
        hash=st.just(b""),
        hint=st.just(""),
        name=st.just(""),
        scopes=st.just(""),
        expires_at=st.none(),
        actor=actor,
    )
    | st.builds(
        RotateKey,
        id=st.just(""),
        account=accounts,
        old=st.integers(0, 30).map(str),
        hash=st.just(b""),
        hint=st.just(""),
        overlap_ms=st.sampled_from([0, 1000]),
        actor=actor,
        member=st.just(SEED.owner.id),
    )
    | st.builds(TellKeyEnd, id=st.integers(0, 30).map(str), letters=st.just(()))
    | st.builds(RevokeKey, id=st.integers(0, 30).map(str), actor=actor)
)
# `one_of` takes no weights: a strategy that is named twice is still drawn as often as the others.
KEYS: Final = "abcdef"
# Most are asked about all keys, since few are forgotten.
forgets = st.sampled_from([KEYS, KEYS, KEYS[:2], ""]).map(
    lambda keys: ForgetStoredResponses(tuple((SEED.shop, key) for key in keys))
)
requests = st.lists(st.sampled_from("abcd"), unique=True, max_size=3).map(
    lambda ids: RecordRequests(tuple(logged(f"req_{each}") for each in ids))
)
forgotten_requests = st.sampled_from([("req_a", "req_b"), ("req_c",)]).map(ForgetRequests)
attempts = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 2)), max_size=4).map(
    lambda drawn: RecordAttempts(tuple(FailedAttempt(f"pa_{each}", payment, 1, "other") for each, payment in drawn))
)
forgotten_attempts = st.lists(st.tuples(st.integers(1, 2), st.integers(1, 4)), unique=True, max_size=3).map(
    lambda keys: ForgetAttempts(tuple(keys))
)
looks = st.builds(Looked, name=st.sampled_from("ab"), is_whole=st.booleans(), finding=st.sampled_from(["", "wrong"]))
checks = st.lists(looks, max_size=2, unique_by=lambda look: look.name).map(
    lambda drawn: RecordLedgerChecks(tuple(drawn), (LedgerSum("live", "house", "USD", -len(drawn), 0, 1, 0),))
)
RARE: Final = [
    attempts,
    forgotten_attempts,
    requests,
    forgotten_requests,
    cancels,
    expires,
    test_expires,
    indexes,
    totals,
    forgets,
    checks,
]
MOST: Final = [creates] * 3 + [pays] * 8 + [refunds] * 6 + [test_pays] * 2 + RARE + [people] * 6
TOWN: Final = Town(SEED)
OFFICE: Final = Office(SEED)
OTHERS: Final = about_webhooks(SEED) * 2 + about_staff(SEED) + about_notes(SEED) + about_bank(SEED)
ALL: Final = MOST + about_people(TOWN) + about_operators(OFFICE) + OTHERS
wishes = st.integers(0, len(ALL) - 1).flatmap(ALL.__getitem__)
onces = st.none() | st.builds(
    IdempotencyKey, account=st.just(SEED.shop), key=st.sampled_from(KEYS), fingerprint=st.sampled_from([b"1", b"2"])
)
singles = st.tuples(wishes, onces).map(lambda drawn: [drawn])
stories = [story.map(lambda told: [(wish, None) for wish in told]) for story in (TOWN.stories(), OFFICE.stories())]
context: st.SearchStrategy[Any] = st.integers(0, 9).flatmap(lambda number: [*stories, *[singles] * 8][number])
# How long after the batch before, and the batch.
batches = st.lists(
    st.tuples(
        st.sampled_from(
            [*[0] * 12, 1, 999, 1000, 3_600_000, IDEMPOTENCY_KEPT_MS, IDEMPOTENCY_FORGOTTEN_MS, PROPOSAL_MS]
        ),
        st.lists(context, min_size=1, max_size=BATCH).map(lambda drawn: [*itertools.chain(*drawn)][:BATCH]),
    ),
    min_size=1,
    max_size=6,
).map(lambda drawn: [(pause, submissions(number, batch)) for number, (pause, batch) in enumerate(drawn)])


def render(outcome: Any, _work: UnitOfWork) -> Answer:  # noqa: ANN401 - each command has its own kind of outcome
    """An answer that shows all of what came out."""
    if type(outcome) is Person:
        # SQLite has no booleans, and gives back a 1 that is as good as True but is not written so.
        outcome = msgspec.structs.replace(outcome, has_notices=bool(outcome.has_notices))
    elif type(outcome) is Business:
        outcome = msgspec.structs.replace(outcome, needs_two_step=bool(outcome.needs_two_step))
    return Answer(200, repr(outcome).encode())


def submissions(batch_number: int, batch: list[tuple[Command[Any], IdempotencyKey | None]]) -> list[Submission]:
    """As a face submits them: what it makes from fresh randomness is never the same twice."""
    found = []
    for place, (wish, once) in enumerate(batch):
        serial = BATCH * batch_number + place
        command: Command[Any] = wish
        if isinstance(wish, IssueKey | RotateKey):
            command = msgspec.structs.replace(wish, id=str(serial), hash=b"%032d" % serial)
        elif isinstance(wish, OpenSession | OpenOperatorSession):
            command = msgspec.structs.replace(wish, hash=b"%032d" % serial)
        elif isinstance(wish, RefundPayment):
            command = msgspec.structs.replace(wish, id=f"re_of_{serial}")
        elif isinstance(wish, CreateWebhookEndpoint):
            command = msgspec.structs.replace(wish, id=endpoint_id(serial))
        elif isinstance(wish, OpenHouseAccount):
            command = msgspec.structs.replace(wish, name=f"house {serial}")
        if getattr(command, "letters", ()):
            [letter] = command.letters  # type: ignore[attr-defined]  # It has some.
            letter = msgspec.structs.replace(letter, id=letter_id(serial))
            command = msgspec.structs.replace(command, letters=(letter,))
        found.append(Submission(command, once, render if once or serial % 2 else None))
    return found
