"""What operators ask of each other, as Hypothesis strategies. `wish` mixes it with the rest.

A proposal's id says what it holds, so that who decides on it has most often seen what is there.
"""

import hashlib
import itertools
from typing import Any, Final, NamedTuple

import msgspec
from hypothesis import strategies as st

from qirsh.domain.commands.access import (
    ACCESS_CHANGES,
    CarryOutReset,
    ChangeAccess,
    KeepSecret,
    RemoveFactors,
    RemoveOperatorFactors,
    ResetPin,
)
from qirsh.domain.commands.account import CloseAccount, OpenHouse
from qirsh.domain.commands.operator import (
    AcceptAppointment,
    AppointOperator,
    ChangeRoles,
    EndOperator,
    WithdrawAppointment,
)
from qirsh.domain.commands.payout import CancelPayout, RefusePayout, RequestPayout
from qirsh.domain.commands.proposal import (
    AskProposal,
    ConfirmProposal,
    EditProposal,
    EndProposal,
    LapseProposal,
    Mailed,
    ProposedCommand,
    encoded,
)
from qirsh.domain.commands.recovery import ReadRecovery, RecoverOperator
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.commands.stop import LiftStop
from qirsh.domain.mail import Letter
from qirsh.domain.pending_reset import WHATS
from qirsh.domain.proposal import Proposal, shown_digest
from qirsh.domain.rules.proposal import PROPOSED
from tests.domain.market import ALL_ROLES, HELD, PIN, WRONG_PIN, Market

NEW_EMAILS: Final = ("new@example.com", "newer@example.com")
PASSKEYS: Final = tuple(b"key %d" % number for number in range(14))
# The id says what was asked for, so that an order can fit it.
PAYOUTS: Final = tuple(f"po_{number}" for number in range(8))

letters = st.sampled_from([(), (Letter("", b"sealed"),)])
payouts = st.sampled_from(PAYOUTS)
rights = st.sampled_from([True] * 5 + [False])  # Whether an answer is what was mailed.
found_passkeys = st.sampled_from([PASSKEYS, PASSKEYS, ()])
Wishes = st.SearchStrategy[Any]


def token(purpose: str, email: str, right: bool = True) -> bytes:  # noqa: FBT001, FBT002 - drawn
    """What is in the link that is mailed there, or what somebody guesses."""
    return hashlib.sha256(f"{purpose if right else 'a guess'} {email}".encode()).digest()


