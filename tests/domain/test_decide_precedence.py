"""Every command and every way to refuse it; when two reasons hold at once, the first of the list is named."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from qirsh.domain import counter
from qirsh.domain.batch import Submission
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
from qirsh.domain.commands.audit_log import RecordAuditExport, RecordCheck, RecordShopExport
from qirsh.domain.commands.constant import FixConstant
from qirsh.domain.commands.idempotency import ForgetStoredResponses
from qirsh.domain.commands.lease import HoldLease
from qirsh.domain.commands.ledger_check import RecordLedgerChecks
from qirsh.domain.commands.login_credentials import ChangePin
from qirsh.domain.commands.payment import CancelPayment, CreatePayment, ExpirePayment, Pay
from qirsh.domain.commands.payment_attempt import ForgetAttempts, RecordAttempts
from qirsh.domain.commands.payment_index import IndexPayments
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal, EditProposal, EndProposal
from qirsh.domain.commands.refund import RefundForShop, RefundPayment
from qirsh.domain.commands.request_log import ForgetRequests, RecordRequests
from qirsh.domain.commands.reseal import Reseal
from qirsh.domain.commands.restore import RecordRestore
from qirsh.domain.commands.seal import SealEntries
from qirsh.domain.commands.session import CloseSession, OpenSession
from qirsh.domain.commands.shop_message import ReadShopMessages
from qirsh.domain.commands.staff import SetStaffPolicy
from qirsh.domain.commands.staff_payment import RefundPaymentByHand
from qirsh.domain.commands.statement import AnnounceStatement
from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.commands.test_mode import ExpireAsTest, PayAsTest
from qirsh.domain.commands.total import FollowTotals, ForgetTotals, RecordTotals
from qirsh.domain.commands.webhook import CreateWebhookEndpoint
from qirsh.domain.counter import Counter
from qirsh.domain.decide import RULES
from qirsh.domain.idempotency import IdempotencyKey, StoredResponse
from qirsh.domain.ledger import Balance
from qirsh.domain.ledger_check import Looked
from qirsh.domain.limits import BALANCE_MAX, BUSINESSES_MAX, KEYS_MAX, PIN_ATTEMPTS_MAX
from qirsh.domain.payment_attempt import FailedAttempt
from qirsh.domain.refusal import Refusal
from qirsh.domain.rules.proposal import PROPOSED
from qirsh.domain.seal import NOTHING
from qirsh.domain.stop import Stop
from tests.domain.bank_cases import BANK_CASES
from tests.domain.brand_cases import BRAND_CASES
from tests.domain.market import NOBODY, PIN, WRONG_PIN, Market
from tests.domain.note_cases import NOTE_CASES
from tests.domain.operator_cases import OPERATOR_CASES
from tests.domain.people_cases import PEOPLE_CASES
from tests.domain.proposal_cases import PROPOSAL_CASES
from tests.domain.restore_cases import restoring
from tests.domain.staff_cases import STAFF_CASES, member_of
from tests.domain.totals import totals_of
from tests.domain.webhook_cases import WEBHOOK_CASES
from tests.each import each


class Case:
    """A command that will be carried out, unless something about it is spoiled first."""

    def __init__(self, prepare: Callable[[Market], Command[Any]]) -> None:
        self.market: Market = Market()
        self.command: Any = prepare(self.market)
        self.once: IdempotencyKey | None = None

    def ask(self, **changes: object) -> None:
        """Ask for something else."""
        self.command = msgspec.structs.replace(self.command, **changes)

    def account(self, number: int, **changes: object) -> None:
        self.market.change("accounts", number, **changes)

    def payment(self, **changes: object) -> None:
        self.market.change("payments", self.command.payment, **changes)

    def hold(self, account: int, amount: int) -> None:
        is_house = self.market.accounts[account].kind == "house"
        self.market.balances[account, "USD"] = Balance(account, "USD", amount, 9, is_house)

    def of_the_live_shop(self) -> None:
        self.payment(merchant=self.market.shop)
        self.ask(merchant=self.market.shop)

    def fill(self, counter: str, count: int) -> None:
        self.market.counters[counter] = Counter(counter, count)

    def stop_money(self) -> None:
        self.market.stops[1] = Stop(1, self.market.now, "balances in USD sum to 1, not to zero")

    def end_time(self) -> None:
        self.market.now = self.market.payments[self.command.payment].expires_at

    def reuse_key(self) -> None:
        self.once = IdempotencyKey(self.market.shop, "key", b"this request")
        self.market.stored_responses[self.market.shop, "key"] = StoredResponse(
            self.market.shop, "key", b"another request", 201, b"{}", self.market.now
        )

    def suspend_operator(self) -> None:
        """Whoever acts. Where an operator need not, the first one does."""
        operator = self.command.operator or self.market.first.id
        self.ask(operator=operator)
        self.account(self.market.people[operator].account, state="suspended")

    def take_roles(self) -> None:
        """From whoever acts, in the same way."""
        operator = self.command.operator or self.market.first.id
        self.ask(operator=operator)
        self.market.change("operators", operator, roles="")

    def let_viewer_ask(self, field: str = "member") -> None:
        """Somebody works at the shop, and may look only."""
        shop, viewer = self.market.shop, self.market.first.id
        self.market.members[shop, viewer] = member_of(self.market, self.market.first, "viewer")
        self.ask(**{field: viewer})

    def submission(self) -> Submission:
        return Submission(self.command, self.once)


Spoil = Callable[[Case], object]
R = Refusal

# In each table the spoilers that choose other people or accounts come first, and those that point to nothing last,
# so that any two of them can be applied in this order.
# A command about proposals has a case for each command that a proposal holds.
Key = type[Command[Any]] | tuple[type[Command[Any]], type[Command[Any]]]
CASES: Final[dict[Any, tuple[Callable[[Market], Command[Any]], dict[Refusal, Spoil]]]] = {
    CreatePayment: (
        lambda market: CreatePayment(
            merchant=market.shop,
            amount=100,
            currency="USD",
            return_url="https://shop.example/back",
            cancel_url="https://shop.example/gone",
        ),
        {
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
            R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="requested"),
            R.URL_NOT_REGISTERED: lambda case: case.ask(return_url="https://evil.example/back"),
            R.NOT_FOUND: lambda case: case.ask(merchant=NOBODY),
        },
    ),
    Pay: (
        lambda market: market.pay(market.create()),
        {
            R.SAME_ACCOUNT: lambda case: case.ask(person=case.market.owner.id, payer=case.market.owner.account),
            R.TEST_AND_LIVE: lambda case: case.payment(merchant=case.market.till),
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.command.payer, state="suspended"),
            R.NOT_VERIFIED: lambda case: case.account(case.command.payer, state="unverified"),
            R.ALREADY_PAID: lambda case: case.payment(status="paid"),
            R.CANCELLED: lambda case: case.payment(status="cancelled"),
            R.EXPIRED: lambda case: case.end_time(),
            R.MERCHANT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
            R.PIN_LOCKED: lambda case: case.market.change("pins", case.command.person, failures=PIN_ATTEMPTS_MAX),
            R.WRONG_PIN: lambda case: case.ask(pin_macs=(WRONG_PIN,)),
            R.INSUFFICIENT_FUNDS: lambda case: case.hold(case.command.payer, 99),
            R.BALANCE_LIMIT: lambda case: case.hold(
                case.market.payments[case.command.payment].merchant, BALANCE_MAX - 99
            ),
            R.NOT_FOUND: lambda case: case.ask(payment=NOBODY),
            R.MONEY_STOPPED: lambda case: case.stop_money(),
        },
    ),
    CancelPayment: (
        lambda market: CancelPayment(payment=market.create().number, merchant=market.shop),
        {
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
            R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="rejected"),
            R.ALREADY_PAID: lambda case: case.payment(status="paid"),
            R.CANCELLED: lambda case: case.payment(status="cancelled"),
            R.EXPIRED: lambda case: case.end_time(),
            R.NOT_FOUND: lambda case: case.ask(payment=NOBODY),
        },
    ),
    RefundPayment: (
        lambda market: market.refund(market.buy(), amount=100),
        {
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
            R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="rejected"),
            R.NOT_PAID: lambda case: case.payment(status="pending", payer=None),
            R.CANCELLED: lambda case: case.payment(status="cancelled", payer=None),
            R.EXPIRED: lambda case: case.payment(status="expired", payer=None),
            R.REFUND_EXCEEDS: lambda case: case.ask(amount=101),
            R.TOO_MANY_REFUNDS: lambda case: case.payment(version=22),
            R.PAYER_CLOSED: lambda case: case.account(case.market.customer.account, state="closed"),
            R.MERCHANT_BALANCE_SHORT: lambda case: case.hold(case.market.shop, 99),
            R.BALANCE_LIMIT: lambda case: case.hold(case.market.customer.account, BALANCE_MAX - 99),
            R.NOT_FOUND: lambda case: case.ask(payment=NOBODY),
            R.MONEY_STOPPED: lambda case: case.stop_money(),
        },
    ),
    PayAsTest: (
        lambda market: market.pay_as_test(market.create(merchant=market.till)),
        {
            R.TEST_AND_LIVE: lambda case: case.of_the_live_shop(),
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
            R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="rejected"),
            R.ALREADY_PAID: lambda case: case.payment(status="paid"),
            R.CANCELLED: lambda case: case.payment(status="cancelled"),
            R.EXPIRED: lambda case: case.end_time(),
            R.INSUFFICIENT_FUNDS: lambda case: case.ask(has_funds=False),
            R.BALANCE_LIMIT: lambda case: case.hold(case.command.merchant, BALANCE_MAX - 99),
            R.NOT_FOUND: lambda case: case.ask(payment=NOBODY),
            R.MONEY_STOPPED: lambda case: case.stop_money(),
        },
    ),
    ExpireAsTest: (
        lambda market: ExpireAsTest(payment=market.create(merchant=market.till).number, merchant=market.till),
        {
            R.TEST_AND_LIVE: lambda case: case.of_the_live_shop(),
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
            R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="rejected"),
            R.ALREADY_PAID: lambda case: case.payment(status="paid"),
            R.CANCELLED: lambda case: case.payment(status="cancelled"),
            R.EXPIRED: lambda case: case.payment(status="expired"),
            R.NOT_FOUND: lambda case: case.ask(payment=NOBODY),
        },
    ),
    ExpirePayment: (
        lambda market: ExpirePayment(payment=_create_and_wait(market)),
        {
            R.ALREADY_PAID: lambda case: case.payment(status="paid"),
            R.CANCELLED: lambda case: case.payment(status="cancelled"),
            R.EXPIRED: lambda case: case.payment(status="expired"),
            R.NOT_EXPIRED: lambda case: case.payment(expires_at=case.market.now + 1),
            R.NOT_FOUND: lambda case: case.ask(payment=NOBODY),
        },
    ),
    AddPerson: (
        lambda _: AddPerson(email="new@example.com", name="New", password_hash="-", actor="test"),
        {R.EMAIL_TAKEN: lambda case: case.ask(email="customer@example.com")},
    ),
    ChangePin: (
        lambda market: ChangePin(person=market.customer.id, pin_mac=b"new", actor="test", old_macs=(PIN,)),
        {
            R.PIN_LOCKED: lambda case: case.market.change("pins", case.command.person, failures=PIN_ATTEMPTS_MAX),
            R.WRONG_PIN: lambda case: case.ask(old_macs=(WRONG_PIN,)),
            R.NOT_FOUND: lambda case: case.ask(person=NOBODY),
        },
    ),
    OpenSession: (
        lambda market: OpenSession(
            hash=bytes(32), person=market.customer.id, account=market.customer.account, actor="test"
        ),
        {
            R.CODE_NOT_VALID: lambda case: case.ask(email="customer@example.com", recovery_hash=b"unknown"),
            R.PASSKEY_NOT_VALID: lambda case: case.ask(passkey=b"unknown"),
            R.SIGN_IN_BLOCKED: lambda case: case.market.change("people", case.market.customer.id, blocked_at=1),
            R.NOT_FOUND: lambda case: case.ask(person=NOBODY),
        },
    ),
    CloseSession: (
        lambda market: CloseSession(hash=_sign_in(market), actor="test"),
        {R.NOT_FOUND: lambda case: case.ask(hash=b"unknown")},
    ),
    OpenHouseAccount: (lambda _: OpenHouseAccount(name="second bank"), {}),
    RequestCommercial: (
        lambda market: RequestCommercial(
            personal=market.customer.account, name="Shop", return_origins="", actor="test"
        ),
        {
            R.TOO_MANY: lambda case: case.fill(counter.businesses(case.market.customer.account), BUSINESSES_MAX),
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.command.personal, state="closed"),
            R.NOT_VERIFIED: lambda case: case.account(case.command.personal, state="unverified"),
            R.NOT_FOUND: lambda case: case.ask(personal=case.market.shop),
        },
    ),
    MoveAccount: (
        lambda market: MoveAccount(
            account=market.request_shop(market.owner),
            to="approved",
            operator=market.first.id,
            reason="",
            actor="test",
        ),
        {
            R.OWN_REQUEST: lambda case: case.account(case.command.account, owner=case.market.first.id),
            R.MOVE_NOT_ALLOWED: lambda case: case.ask(to="closed"),
            R.NOT_FOUND: lambda case: case.ask(account=NOBODY),
        },
    ),
    IssueKey: (
        lambda market: IssueKey(
            id="key",
            account=market.shop,
            hash=bytes(32),
            hint="hint",
            name="",
            scopes="",
            expires_at=None,
            actor="test",
            member=market.accounts[market.shop].owner,
        ),
        {
            R.MOVE_NOT_ALLOWED: lambda case: _issue(case.market),
            R.TOO_MANY: lambda case: case.fill(counter.api_keys(case.market.shop), KEYS_MAX),
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
            R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="requested"),
            R.NOT_FOUND: lambda case: case.ask(account=case.market.customer.account),
        },
    ),
    RotateKey: (
        lambda market: RotateKey(
            id="new",
            account=market.shop,
            old=_issue(market),
            hash=bytes(31) + b"n",
            hint="hint",
            overlap_ms=1,
            actor="test",
            member=market.owner.id,
        ),
        {
            R.MOVE_NOT_ALLOWED: lambda case: case.market.change("api_keys", case.command.old, revoked_at=1),
            R.TOO_MANY: lambda case: case.fill(counter.api_keys(case.market.shop), KEYS_MAX),
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
            R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="requested"),
            R.NOT_FOUND: lambda case: case.ask(account=case.market.customer.account),
        },
    ),
    RevokeKey: (
        lambda market: RevokeKey(id=_issue(market), actor="test", account=market.shop),
        {R.NOT_FOUND: lambda case: case.ask(id="unknown")},
    ),
    # Nothing refuses these: another's lease, value or work is an outcome.
    RecordTotals: (lambda market: RecordTotals(None, tuple(totals_of(market, market.shop, "USD"))), {}),
    ForgetTotals: (lambda market: ForgetTotals(market.shop, "USD", (1,)), {}),
    FollowTotals: (lambda _: FollowTotals(0, 1), {}),
    IndexPayments: (lambda _: IndexPayments(block=1, after=0, until=1, words=()), {}),
    RecordRequests: (lambda _: RecordRequests(()), {}),
    RecordAttempts: (lambda _: RecordAttempts((FailedAttempt("pa_1", 1, 1, "other"),)), {}),
    ForgetAttempts: (lambda _: ForgetAttempts(((1, 1),)), {}),
    ForgetRequests: (lambda _: ForgetRequests(("req_1",)), {}),
    TellKeyEnd: (lambda _: TellKeyEnd("key", ()), {}),
    AnnounceStatement: (lambda market: AnnounceStatement(market.shop, 202611, ()), {}),
    HoldLease: (lambda _: HoldLease("sweeper", "a process", 1000), {}),
    FixConstant: (lambda _: FixConstant("colour", b"blue"), {}),
    ForgetStoredResponses: (lambda market: ForgetStoredResponses(((market.shop, "key"),)), {}),
    Reseal: (lambda _: Reseal("constant", "secret_check", b"old", b"new"), {}),
    SealEntries: (lambda _: SealEntries(1, NOTHING, ()), {}),
    RecordRestore: (restoring, {}),
    StopMoney: (lambda _: StopMoney(1, "a sum is wrong", "test"), {}),
    RecordCheck: (lambda _: RecordCheck("test", "no violations"), {}),
    RecordAuditExport: (lambda _: RecordAuditExport("all entries", "test"), {}),
    RecordLedgerChecks: (lambda _: RecordLedgerChecks((Looked("a rule"),)), {}),
    **PEOPLE_CASES,
    **OPERATOR_CASES,
    **PROPOSAL_CASES,
    **WEBHOOK_CASES,
    **STAFF_CASES,
    **BRAND_CASES,
    **BANK_CASES,
    **NOTE_CASES,
}
# These ask for the status and not for the clock, so that no two of its reasons can hold at once.
BY_STATUS: Final = {
    *(ExpirePayment, RefundPayment, RefundPaymentByHand, ExpireAsTest),
    *((kind, RefundForShop) for kind in (AskProposal, EditProposal, ConfirmProposal)),
}
STATUSES: Final = {R.NOT_PAID, R.ALREADY_PAID, R.CANCELLED, R.EXPIRED}
# Of an account where somebody does not work they do not hear that they lack a right.
BY_ACCOUNT: Final = {IssueKey, RotateKey, CreateWebhookEndpoint, ReadShopMessages, RecordShopExport, SetStaffPolicy}
# One row cannot be in two states.
EXCLUDING: Final = (
    {R.ALREADY_PAID, R.CANCELLED},
    {R.ACCOUNT_SUSPENDED, R.NOT_VERIFIED},
    {R.ACCOUNT_SUSPENDED, R.NOT_APPROVED},
    {R.NOT_VERIFIED, R.NOT_APPROVED},
    {R.CODE_NOT_VALID, R.PASSKEY_NOT_VALID},
    {R.PIN_LOCKED, R.WRONG_PIN},
)


def _create_and_wait(market: Market) -> int:
    payment = market.create()
    market.now = payment.expires_at
    return payment.number


def _issue(market: Market) -> str:
    prepare, _ = CASES[IssueKey]
    key_id: str = market.do(prepare(market)).id
    return key_id


def _sign_in(market: Market) -> bytes:
    prepare, _ = CASES[OpenSession]
    session_hash: bytes = market.do(prepare(market)).hash
    return session_hash


def kind_of(key: Key) -> type[Command[Any]]:
    return key[0] if isinstance(key, tuple) else key


def name_of(key: Key) -> str:
    return "-".join(kind.__name__ for kind in (key if isinstance(key, tuple) else (key,)))


def spoilers(key: Key) -> dict[Refusal, Spoil]:
    fields = kind_of(key).__struct_fields__
    by_operator: dict[Refusal, Spoil] = {}
    if "operator" in fields:
        by_operator = {
            R.NOT_OPERATOR: lambda case: case.suspend_operator(),
            R.MISSING_RIGHT: lambda case: case.take_roles(),
        }
    by_member: dict[Refusal, Spoil] = {}
    if "member" in fields and R.MISSING_RIGHT not in CASES[key][1]:
        by_member = {R.MISSING_RIGHT: lambda case: case.let_viewer_ask()}
    return {R.IDEMPOTENCY_KEY_REUSED: lambda case: case.reuse_key(), **CASES[key][1], **by_operator, **by_member}


def reasons(key: Key) -> Iterator[tuple[Refusal, ...]]:
    """Each alone, and every two that can hold at once."""
    for why in itertools.chain(*(itertools.combinations(spoilers(key), count) for count in (1, 2))):
        by_status = key in BY_STATUS and len(STATUSES.intersection(why)) > 1
        by_account = key in BY_ACCOUNT and {R.NOT_FOUND, R.MISSING_RIGHT} <= set(why)
        if not by_status and not by_account and not any(pair <= set(why) for pair in EXCLUDING):
            yield why


def refused_for(key: Key, why: tuple[Refusal, ...]) -> Refusal:
    case = Case(CASES[key][0])
    for reason in why:
        spoilers(key)[reason](case)
    return case.market.refuse(case.submission()).why


def test_every_command_has_its_case() -> None:
    # What a proposal holds is carried out by nothing else.
    assert {kind_of(key) for key in CASES} == set(RULES)
    about = (AskProposal, EditProposal, ConfirmProposal, EndProposal)
    assert {key for key in CASES if isinstance(key, tuple)} == {*itertools.product(about, PROPOSED)}


def test_every_refusal_of_the_list_is_given_by_some_rule() -> None:
    assert {why for key in CASES for why in spoilers(key)} == set(Refusal)


@each("key", CASES)
def test_a_command_with_nothing_wrong_is_carried_out(key: Key) -> None:
    case = Case(CASES[key][0])
    case.market.do(case.command)


@each("key", CASES)
def test_of_all_reasons_the_first_in_the_list_is_named(key: Key) -> None:
    named = {why: refused_for(key, why) for why in reasons(key)}
    assert named == {why: min(why, key=list(Refusal).index) for why in named}
