"""Of each command that takes two operators a sample, how to spoil it, and so every way to refuse a proposal of it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from qirsh.domain.commands.access import RemoveFactors, RemoveOperatorFactors, ResetPin
from qirsh.domain.commands.account import CloseAccount, OpenHouse
from qirsh.domain.commands.bank_order import BookBankTransfer, CorrectBalance, ReverseBankTransfer
from qirsh.domain.commands.login_credentials import SetSecondFactor
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles, EndOperator
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.proposal import (
    AskProposal,
    ConfirmProposal,
    EditProposal,
    EndProposal,
    LapseProposal,
    encoded,
)
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.commands.stop import LiftStop, StopMoney
from qirsh.domain.counter import ADMIN, house_accounts, reversals
from qirsh.domain.ledger import Balance
from qirsh.domain.limits import BALANCE_MAX
from qirsh.domain.operator import Operator
from qirsh.domain.proposal import PROPOSAL_MS, shown_digest
from qirsh.domain.refusal import Refusal
from qirsh.domain.rules.proposal import PROPOSED
from tests.domain.market import ALL_ROLES, HELD, NOBODY, Market
from tests.domain.people_cases import EMAIL

if TYPE_CHECKING:
    from tests.domain.test_decide_precedence import Case

R = Refusal
NEW: Final = "new@example.com"
LINK: Final = b"l" * 32
THIRD: Final = "third@example.com"

Spoilers = dict[Refusal, Callable[["Case"], object]]


class Sample(NamedTuple):
    """A command that both operators can want, what one of them may change of it, and every way to spoil it."""

    make: Callable[[Market], Any]
    change: dict[str, Any]
    spoil: Spoilers
    may_ask_for_self: bool = False


def third(market: Market) -> int:
    """One more operator, of whom the two others are the makers."""
    return market.appoint("Third", agrees=market.second).id


def want(case: "Case", **changes: Any) -> None:  # noqa: ANN401 - the fields of the command
    """Something else is proposed; who decides on it has seen that."""
    command = msgspec.structs.replace(case.command.command, **changes)
    case.ask(command=command)
    if isinstance(case.command, ConfirmProposal):
        rule = PROPOSED[type(command)]
        case.market.change(
            "proposals",
            case.command.id,
            command=encoded(command),
            subject=rule.subject(command),
            action=rule.action(command),
        )
        case.ask(seen=shown_digest(case.market.proposals[case.command.id]))


def stopped(market: Market) -> LiftStop:
    """The wish that money moves again, which it does not."""
    return LiftStop(market.do(StopMoney(1, "a sum is wrong", "test")).id)


def with_factor(market: Market) -> RemoveFactors:
    """The wish of a customer who has lost theirs."""
    market.do(SetSecondFactor(EMAIL, market.customer.id, b"seed", 5, b"codes", ()))
    return RemoveFactors(EMAIL, market.customer.id)


def of_third(market: Market) -> RemoveOperatorFactors:
    """The wish of an operator who has lost theirs."""
    return RemoveOperatorFactors(THIRD, third(market))


def for_shop(market: Market) -> RefundForShop:
    """The wish of a customer whose shop is suspended."""
    payment = market.buy(amount=100)
    market.move(market.shop, "suspended")
    return refunding(market, payment.number)


def refunding(market: Market, payment: int, amount: int = 100, **changes: Any) -> RefundForShop:  # noqa: ANN401 - the fields of the command
    """The wish that a payment to the shop goes back."""
    fields: dict[str, Any] = {"id": "rf_1", "merchant": market.shop, "currency": "USD"} | changes
    return RefundForShop(payment=payment, amount=amount, payment_id=market.identifiers.payment_id(payment), **fields)


def _own_shop(case: "Case") -> None:
    case.account(case.command.command.merchant, owner=case.command.operator)


def _no_pin(case: "Case") -> None:
    case.market.pins.pop(case.command.command.person, None)


def _of_payment(case: "Case", **changes: Any) -> None:  # noqa: ANN401 - the fields of the payment
    case.market.change("payments", case.command.command.payment, **changes)


def _undecided_shop(case: "Case") -> None:
    shop = case.market.request_shop(case.market.owner)
    case.market.balances[shop, "USD"] = Balance(shop, "USD", HELD, 1, is_house=False)
    want(case, account=shop)


def _make_operator(case: "Case") -> None:
    person = case.command.command.person
    case.market.operators.setdefault(person, Operator(person, ALL_ROLES, None, 1))


def _own_account(case: "Case") -> None:
    case.account(case.command.command.account, owner=case.command.operator)


def _own_person(case: "Case") -> None:
    want(case, person=case.command.operator)


def _own_factors(case: "Case") -> None:
    [email] = [login.email for login in case.market.logins.values() if login.person == case.command.operator]
    want(case, person=case.command.operator, email=email)


def _book_before(case: "Case") -> None:
    command, market = case.command.command, case.market
    [booked, *_] = market.bank_orders.values()
    key = (command.house, command.reference)
    market.bank_orders[key] = msgspec.structs.replace(booked, house=command.house, reference=command.reference)


SAMPLES: Final[dict[type[Any], Sample]] = {
    BookBankTransfer: Sample(
        lambda market: market.book(kind="withdrawal"),
        {"amount": 9_999},
        {
            R.NOT_APPROVED: _undecided_shop,
            R.TEST_AND_LIVE: lambda case: want(case, house=case.market.mint),
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.command.command.account, state="suspended"),
            R.NOT_VERIFIED: lambda case: case.account(case.command.command.account, state="unverified"),
            R.OWN_REQUEST: _own_account,
            R.MOVE_NOT_ALLOWED: lambda case: want(case, payout="unknown"),
            R.REFERENCE_USED: _book_before,
            R.INSUFFICIENT_FUNDS: lambda case: case.hold(case.command.command.account, 1),
            R.BALANCE_LIMIT: lambda case: case.hold(case.command.command.house, BALANCE_MAX - 1),
            R.NOT_FOUND: lambda case: want(case, account=NOBODY),
        },
    ),
    CloseAccount: Sample(
        lambda market: CloseAccount(market.open_shop(market.owner)),
        {},
        {
            R.OWN_REQUEST: _own_account,
            R.MONEY_LEFT: lambda case: case.hold(case.command.command.account, 1),
            R.MOVE_NOT_ALLOWED: lambda case: case.account(case.command.command.account, state="closed"),
            R.NOT_FOUND: lambda case: want(case, account=NOBODY),
        },
    ),
    AppointOperator: Sample(
        lambda _: AppointOperator(NEW, "New", "support"),
        {"name": "Newer"},
        {R.EMAIL_TAKEN: lambda case: case.market.do(AddPerson(NEW, "Another", "-", "test"))},
    ),
    ChangeRoles: Sample(
        lambda market: ChangeRoles(third(market), "support"),
        {"roles": "auditor"},
        {
            R.OWN_REQUEST: _own_person,
            R.LAST_ADMIN: lambda case: case.fill(ADMIN, 1),
            R.NOT_FOUND: lambda case: want(case, person=case.market.customer.id),
        },
        may_ask_for_self=True,
    ),
    EndOperator: Sample(
        lambda market: EndOperator(third(market)),
        {},
        {
            R.OWN_REQUEST: _own_person,
            R.LAST_ADMIN: lambda case: case.fill(ADMIN, 1),
            R.NOT_FOUND: lambda case: want(case, person=case.market.customer.id),
        },
        may_ask_for_self=True,
    ),
    RemoveFactors: Sample(
        with_factor,
        {},
        {
            R.OWN_REQUEST: _own_factors,
            R.MOVE_NOT_ALLOWED: _make_operator,
            R.NOT_FOUND: lambda case: want(case, email=THIRD),
        },
    ),
    ResetPin: Sample(
        lambda market: ResetPin(market.customer.id),
        {},
        {
            R.OWN_REQUEST: _own_person,
            R.MOVE_NOT_ALLOWED: _no_pin,
            R.NOT_FOUND: lambda case: want(case, person=NOBODY),
        },
    ),
    RemoveOperatorFactors: Sample(
        of_third,
        {},
        {R.OWN_REQUEST: _own_factors, R.NOT_FOUND: lambda case: want(case, email=EMAIL)},
    ),
    RefundForShop: Sample(
        for_shop,
        {"amount": 99},
        {
            R.OWN_REQUEST: _own_shop,
            R.NOT_PAID: lambda case: _of_payment(case, status="pending", payer=None),
            R.CANCELLED: lambda case: _of_payment(case, status="cancelled", payer=None),
            R.EXPIRED: lambda case: _of_payment(case, status="expired", payer=None),
            R.MOVE_NOT_ALLOWED: lambda case: case.account(case.market.shop, state="approved"),
            R.REFUND_EXCEEDS: lambda case: _of_payment(case, refunded_amount=100),
            R.TOO_MANY_REFUNDS: lambda case: _of_payment(case, version=22),
            R.PAYER_CLOSED: lambda case: case.account(case.market.customer.account, state="closed"),
            R.MERCHANT_BALANCE_SHORT: lambda case: case.hold(case.market.shop, 1),
            R.BALANCE_LIMIT: lambda case: case.hold(case.market.customer.account, BALANCE_MAX - 1),
            R.NOT_FOUND: lambda case: want(case, payment=NOBODY),
        },
    ),
    LiftStop: Sample(
        stopped,
        {},
        {
            R.MOVE_NOT_ALLOWED: lambda case: case.market.change("stops", 1, lifted_at=1, lifted_by="test"),
            R.NOT_FOUND: lambda case: want(case, id=NOBODY),
        },
    ),
    CorrectBalance: Sample(
        lambda market: market.correction(kind="withdrawal"),
        {"amount": 9_999},
        {
            R.NOT_APPROVED: _undecided_shop,
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.command.command.account, state="suspended"),
            R.NOT_VERIFIED: lambda case: case.account(case.command.command.account, state="unverified"),
            R.OWN_REQUEST: _own_account,
            R.REFERENCE_USED: _book_before,
            R.INSUFFICIENT_FUNDS: lambda case: case.hold(case.command.command.account, 1),
            R.BALANCE_LIMIT: lambda case: case.hold(case.command.command.house, BALANCE_MAX - 1),
            R.NOT_FOUND: lambda case: want(case, house=case.market.house),
        },
    ),
    ReverseBankTransfer: Sample(
        lambda market: market.reversal(),
        {"reference": "another way back"},
        {
            R.OWN_REQUEST: _own_account,
            R.MOVE_NOT_ALLOWED: lambda case: want(case, amount=1),
            R.REFERENCE_USED: _book_before,
            R.ALREADY_REVERSED: lambda case: case.fill(
                reversals(case.command.command.house, case.command.command.reverses), 1
            ),
            R.INSUFFICIENT_FUNDS: lambda case: case.hold(case.command.command.account, 1),
            R.BALANCE_LIMIT: lambda case: case.hold(case.command.command.house, BALANCE_MAX - 1),
            R.NOT_FOUND: lambda case: want(case, reverses="unknown"),
        },
    ),
    OpenHouse: Sample(
        lambda _: OpenHouse("Second bank"),
        {"name": "Third bank"},
        {R.NAME_TAKEN: lambda case: case.fill(house_accounts(case.command.command.name), 1)},
    ),
}


def edit(market: Market, **changes: Any) -> EditProposal:  # noqa: ANN401 - the fields of the proposal's command
    """The second operator's other idea of what was asked for last."""
    word = market.confirm()
    wanted = msgspec.structs.replace(word.command, **changes)
    return EditProposal(
        id=word.id,
        seen=word.seen,
        asked_by=word.asked_by,
        before=word.command,
        command=wanted,
        reason="needed more",
        operator=word.operator,
        actor="test",
    )