def ask_payout(market: Market, payout: str, pin: bytes = PIN) -> RequestPayout:
    """One of two customers wants a part of what they hold."""
    who = market.other if int(payout[-1]) % 4 == 3 else market.customer
    amount = 1 + int(payout[-1]) * (HELD // 8)
    return RequestPayout(payout, who.account, who.id, "USD", amount, b"sealed bank", (pin,))


class Form(NamedTuple):
    """What one operator asks for, and what one of them makes of it."""

    id: str
    command: ProposedCommand
    changes: dict[str, Any]

    def mailed(self) -> Mailed:
        email = self.command.email if isinstance(self.command, AppointOperator) else ""
        return Mailed((), token("operator", email) if email else b"")

    def held(self, editor: int | None = None) -> tuple[ProposedCommand, bytes]:
        """The command and the digest of what is shown, once somebody has changed it if told so."""
        command = self.command if editor is None else msgspec.structs.replace(self.command, **self.changes)
        rule = PROPOSED[type(command)]
        proposal = Proposal(
            id=self.id,
            action=rule.action(command),
            command=encoded(command),
            subject=rule.subject(command),
            reason="needed" if editor is None else "needed more",
            asked_by=0,
            asked_at=0,
            editors="" if editor is None else str(editor),
        )
        return command, shown_digest(proposal)

    def ask(self, by: int, sent: tuple[Letter, ...] = ()) -> AskProposal:
        return AskProposal(self.id, self.command, "needed", by, "test", sent, self.mailed())

    def edit(self, asked_by: int, by: int) -> EditProposal:
        command, seen = self.held()
        after, _ = self.held(by)
        return EditProposal(self.id, seen, asked_by, command, after, "needed more", by, "test")

    def confirm(
        self, asked_by: int, by: int, editor: int | None = None, found: tuple[bytes, ...] = ()
    ) -> ConfirmProposal:
        command, seen = self.held(editor)
        return ConfirmProposal(self.id, seen, asked_by, command, by, "test", self.mailed(), found)

    def end(self, asked_by: int, by: int, editor: int | None = None, sent: tuple[Letter, ...] = ()) -> EndProposal:
        command, seen = self.held(editor)
        return EndProposal(self.id, seen, asked_by, command, "no", by, "test", sent)

    def lapse(self, editor: int | None = None) -> LapseProposal:
        return LapseProposal(self.id, self.held(editor)[0])


def money_forms(market: Market) -> list[Form]:
    """Two slips of the bank, each for several."""
    accounts = {"customer": market.customer.account, "shop": market.shop, "test": market.till}
    return [
        Form(
            f"pr_{kind}_{name}_{reference[-1]}",
            market.book(kind=kind, reference=reference, account=accounts[name], amount=amount),
            {"amount": HELD // 2},
        )
        for kind, name, reference, amount in (
            ("deposit", "customer", "slip a", HELD),
            ("deposit", "customer", "slip b", 1),
            ("deposit", "shop", "slip a", HELD // 2),
            ("withdrawal", "customer", "slip b", HELD),
            ("withdrawal", "customer", "slip c", 1),
            ("withdrawal", "shop", "slip b", 1),
            ("deposit", "test", "slip c", 1),
        )
    ]


def back_forms(market: Market) -> list[Form]:
    """Of what was booked before any of it began, two ways back each; and what no bank has moved."""
    back = [
        Form(
            f"pr_back_{reference}_{slip}", market.reversal(reference, reference=f"back {slip}"), {"reference": "back c"}
        )
        for reference in ("slip 0", "slip 1", "slip 2")
        for slip in "ab"
    ]
    right = [
        Form(f"pr_right_{kind}_{amount}", market.correction(kind=kind, amount=amount), {"amount": 2})
        for kind in ("deposit", "withdrawal")
        for amount in (1, HELD)
    ]
    opened = [Form(f"pr_house_{name}", OpenHouse(name), {"name": "third"}) for name in ("second", "SECOND", "Bank")]
    return back + right + opened


def payout_forms(market: Market) -> list[Form]:
    """For each payout two, of which one at a time can order it."""
    found = []
    for payout in PAYOUTS:
        asked = ask_payout(market, payout)
        for reference in ("slip p", f"slip {payout}"):
            fields = {"reference": reference, "account": asked.account, "amount": asked.amount, "payout": payout}
            command = market.book(kind="withdrawal", **fields)
            found.append(Form(f"pr_{payout}_{reference}", command, {"reference": "slip q"}))
    return found


def people_forms(market: Market) -> list[list[Form]]:
    """About operators and people, of whom one has only just begun: a list for each command."""
    newest = len(market.people) + 1
    appointed = [
        Form(f"pr_new_{email}_{roles[:5]}", AppointOperator(email, "New", roles), {"name": "Newer"})
        for email in (*NEW_EMAILS, "customer@example.com")
        for roles in (ALL_ROLES, "support")
    ]
    changed = [
        Form(f"pr_roles_{person}_{roles[:5]}", ChangeRoles(person, roles), {"roles": "auditor"})
        for person in (market.first.id, market.second.id, newest)
        for roles in ("treasury support", ALL_ROLES)
    ]
    ended = [Form(f"pr_end_{person}", EndOperator(person), {}) for person in (market.second.id, newest)]
    helped = [Form(f"pr_help_{one.email}", RemoveFactors(one.email, one.person), {}) for one in market.logins.values()]
    helped += [Form(f"pr_pin_{one.person}", ResetPin(one.person), {}) for one in market.logins.values()]
    helped += [
        Form(f"pr_lost_{person.id}", RemoveOperatorFactors(email, person.id), {})
        for email, person in (("operator.two@example.com", market.second), ("customer@example.com", market.customer))
    ]
    helped += [
        Form(
            f"pr_refund_{number}",
            RefundForShop(f"rf_{number}", number, market.shop, 1, "EUR", market.identifiers.payment_id(number)),
            {"amount": 2},
        )
        for number in (5, 1)
    ]
    # Those that hold nothing can be closed.
    poor = [market.people[one].account for one in market.people if one > market.owner.id]
    numbers = [*poor, market.shop, market.customer.account, market.second.account, market.house, market.till]
    closed = [Form(f"pr_close_{number}", CloseAccount(number), {"account": poor[-1]}) for number in numbers]
    return [appointed, changed, ended, helped, closed, [Form("pr_lift", LiftStop(1), {})]]


class Office:
    """The operators of a market that was settled."""

    def __init__(self, market: Market) -> None:
        self.market = market
        self.operators = st.sampled_from([market.first.id, market.second.id])
        self.anybody = st.sampled_from([market.first.id, market.second.id] * 4 + [len(market.people) + 1])
        self.emails = st.sampled_from([*market.logins, *NEW_EMAILS])

    def about(self, forms: list[Form]) -> Wishes:
        """Asked for, changed, confirmed, refused, withdrawn, forgotten."""
        form, who = st.sampled_from(forms), self.anybody
        editor = st.none() | st.none() | who
        confirms = st.builds(lambda one, *drawn: one.confirm(*drawn), form, who, who, editor, found_passkeys)
        return (
            st.builds(lambda one, by, sent: one.ask(by, sent), form, who, letters)
            | confirms
            | st.builds(lambda one, asked_by, by: one.edit(asked_by, by), form, who, who)
            | st.builds(lambda one, *drawn: one.end(*drawn), form, who, who, editor, letters)
            | st.builds(lambda one, by: one.lapse(by), form, editor)
        )

    def stories(self) -> Wishes:
        """What one after the other leads somewhere, where single wishes hardly ever do."""
        first, second = self.market.first.id, self.market.second.id
        money = [money_forms(self.market), payout_forms(self.market), back_forms(self.market)]
        lists = [*money, *people_forms(self.market)]
        form = st.sampled_from(lists).flatmap(st.sampled_from)
        pair = st.sampled_from([(first, second), (second, first)])
        agreed = st.builds(
            lambda one, pair, found: [one.ask(pair[0]), one.confirm(*pair, None, found)], form, pair, found_passkeys
        )
        changed = st.builds(
            lambda one, pair, found: [
                one.ask(pair[0]),
                one.edit(pair[0], pair[0]),
                one.confirm(*pair, pair[0], found),
            ],
            form,
            pair,
            found_passkeys,
        )
        dropped = st.builds(
            lambda one, pair, by: [one.ask(pair[0]), one.end(pair[0], by), one.confirm(*pair)],
            form,
            pair,
            self.operators,
        )
        paid = st.builds(
            lambda payout, reference: [
                ask_payout(self.market, payout),
                (one := self._payout_form(payout, reference)).ask(first),
                one.edit(first, first),
                one.confirm(first, second, first),
            ],
            payouts,
            st.sampled_from([0, 1]),
        )
        appointed = st.builds(
            lambda email, accepts: [
                (one := self._appointment(email)).ask(first),
                one.confirm(first, second),
                *([self._accept(email, one.id)] if accepts else []),
            ],
            st.sampled_from(NEW_EMAILS),
            rights,
        )
        return agreed | changed | dropped | paid | appointed

    def appointments(self) -> Wishes:
        """Accepted by the reader of the mail, or taken back."""
        accepts = st.builds(
            lambda email, right, roles, sent: self._accept(
                email, f"pr_new_{email}_{roles[:5]}", token("operator", email, right), sent
            ),
            st.sampled_from(NEW_EMAILS),
            rights,
            st.sampled_from([ALL_ROLES, ALL_ROLES, "support"]),
            letters,
        )
        withdraws = st.builds(
            lambda email, by: WithdrawAppointment(email, by, "test"), st.sampled_from(NEW_EMAILS), self.anybody
        )
        return accepts | accepts | withdraws

    def access(self) -> Wishes:
        """Of one person, by one operator."""
        return st.builds(
            lambda email, change, by, sent: ChangeAccess(email, change, "lost phone", by, "test", sent),
            self.emails,
            st.sampled_from(ACCESS_CHANGES),
            self.anybody,
            letters,
        )

    def resets(self) -> Wishes:
        """Carried out when they are due, or stopped; and an operator who is let in from the machine itself."""
        who = st.sampled_from([*self.market.logins.values()])
        done = st.builds(
            lambda one, what, found, sent: CarryOutReset(one.person, what, one.email, found, sent),
            who,
            st.sampled_from(WHATS),
            found_passkeys,
            letters,
        )
        kept = st.builds(
            lambda one, what, by: KeepSecret(one.person, what, "test", "no", by),
            who,
            st.sampled_from(WHATS),
            st.none() | self.anybody,
        )
        recovered = st.builds(
            lambda one, found, sent: RecoverOperator(
                f"rec_{one.person}",
                one.person,
                self.market.people[one.person].account,
                one.email,
                "-",
                b"seed",
                found,
                "test",
                sent,
            ),
            who,
            found_passkeys,
            letters,
        )
        read = st.builds(lambda one, by: ReadRecovery(f"rec_{one.person}", by, "test"), who, self.anybody)
        return done | kept | recovered | read

    def asked_payouts(self) -> Wishes:
        pins = st.sampled_from([PIN] * 7 + [WRONG_PIN])
        return st.builds(lambda payout, pin: ask_payout(self.market, payout, pin), payouts, pins)

    def what_becomes_of_payouts(self) -> Wishes:
        """Ordered and confirmed, cancelled, refused."""
        who = st.sampled_from([self.market.customer.id, self.market.other.id, self.market.owner.id])
        cancels = st.builds(CancelPayout, payouts, who)
        refusals = st.builds(
            lambda payout, by, sent: RefusePayout(payout, "no", by, "test", sent), payouts, self.operators, letters
        )
        return self.about(payout_forms(self.market)) | cancels | refusals

    def _payout_form(self, payout: str, number: int) -> Form:
        return [form for form in payout_forms(self.market) if form.id.startswith(f"pr_{payout}_")][number]

    def _appointment(self, email: str) -> Form:
        return next(form for form in people_forms(self.market)[0] if form.id.startswith(f"pr_new_{email}"))

    def _accept(
        self, email: str, proposal: str, link: bytes | None = None, sent: tuple[Letter, ...] = ()
    ) -> AcceptAppointment:
        return AcceptAppointment(
            email, proposal, link or token("operator", email), "tr", "-", b"seed", totp_step=1, letters=sent
        )


def about_operators(office: Office) -> list[Wishes]:
    """Those that are named more often are drawn more often."""
    people, money = [*itertools.chain(*people_forms(office.market))], money_forms(office.market)
    often = [office.asked_payouts(), office.what_becomes_of_payouts()]
    return often * 2 + [
        office.what_becomes_of_payouts(),
        *[office.about(money)] * 4,
        office.about(back_forms(office.market)),
        *[office.about(people)] * 3,
        office.appointments(),
        office.access(),
        office.resets(),
    ]
