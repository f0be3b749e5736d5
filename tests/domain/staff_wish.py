"""What the staff of a shop asks for, as Hypothesis strategies. `wish` mixes it with the rest."""

from typing import Any, Final

from hypothesis import strategies as st

from qirsh.domain.commands.audit_log import RecordShopExport
from qirsh.domain.commands.bank_account import AddBankAccount, CancelShopPayout, RemoveBankAccount, RequestShopPayout
from qirsh.domain.commands.brand import (
    ApproveBrandChange,
    RefuseBrandChange,
    RequestBrandChange,
    SetBrandColour,
    WithdrawBrandChange,
)
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
from qirsh.domain.commands.statement import AnnounceStatement
from qirsh.domain.commands.till import CloseTill, CreatePaymentAtTill, OpenTill
from qirsh.domain.staff import MEMBER_ROLES
from tests.domain.brand_cases import LOGO
from tests.domain.market import HELD, PIN, WRONG_PIN, Market
from tests.domain.staff_cases import inviting, join

Wishes = st.SearchStrategy[Any]
INVITATIONS: Final = [f"inv_{number}" for number in range(3)]


def settle_staff(market: Market) -> None:
    """A cashier who may refund a little, a manager, and somebody who has not answered."""
    join(market, market.customer, "cashier", {"EUR": HELD // 4})
    join(market, market.first, "manager")
    market.do(AddBankAccount("ba_settled", market.shop, b"sealed bank", market.owner.id))
    market.do(inviting(market, id=INVITATIONS[0], email="other.customer@example.com", role="viewer", caps={}))


def about_staff(market: Market) -> list[Wishes]:
    """Each is drawn as often as the others."""
    people = st.sampled_from([market.customer.id, market.other.id, market.owner.id, market.first.id])
    accounts = st.sampled_from([*[market.shop] * 6, market.till, market.house])
    roles = st.sampled_from(MEMBER_ROLES)
    caps = st.sampled_from([{}, {"EUR": HELD // 2}, {"EUR": 1, "USD": HELD}])
    invitations = st.sampled_from(INVITATIONS)
    emails = st.sampled_from(["customer@example.com", "other.customer@example.com", "new@example.com"])
    payments = st.integers(1, 6)
    by_hand = st.builds(
        RefundPaymentByHand,
        id=st.just(""),
        payment=st.sampled_from([5, 5, 5, 6, 1]),
        merchant=st.sampled_from([*[market.shop] * 4, market.till]),
        amount=st.sampled_from([None, 1, HELD // 8, HELD // 4]),
        member=people,
        version=st.sampled_from([2, 2, 2, 3, 4]),
        day_began_at=st.sampled_from([market.now - 1, market.now, market.now + 1000]),
    )
    tills = st.sampled_from([f"till_{number}" for number in range(3)])
    views = st.sampled_from(["sv_0", "sv_1"])
    messages = st.sampled_from(["msg_1", "msg_2", "msg_3", "msg_4"])
    banks = st.sampled_from(["ba_settled", "ba_0", "ba_1"])
    return [
        st.builds(
            WriteToShop,
            id=messages,
            account=accounts,
            text=st.just("What do you sell?"),
            operator=st.sampled_from([market.first.id, market.second.id, market.owner.id]),
            actor=st.just("test"),
        ),
        st.builds(
            WriteToOperators,
            id=messages,
            account=accounts,
            text=st.just("Bread"),
            member=people,
        ),
        st.builds(ReadShopMessages, account=accounts, ids=st.lists(messages, max_size=3).map(tuple), member=people),
        st.builds(
            AnnounceStatement, account=accounts, month=st.sampled_from([202611, 202612, 202701]), letters=st.just(())
        ),
        st.builds(
            SetPaymentDefaults,
            account=accounts,
            return_origins=st.sampled_from(["https://shop.example", "https://new.example"]),
            return_url=st.sampled_from([None, "https://shop.example/back"]),
            cancel_url=st.none(),
            expires_in_s=st.sampled_from([300, 3600]),
            member=people,
        ),
        st.builds(
            SaveView,
            account=accounts,
            id=views,
            name=st.sampled_from(["Paid", "مدفوعة"]),
            query=st.sampled_from(["status=paid", "status=paid&currency=EUR"]),
            member=people,
        ),
        st.builds(RemoveView, account=accounts, id=views, member=people),
        st.builds(SetTimeZone, account=accounts, time_zone=st.sampled_from(["", "Asia/Damascus"]), member=people),
        st.builds(AddBankAccount, id=banks, account=accounts, details_sealed=st.just(b"sealed bank"), member=people),
        st.builds(
            OpenTill,
            id=tills,
            account=accounts,
            name=st.just("Table 4"),
            currency=st.sampled_from(["USD", "EUR"]),
            minimum=st.just(1),
            maximum=st.just(HELD),
            member=people,
        ),
        st.builds(CloseTill, id=tills, account=accounts, member=people),
        st.builds(CreatePaymentAtTill, till=tills, merchant=accounts, amount=st.sampled_from([1, HELD])),
        st.builds(RemoveBankAccount, id=banks, account=accounts, member=people),
        st.builds(
            RequestShopPayout,
            id=st.sampled_from(["po_shop_0", "po_shop_1", "po_settled"]),
            account=accounts,
            person=people,
            currency=st.sampled_from(["USD", "EUR"]),
            amount=st.sampled_from([1, HELD // 4]),
            bank_sealed=st.just(b"sealed bank"),
            pin_macs=st.sampled_from([(PIN,), (PIN,), (WRONG_PIN,)]),
            bank_account=banks,
        ),
        st.builds(
            CancelShopPayout,
            id=st.sampled_from(["po_shop_0", "po_shop_1", "po_settled"]),
            account=accounts,
            member=people,
        ),
        st.builds(
            InviteMember,
            id=invitations,
            account=accounts,
            email=emails,
            role=roles,
            caps=caps,
            member=people,
            stale=st.sampled_from([(), (INVITATIONS[0],), (INVITATIONS[1], INVITATIONS[2])]),
        ),
        st.builds(WithdrawInvitation, id=invitations, account=accounts, member=people),
        st.builds(AcceptInvitation, id=invitations, person=people),
        st.builds(DeclineInvitation, id=invitations, person=people),
        st.builds(ChangeMember, account=accounts, person=people, role=roles, caps=caps, member=people),
        st.builds(RemoveMember, account=accounts, person=people, member=people),
        st.builds(SetStaffPolicy, account=accounts, needs_two_step=st.booleans(), member=people),
        st.builds(
            CreatePaymentByHand,
            merchant=accounts,
            amount=st.sampled_from([1, HELD]),
            currency=st.sampled_from(["USD", "EUR"]),
            member=people,
        ),
        st.builds(RecordShopExport, account=accounts, what=st.just("payments as csv"), member=people),
        st.builds(CancelPaymentByHand, payment=payments, merchant=accounts, member=people),
        by_hand,
        by_hand,
        *_about_brand(market, accounts, people),
    ]


def _about_brand(market: Market, accounts: Wishes, people: Wishes) -> list[Wishes]:
    changes = st.sampled_from(["bc_0", "bc_1", "bc_2"])
    operators = st.sampled_from([market.first.id, market.second.id, market.owner.id])
    return [
        st.builds(SetBrandColour, account=accounts, colour=st.sampled_from(["", "#0f5c4d"]), member=people),
        st.builds(
            RequestBrandChange,
            account=accounts,
            id=changes,
            name=st.sampled_from(["Shop", "New name"]),
            logo=st.sampled_from(["", LOGO]),
            picture=st.sampled_from([None, b"png"]),
            seen=st.sampled_from(["", "bc_0", "bc_1"]),
            member=people,
        ),
        st.builds(WithdrawBrandChange, account=accounts, id=changes, member=people),
        st.builds(
            ApproveBrandChange,
            account=accounts,
            id=changes,
            test_account=st.sampled_from([*[market.till] * 3, market.shop]),
            operator=operators,
            actor=st.just("test"),
        ),
        st.builds(
            RefuseBrandChange,
            account=accounts,
            id=changes,
            reason=st.just("of another"),
            operator=operators,
            actor=st.just("test"),
        ),
    ]