def end(market: Market, *, operator: int | None = None) -> EndProposal:
    """The second operator's no, or another's, to what was asked for last."""
    word = market.confirm(operator=operator)
    return EndProposal(word.id, word.seen, word.asked_by, word.command, "not needed", word.operator, "test")


def _asked_by_themselves(case: "Case") -> None:
    case.market.change("proposals", case.command.id, asked_by=case.command.operator)
    case.ask(asked_by=case.command.operator)


def _lapse(case: "Case") -> None:
    case.market.change("proposals", case.command.id, asked_at=case.market.now - PROPOSAL_MS)


# What is said of a proposal that is there, whatever it holds. Those that come last spoil what the others set right.
OF_CLOSED: Final[Spoilers] = {
    R.ALREADY_DECIDED: lambda case: case.market.change("proposals", case.command.id, state="refused", decided_at=1),
    R.PROPOSAL_LAPSED: _lapse,
    R.CHANGED_MEANWHILE: lambda case: case.ask(seen=b"of before"),
    R.NOT_FOUND: lambda case: case.ask(id="pr_404"),
}
OF_PAIR: Final[Spoilers] = {
    R.SECOND_OPERATOR_NEEDED: _asked_by_themselves,
    R.ASKER_NOT_OPERATOR: lambda case: case.account(case.market.first.account, state="suspended"),
    R.APPOINTED_RECENTLY: lambda case: case.market.change(
        "operators", case.command.operator, created_at=case.market.now
    ),
}


