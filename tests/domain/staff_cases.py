"""What the staff of a shop asks for, and every way to refuse it. `test_decide_precedence` goes through them."""

from typing import Any, Final

from qirsh.domain import counter
from qirsh.domain.command import Command
from qirsh.domain.commands.audit_log import RecordShopExport
from qirsh.domain.commands.bank_account import AddBankAccount, CancelShopPayout, RemoveBankAccount, RequestShopPayout
from qirsh.domain.commands.saved_view import RemoveView, SaveView
from qirsh.domain.commands.shop_message import ReadShopMessages, WriteToOperators, WriteToShop
from qirsh.domain.commands.shop_settings import SetPaymentDefaults, SetTimeZone
from qirsh.domain.commands.staff import (
    AcceptInvitation,
    ChangeMember,
    DeclineInvitation,
    InviteMember,
    RemoveMember,
    SetStaffPolicy,
    WithdrawInvitation,
)
from qirsh.domain.commands.staff_payment import CancelPaymentByHand, CreatePaymentByHand, RefundPaymentByHand
from qirsh.domain.commands.till import CloseTill, CreatePaymentAtTill, OpenTill
from qirsh.domain.limits import (
    BALANCE_MAX,
    BANK_ACCOUNT_NEW_MS,
    BANK_ACCOUNTS_MAX,
    INVITATION_MS,
    INVITATIONS_MAX,
    MEMBERS_MAX,
    MESSAGES_IN_A_ROW_MAX,
    PAYOUTS_OPEN_MAX,
    PIN_ATTEMPTS_MAX,
    TILLS_OPEN_MAX,
)
from qirsh.domain.payment import Payment
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refusal
from qirsh.domain.saved_view import SavedView, view_keys
from qirsh.domain.staff import Invitation, Member, Role
from tests.domain.market import NOBODY, PIN, WRONG_PIN, Market

R = Refusal
INVITATION: Final = "inv_1"
TILL: Final = "till_0123456789abcdef01"


def inviting(market: Market, **changes: Any) -> InviteMember:  # noqa: ANN401 - the fields of the command
    """The owner's wish that a customer works for them."""
    fields: dict[str, Any] = {
        "id": INVITATION,
        "account": market.shop,
        "email": "customer@example.com",
        "role": "cashier",
        "caps": {"USD": 150},
        "member": market.owner.id,
    }
    return InviteMember(**fields | changes)


def join(market: Market, person: Person, role: Role, caps: dict[str, int] | None = None) -> Member:
    """They are invited by the owner, and accept."""
    email = next(email for email, login in market.logins.items() if login.person == person.id)
    invitation = f"inv_{person.id}_{role}"
    market.do(inviting(market, id=invitation, email=email, role=role, caps=caps or {}))
    member: Member = market.do(AcceptInvitation(invitation, person.id))
    return member


def member_of(market: Market, person: Person, role: Role) -> Member:
    """As a row."""
    return Member(market.shop, person.id, role, market.owner.id, market.now, market.now)


def refunding(market: Market, payment: Payment, **changes: Any) -> RefundPaymentByHand:  # noqa: ANN401 - the same
    """The owner's wish to give all of it back."""
    fields: dict[str, Any] = {
        "id": f"rf_{payment.number}_{payment.version}",
        "payment": payment.number,
        "merchant": payment.merchant,
        "amount": None,
        "member": market.owner.id,
        "version": payment.version,
        "day_began_at": market.now - 1000,
    }
    return RefundPaymentByHand(**fields | changes)


def bank_account_of(market: Market, bank_account: str = "ba_1", **changes: Any) -> str:  # noqa: ANN401 - the same
    """A bank account of the shop that money may be sent to."""
    fields: dict[str, Any] = {"account": market.shop, "details_sealed": b"sealed bank", "member": market.owner.id}
    market.do(AddBankAccount(bank_account, **fields | changes))
    market.change("bank_accounts", bank_account, created_at=market.now - BANK_ACCOUNT_NEW_MS)
    return bank_account


def paying_out(market: Market, **changes: Any) -> RequestShopPayout:  # noqa: ANN401 - the same
    """The owner's wish to have 5.00 USD of the shop's sent to the bank."""
    fields: dict[str, Any] = {
        "id": "po_shop",
        "account": market.shop,
        "person": market.owner.id,
        "currency": "USD",
        "amount": 500,
        "bank_sealed": b"sealed bank",
        "pin_macs": (PIN,),
        "bank_account": "ba_1",
    }
    return RequestShopPayout(**fields | changes)


