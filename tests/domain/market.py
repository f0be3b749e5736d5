"""A world with people in it: two operators, two customers, and a merchant with a shop and its test accounts."""

import functools
from typing import Any, Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.bank_order import CORRECTIONS, opposite
from qirsh.domain.commands.account import CloseAccount, MoveAccount, OpenHouseAccount, RequestCommercial
from qirsh.domain.commands.bank_order import BookBankTransfer, CorrectBalance, ReverseBankTransfer
from qirsh.domain.commands.login_credentials import ChangePin
from qirsh.domain.commands.operator import AcceptAppointment, AppointOperator, MakeOperator
from qirsh.domain.commands.payment import CreatePayment, Pay
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal, Mailed, ProposedCommand, decoded
from qirsh.domain.commands.refund import RefundPayment
from qirsh.domain.commands.test_mode import PayAsTest
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.operator_role import ROLES
from qirsh.domain.payment import Payment
from qirsh.domain.person import Person
from qirsh.domain.proposal import Proposal, shown_digest
from tests.domain.world import World

PIN: Final = b"the right PIN"
WRONG_PIN: Final = b"a wrong PIN"
SHOP_ORIGIN: Final = "https://shop.example"
ALL_ROLES: Final = " ".join(ROLES)
HELD: Final = 100_000  # What each customer holds of USD and EUR at the start.
NOBODY: Final = 404