def _and(spoil: Spoilers, more: Spoilers) -> Spoilers:
    return spoil | {why: how for why, how in more.items() if why not in spoil}


def _asks(sample: Sample) -> tuple[Callable[[Market], Any], Spoilers]:
    spoil = {why: how for why, how in sample.spoil.items() if not sample.may_ask_for_self or why is not R.OWN_REQUEST}
    return lambda market: market.propose(sample.make(market)), spoil


def _edits(sample: Sample) -> tuple[Callable[[Market], Any], Spoilers]:
    def prepare(market: Market) -> EditProposal:
        market.do(market.propose(sample.make(market)))
        return edit(market, **sample.change)

    return prepare, _and(sample.spoil, OF_CLOSED)


def _confirms(kind: type[Any], sample: Sample) -> tuple[Callable[[Market], Any], Spoilers]:
    def prepare(market: Market) -> ConfirmProposal:
        market.do(market.propose(sample.make(market)))
        return market.confirm()

    stop: Spoilers = {R.MONEY_STOPPED: lambda case: case.stop_money()} if PROPOSED[kind].moves_money else {}
    return prepare, _and(sample.spoil, OF_PAIR | OF_CLOSED | stop)


def _ends(sample: Sample) -> tuple[Callable[[Market], Any], Spoilers]:
    def prepare(market: Market) -> EndProposal:
        market.do(market.propose(sample.make(market)))
        return end(market)

    return prepare, OF_CLOSED


def lapsed(market: Market, kind: type[Any] = BookBankTransfer) -> LapseProposal:
    """What nobody has decided on is about to end."""
    asked = market.propose(SAMPLES[kind].make(market))
    market.do(asked)
    market.now += PROPOSAL_MS
    return LapseProposal(asked.id, asked.command)


# By the command about a proposal, and by what the proposal holds.
PROPOSAL_CASES: Final[dict[Any, Any]] = {
    **{(AskProposal, kind): _asks(sample) for kind, sample in SAMPLES.items()},
    **{(EditProposal, kind): _edits(sample) for kind, sample in SAMPLES.items()},
    **{(ConfirmProposal, kind): _confirms(kind, sample) for kind, sample in SAMPLES.items()},
    **{(EndProposal, kind): _ends(sample) for kind, sample in SAMPLES.items()},
    # Nothing refuses it: what was decided meanwhile is an outcome.
    LapseProposal: (lapsed, {}),
}