def opening(market: Market, **changes: Any) -> OpenTill:  # noqa: ANN401 - the same
    """The owner's wish for a till at which customers enter from 1.00 to 50.00 USD."""
    fields: dict[str, Any] = {
        "id": TILL,
        "account": market.shop,
        "name": "Table 4",
        "currency": "USD",
        "minimum": 100,
        "maximum": 5000,
        "note": "Tea",
        "member": market.owner.id,
    }
    return OpenTill(**fields | changes)


def _paying_out(market: Market) -> Command[Any]:
    market.buy(amount=1000)
    return paying_out(market, bank_account=bank_account_of(market))


def _cancelling(market: Market) -> Command[Any]:
    return CancelShopPayout(market.do(_paying_out(market)).id, market.shop, market.owner.id)


def _invited(market: Market) -> Invitation:
    invitation: Invitation = market.do(inviting(market))
    return invitation


def _accepting(market: Market) -> Command[Any]:
    return AcceptInvitation(_invited(market).id, market.customer.id)


def _accept_twice(case: Any) -> None:  # noqa: ANN401 - `test_decide_precedence` has the class
    person = case.market.customer
    case.market.members[case.market.shop, person.id] = member_of(case.market, person, "viewer")


def _changing(market: Market) -> Command[Any]:
    join(market, market.customer, "cashier", {"USD": 1})
    return ChangeMember(market.shop, market.customer.id, "viewer", {}, market.owner.id)


def _removing(market: Market) -> Command[Any]:
    join(market, market.customer, "cashier")
    return RemoveMember(market.shop, market.customer.id, market.owner.id)


def _cap_too_small(case: Any) -> None:  # noqa: ANN401 - the same
    market = case.market
    market.members[market.shop, market.other.id] = member_of(market, market.other, "cashier")
    case.ask(member=market.other.id)


def _pay_oneself(case: Any) -> None:  # noqa: ANN401 - the same
    _cap_too_small(case)
    case.account(case.market.customer.account, owner=case.market.other.id)


def saving(market: Market, **changes: Any) -> SaveView:  # noqa: ANN401 - the same
    """The owner's wish to find what was paid again."""
    fields: dict[str, Any] = {"account": market.shop, "id": "sv_1", "name": "Paid", "query": "status=paid"}
    return SaveView(**{**fields, "member": market.owner.id, **changes})


def _saving(market: Market) -> Command[Any]:
    """Beside another one."""
    market.do(saving(market, id="sv_0", name="Taken", query="status=pending"))
    return saving(market)


def _save_many(case: Any) -> None:  # noqa: ANN401 - the same
    market = case.market
    for key in view_keys(market.shop, market.owner.id, "live"):
        view = SavedView(*key, id=f"sv_{key[-1]}", name=f"View {key[-1]}", query="q=1", created_at=market.now)
        market.saved_views.setdefault(key, view)


def _suspend_owner(case: Any) -> None:  # noqa: ANN401 - the same
    """Every role may see payments: only who has no rights at all is refused."""
    case.ask(member=case.market.owner.id)
    case.account(case.market.owner.account, state="suspended")


def _late(case: Any) -> None:  # noqa: ANN401 - the same
    case.market.now += INVITATION_MS


