"""House accounts are opened: those of the first start by the service, one for each account at a bank by two admins."""

from typing import Final

from qirsh.domain.account import Account
from qirsh.domain.bank_order import BANK, CORRECTIONS
from qirsh.domain.commands.account import OpenHouse, OpenHouseAccount
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal
from qirsh.domain.counter import ACCOUNT, house_accounts
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.proposal import Proposal
from qirsh.domain.refusal import Refusal
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account import open_account
from qirsh.domain.rules.proposed import ProposedRule, ProposedRules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def open_house_locks(command: OpenHouse | OpenHouseAccount, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.update({ACCOUNT, house_accounts(command.name)})


def open_house(command: OpenHouse | OpenHouseAccount, work: UnitOfWork) -> Account:
    work.count(house_accounts(command.name))
    return open_account(work, kind="house", name=command.name, account_state="open")


def why_not_open(command: OpenHouse, work: UnitOfWork, _by: object) -> Refusal | None:
    is_reserved = command.name.casefold() in {BANK, CORRECTIONS}
    return Refusal.NAME_TAKEN if is_reserved or work.counted(house_accounts(command.name)) else None


def carry_out(command: OpenHouse, work: UnitOfWork, _proposal: Proposal, _by: AskProposal | ConfirmProposal) -> None:
    open_house(command, work)


RULES: Final[Rules] = {OpenHouseAccount: Rule(open_house, lock=open_house_locks)}
PROPOSED: Final[ProposedRules] = {
    OpenHouse: ProposedRule(
        action=lambda _: "house open",
        subject=lambda command: f"house {command.name}",
        asked=lambda _: "house.asked",
        done=lambda _: "house.opened",
        ask=OperatorRight.ASK_SETUP,
        confirm=OperatorRight.CONFIRM_SETUP,
        why_not=why_not_open,
        carry_out=carry_out,
        lock=open_house_locks,
    ),
}