class Market(World):
    """Built by commands alone, so that it can be nothing that the rules do not allow."""

    def __init__(self) -> None:
        vars(self).update(vars(_settled().fork()))

    def settle(self) -> None:
        """From nothing. All others are copies of the first."""
        super().__init__()
        # Long enough ago that the two count as two.
        self.now -= OPERATOR_NEW_MS
        self.first = self.join("Operator One")
        self.do(MakeOperator(email="operator.one@example.com", totp_sealed=b"seed", roles=ALL_ROLES, actor="test"))
        self.second = self.appoint("Operator Two")
        self.now += OPERATOR_NEW_MS
        self.customer = self.join("Customer")
        self.other = self.join("Other customer")
        self.owner = self.join("Owner")
        self.house = self.open_house("bank")
        for person in (self.customer, self.other, self.owner):
            self.move(person.account, "verified")
        self.shop = self.open_shop(self.owner)
        self.till, self.test_customer, self.mint = self.test_accounts(self.shop)
        for person in (self.customer, self.other, self.owner):
            for currency in ("USD", "EUR"):
                self.deposit(person.account, HELD, currency)
        self.corrections = self.open_house(CORRECTIONS)

    def join(self, name: str) -> Person:
        """A person with the right PIN and an account that is not verified yet."""
        email = f"{name.lower().replace(' ', '.')}@example.com"
        person: Person = self.do(AddPerson(email=email, name=name, password_hash="-", actor="test"))
        self.do(ChangePin(person=person.id, pin_mac=PIN, actor="test"))
        return person

    def appoint(
        self, name: str, *, by: Person | None = None, agrees: Person | None = None, roles: str = ALL_ROLES
    ) -> Person:
        """A new operator, whom the first or another asks for, and to whom another agrees if told so."""
        email = f"{name.lower().replace(' ', '.')}@example.com"
        link = email.encode().ljust(32)[:32]
        command = AppointOperator(email, name, roles)
        asked = self.do(self.propose(command, operator=(by or self.first).id, link=link))
        if agrees is not None:
            self.do(self.confirm(operator=agrees.id, link=link))
        person: Person = self.do(AcceptAppointment(email, asked.id, link, "en", "-", b"seed", 0))
        self.do(ChangePin(person=person.id, pin_mac=PIN, actor="test"))
        return person

    def move(self, account: int, to: str) -> Account:
        """What an operator decides on an account, or two of them."""
        if to == "closed":
            self.agree(CloseAccount(account))
            return self.accounts[account]
        moved: Account = self.do(MoveAccount(account=account, to=to, operator=self.first.id, reason="", actor="test"))
        return moved

    def open_house(self, name: str) -> int:
        """A house account."""
        number: int = self.do(OpenHouseAccount(name=name)).number
        return number

    def request_shop(self, owner: Person) -> int:
        """A commercial account that nobody has decided on."""
        number: int = self.do(
            RequestCommercial(personal=owner.account, name="Shop", return_origins=SHOP_ORIGIN, actor="test")
        ).number
        return number

    def request_and_reject(self, owner: Person) -> int:
        """A commercial account that was not approved."""
        return self.move(self.request_shop(owner), "rejected").number

    def open_shop(self, owner: Person) -> int:
        """An approved commercial account."""
        return self.move(self.request_shop(owner), "approved").number

    def test_accounts(self, shop: int) -> tuple[int, int, int]:
        """The shop's test account, its customer, and the mint of both."""
        by_kind = {account.kind: account.number for account in self.accounts.values() if account.live_account == shop}
        return by_kind["commercial"], by_kind["personal"], by_kind["house"]

    def deposit(self, account: int, amount: int, currency: str = "USD") -> None:
        """Money that one operator asks for and another confirms."""
        reference = f"slip {len(self.bank_orders)}"
        self.do(self.ask(account=account, amount=amount, currency=currency, reference=reference))
        self.do(self.confirm())

    def book(self, **changes: Any) -> BookBankTransfer:  # noqa: ANN401 - the fields of the command
        """100.00 USD for the customer's account."""
        fields: dict[str, Any] = {
            "kind": "deposit",
            "house": self.house,
            "reference": "slip",
            "account": self.customer.account,
            "currency": "USD",
            "amount": 10_000,
        }
        return BookBankTransfer(**fields | changes)

    def correction(self, **changes: Any) -> CorrectBalance:  # noqa: ANN401 - the same
        """100.00 USD are missing on the customer's account."""
        fields = msgspec.structs.asdict(self.book(house=self.corrections, reference="ours"))
        del fields["payout"]
        return CorrectBalance(**fields | changes)

    def reversal(self, booked_as: str = "slip 0", /, **changes: Any) -> ReverseBankTransfer:  # noqa: ANN401 - the same
        """What is needed to take back an order of the bank, as a database would number its transfer."""
        booked = self.bank_orders[changes.get("house", self.house), booked_as]
        sides = {booked.house, booked.account}
        [place] = [
            place
            for place, row in enumerate(self.transfers, 1)
            if row.bank_order == booked_as and {row.debit, row.credit} == sides
        ]
        fields: dict[str, Any] = {
            "kind": opposite(booked.kind),
            "house": booked.house,
            "reference": f"back {booked_as}",
            "account": booked.account,
            "currency": booked.currency,
            "amount": booked.amount,
            "reverses": booked_as,
            "transfer": place,
        }
        return ReverseBankTransfer(**fields | changes)

    def ask(self, **changes: Any) -> AskProposal:  # noqa: ANN401 - the same
        """The first operator's wish for it."""
        return self.propose(self.book(**changes))

    def propose(self, command: ProposedCommand, *, operator: int | None = None, link: bytes = b"") -> AskProposal:
        """The first operator's wish, or another's."""
        return AskProposal(
            id=f"pr_{len(self.proposals)}",
            command=command,
            reason="needed",
            operator=operator or self.first.id,
            actor="test",
            mailed=Mailed((), link),
        )

    def confirm(self, proposal_id: str = "", *, operator: int | None = None, link: bytes = b"") -> ConfirmProposal:
        """The second operator's word, or another's, on what was asked for last."""
        proposal = self.proposals[proposal_id or max(self.proposals, key=lambda name: int(name.removeprefix("pr_")))]
        command = decoded(proposal)
        assert command is not None
        return ConfirmProposal(
            id=proposal.id,
            seen=shown_digest(proposal),
            asked_by=proposal.asked_by,
            command=command,
            operator=operator or self.second.id,
            actor="test",
            mailed=Mailed((), link),
        )

    def agree(self, command: ProposedCommand) -> Proposal:
        """What both of them want."""
        self.do(self.propose(command))
        done: Proposal = self.do(self.confirm())
        return done

    def ask_withdrawal(self) -> ConfirmProposal:
        """The word that is still missing for the customer to get 100.00 USD."""
        self.do(self.ask(kind="withdrawal"))
        return self.confirm()

    def create(self, **changes: Any) -> Payment:  # noqa: ANN401 - the fields of the command
        """A payment that the shop asks for."""
        fields: dict[str, Any] = {"merchant": self.shop, "amount": 100, "currency": "USD"}
        created: Payment = self.do(CreatePayment(**fields | changes))
        return created

    def pay(self, payment: Payment, **changes: Any) -> Pay:  # noqa: ANN401 - the fields of the command
        """The customer's wish to pay it."""
        fields: dict[str, Any] = {
            "payment": payment.number,
            "person": self.customer.id,
            "payer": self.customer.account,
            "pin_macs": (PIN,),
        }
        return Pay(**fields | changes)

    def buy(self, **changes: Any) -> Payment:  # noqa: ANN401 - the fields of the command
        """A payment that the customer has paid to the shop."""
        paid: Payment = self.do(self.pay(self.create(**changes)))
        return paid

    def refund(self, payment: Payment, /, **changes: Any) -> RefundPayment:  # noqa: ANN401 - the fields of the command
        """The merchant's wish to give all of it back."""
        fields: dict[str, Any] = {
            "id": f"re_{len(self.refunds) + 1}",
            "payment": payment.number,
            "merchant": payment.merchant,
            "amount": None,
        }
        return RefundPayment(**fields | changes)

    def pay_as_test(self, payment: Payment, /, **changes: Any) -> PayAsTest:  # noqa: ANN401 - the fields of the command
        """The merchant's wish to see it paid by its test customer."""
        fields: dict[str, Any] = {
            "payment": payment.number,
            "merchant": payment.merchant,
            "payer": self.test_customer,
            "mint": self.mint,
            "has_funds": True,
        }
        return PayAsTest(**fields | changes)

    def held(self, account: int, currency: str = "USD") -> int:
        """The balance of an account, also of one that never held any."""
        balance = self.balances.get((account, currency))
        return balance.amount if balance else 0


@functools.cache
def _settled() -> Market:
    market = Market.__new__(Market)
    market.settle()
    return market