_SHOP_NOT_ACTING: Final[dict[Refusal, Any]] = {
    R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
    R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="requested"),
}
STAFF_CASES: Final[dict[type[Command[Any]], Any]] = {
    InviteMember: (
        inviting,
        {
            **_SHOP_NOT_ACTING,
            R.TOO_MANY: lambda case: case.fill(counter.invitations(case.market.shop), INVITATIONS_MAX),
            R.NOT_FOUND: lambda case: case.ask(account=case.market.till),
        },
    ),
    WithdrawInvitation: (
        lambda market: WithdrawInvitation(_invited(market).id, market.shop, market.owner.id),
        {R.NOT_FOUND: lambda case: case.ask(id="inv_unknown")},
    ),
    AcceptInvitation: (
        _accepting,
        {
            **_SHOP_NOT_ACTING,
            R.MOVE_NOT_ALLOWED: _accept_twice,
            R.TOO_MANY: lambda case: case.fill(counter.members(case.market.shop), MEMBERS_MAX),
            R.NOT_FOUND: _late,
        },
    ),
    DeclineInvitation: (
        lambda market: DeclineInvitation(_invited(market).id, market.customer.id),
        {R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id)},
    ),
    ChangeMember: (_changing, {R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id)}),
    RemoveMember: (_removing, {R.NOT_FOUND: lambda case: case.ask(person=case.market.other.id)}),
    SetStaffPolicy: (
        lambda market: SetStaffPolicy(market.shop, needs_two_step=True, member=market.owner.id),
        {R.NOT_FOUND: lambda case: case.ask(account=NOBODY)},
    ),
    SetPaymentDefaults: (
        lambda market: SetPaymentDefaults(
            account=market.shop,
            return_origins="https://new.example",
            return_url="https://new.example/back",
            cancel_url=None,
            expires_in_s=300,
            member=market.owner.id,
        ),
        {
            **_SHOP_NOT_ACTING,
            R.URL_NOT_REGISTERED: lambda case: case.ask(return_origins=""),
            R.NOT_FOUND: lambda case: case.ask(member=case.market.customer.id),
        },
    ),
    SetTimeZone: (
        lambda market: SetTimeZone(market.shop, "Asia/Damascus", market.owner.id),
        {**_SHOP_NOT_ACTING, R.NOT_FOUND: lambda case: case.ask(account=case.market.till)},
    ),
    SaveView: (
        _saving,
        {
            **_SHOP_NOT_ACTING,
            R.MOVE_NOT_ALLOWED: lambda case: case.ask(name="Taken"),
            R.TOO_MANY: _save_many,
            R.NOT_FOUND: lambda case: case.ask(member=case.market.customer.id),
            R.MISSING_RIGHT: _suspend_owner,
        },
    ),
    RemoveView: (
        lambda market: RemoveView(market.shop, market.do(saving(market)).id, market.owner.id),
        {
            **_SHOP_NOT_ACTING,
            R.NOT_FOUND: lambda case: case.ask(id="sv_unknown"),
            R.MISSING_RIGHT: _suspend_owner,
        },
    ),
    AddBankAccount: (
        lambda market: AddBankAccount("ba_1", market.shop, b"sealed bank", market.owner.id),
        {
            **_SHOP_NOT_ACTING,
            R.TOO_MANY: lambda case: case.fill(counter.bank_accounts(case.market.shop), BANK_ACCOUNTS_MAX),
            R.NOT_FOUND: lambda case: case.ask(account=case.market.till),
        },
    ),
    RemoveBankAccount: (
        lambda market: RemoveBankAccount(bank_account_of(market), market.shop, market.owner.id),
        {R.NOT_FOUND: lambda case: case.ask(id="ba_unknown")},
    ),
    OpenTill: (
        opening,
        {
            **_SHOP_NOT_ACTING,
            R.TOO_MANY: lambda case: case.fill(counter.open_tills(case.market.shop), TILLS_OPEN_MAX),
            R.NOT_FOUND: lambda case: case.ask(member=case.market.customer.id),
        },
    ),
    CloseTill: (
        lambda market: CloseTill(market.do(opening(market)).id, market.shop, market.owner.id),
        {**_SHOP_NOT_ACTING, R.NOT_FOUND: lambda case: case.ask(id="till_unknown")},
    ),
    CreatePaymentAtTill: (
        lambda market: CreatePaymentAtTill(market.do(opening(market)).id, market.shop, 100),
        {
            **_SHOP_NOT_ACTING,
            R.MOVE_NOT_ALLOWED: lambda case: case.market.change("tills", TILL, closed_at=case.market.now),
            R.NOT_FOUND: lambda case: case.ask(till="till_unknown"),
        },
    ),
    RequestShopPayout: (
        _paying_out,
        {
            **_SHOP_NOT_ACTING,
            R.BANK_ACCOUNT_NEW: lambda case: case.market.change("bank_accounts", "ba_1", created_at=case.market.now),
            R.TOO_MANY: lambda case: case.fill(counter.open_payouts(case.market.shop), PAYOUTS_OPEN_MAX),
            R.PIN_LOCKED: lambda case: case.market.change("pins", case.market.owner.id, failures=PIN_ATTEMPTS_MAX),
            R.WRONG_PIN: lambda case: case.ask(pin_macs=(WRONG_PIN,)),
            R.INSUFFICIENT_FUNDS: lambda case: case.hold(case.market.shop, 499),
            R.NOT_FOUND: lambda case: case.ask(bank_account="ba_unknown"),
            R.MISSING_RIGHT: lambda case: case.let_viewer_ask("person"),
        },
    ),
    CancelShopPayout: (
        _cancelling,
        {
            R.MOVE_NOT_ALLOWED: lambda case: case.market.change("payouts", "po_shop", state="refused"),
            R.NOT_FOUND: lambda case: case.ask(id="po_unknown"),
        },
    ),
    WriteToOperators: (
        lambda market: WriteToOperators("msg_1", market.shop, "It is in the mail.", market.owner.id),
        {
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="closed"),
            R.TOO_MANY: lambda case: case.fill(counter.messages_in_a_row(case.market.shop), MESSAGES_IN_A_ROW_MAX),
            R.NOT_FOUND: lambda case: case.ask(account=case.market.till),
        },
    ),
    WriteToShop: (
        lambda market: WriteToShop("msg_2", market.shop, "What do you sell?", market.first.id, "test"),
        {
            R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="closed"),
            R.OWN_REQUEST: lambda case: case.account(case.market.shop, owner=case.market.first.id),
            R.NOT_FOUND: lambda case: case.ask(account=NOBODY),
        },
    ),
    ReadShopMessages: (
        lambda market: ReadShopMessages(market.shop, ("msg_1",), member=market.owner.id),
        {R.NOT_FOUND: lambda case: case.ask(account=NOBODY)},
    ),
    RecordShopExport: (
        lambda market: RecordShopExport(market.shop, "payments as csv", market.owner.id),
        {R.NOT_FOUND: lambda case: case.ask(account=NOBODY)},
    ),
    CreatePaymentByHand: (
        lambda market: CreatePaymentByHand(
            merchant=market.shop,
            amount=100,
            currency="USD",
            return_url="https://shop.example/back",
            member=market.owner.id,
        ),
        {
            **_SHOP_NOT_ACTING,
            R.URL_NOT_REGISTERED: lambda case: case.ask(return_url="https://evil.example/back"),
            R.NOT_FOUND: lambda case: case.ask(member=case.market.customer.id),
        },
    ),
    CancelPaymentByHand: (
        lambda market: CancelPaymentByHand(
            payment=market.create().number, merchant=market.shop, member=market.owner.id
        ),
        {
            **_SHOP_NOT_ACTING,
            R.ALREADY_PAID: lambda case: case.payment(status="paid"),
            R.CANCELLED: lambda case: case.payment(status="cancelled"),
            R.EXPIRED: lambda case: case.end_time(),
            R.NOT_FOUND: lambda case: case.ask(payment=NOBODY),
        },
    ),
    RefundPaymentByHand: (
        lambda market: refunding(market, market.buy(), amount=100),
        {
            R.REFUND_CAP: _cap_too_small,
            R.OWN_PAYMENT: _pay_oneself,
            **_SHOP_NOT_ACTING,
            R.NOT_PAID: lambda case: case.payment(status="pending", payer=None),
            R.CANCELLED: lambda case: case.payment(status="cancelled", payer=None),
            R.EXPIRED: lambda case: case.payment(status="expired", payer=None),
            R.REFUND_EXCEEDS: lambda case: case.ask(amount=101),
            R.TOO_MANY_REFUNDS: lambda case: case.payment(version=22),
            R.PAYER_CLOSED: lambda case: case.account(case.market.customer.account, state="closed"),
            R.MERCHANT_BALANCE_SHORT: lambda case: case.hold(case.market.shop, 99),
            R.BALANCE_LIMIT: lambda case: case.hold(case.market.customer.account, BALANCE_MAX - 99),
            R.CHANGED_MEANWHILE: lambda case: case.ask(version=case.command.version + 1),
            R.NOT_FOUND: lambda case: case.ask(payment=NOBODY),
            R.MONEY_STOPPED: lambda case: case.stop_money(),
        },
    ),
}
