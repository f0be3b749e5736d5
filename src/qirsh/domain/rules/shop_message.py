"""Operators and the owner of a business write to each other, whatever state the business is in, until it is closed."""

from typing import Final

import msgspec

from qirsh.domain.commands.shop_message import ReadShopMessages, WriteToOperators, WriteToShop
from qirsh.domain.counter import messages_in_a_row
from qirsh.domain.limits import MESSAGE_CHARACTERS_MAX, MESSAGES_IN_A_ROW_MAX
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.operator_authority import by_operator, is_party, lock_party
from qirsh.domain.rules.staff_authority import by_member
from qirsh.domain.shop_message import Author, ShopMessage
from qirsh.domain.staff import Right
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def write_locks(command: WriteToShop | WriteToOperators, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.shop_messages.add(command.id)
    keys.counters.add(messages_in_a_row(command.account))
    keys.accounts.add(command.account)


def write_to_shop_locks(command: WriteToShop, work: UnitOfWork, keys: RowKeys) -> None:
    write_locks(command, work, keys)
    lock_party(command.account, command.operator, keys)


def write_to_shop(command: WriteToShop, work: UnitOfWork) -> ShopMessage | Refused:
    if why := _why_not_writing(work, command.account):
        return Refused(why)
    account = work.accounts.get(command.account)
    assert account is not None
    if is_party(work, account, command.operator):
        return Refused(Refusal.OWN_REQUEST)
    before = work.shop_messages.get(command.id)
    if before is not None:
        return before if before.account == command.account else Refused(Refusal.NOT_FOUND)
    message = _written(work, command, "operator", command.operator)
    in_a_row = messages_in_a_row(command.account)
    if work.counted(in_a_row):
        work.count(in_a_row, -work.counted(in_a_row))
    work.post(command.letters)
    work.note(command.actor, "message.sent", f"account {command.account}", command.id)
    return message


def write_to_operators(command: WriteToOperators, work: UnitOfWork) -> ShopMessage | Refused:
    if why := _why_not_writing(work, command.account):
        return Refused(why)
    before = work.shop_messages.get(command.id)
    if before is not None:  # The same form again.
        return before if before.account == command.account else Refused(Refusal.NOT_FOUND)
    # Whoever is not answered is not answered sooner by more of the same.
    if work.counted(messages_in_a_row(command.account)) >= MESSAGES_IN_A_ROW_MAX:
        return Refused(Refusal.TOO_MANY)
    message = _written(work, command, "owner", command.member)
    work.count(messages_in_a_row(command.account))
    work.note(f"person {command.member}", "message.answered", f"account {command.account}", command.id)
    return message


def _why_not_writing(work: UnitOfWork, number: int) -> Refusal | None:
    account = work.accounts.get(number)
    if account is None or account.kind != "commercial" or account.mode != "live":
        return Refusal.NOT_FOUND
    return Refusal.ACCOUNT_SUSPENDED if account.state == "closed" else None


def _written(work: UnitOfWork, command: WriteToShop | WriteToOperators, author: Author, person: int) -> ShopMessage:
    assert 0 < len(command.text) <= MESSAGE_CHARACTERS_MAX
    message = ShopMessage(
        id=command.id, account=command.account, author=author, person=person, text=command.text, at=work.now
    )
    work.shop_messages.add(message.id, message)
    return message


def read_locks(command: ReadShopMessages, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.shop_messages.update(command.ids)


def read(command: ReadShopMessages, work: UnitOfWork) -> int:
    assert (command.member is None) != (command.operator is None)
    other: Author = "owner" if command.member is None else "operator"
    new = 0
    for name in command.ids:
        message = work.shop_messages.get(name)
        if message is not None and (message.account, message.author, message.read_at) == (command.account, other, None):
            work.shop_messages.change(name, msgspec.structs.replace(message, read_at=work.now))
            new += 1
    return new


RULES: Final[Rules] = {
    WriteToShop: by_operator(Rule(write_to_shop, lock=write_to_shop_locks), OperatorRight.WRITE_TO_SHOPS),
    WriteToOperators: by_member(Rule(write_to_operators, lock=write_locks), Right.ANSWER_OPERATORS),
    ReadShopMessages: by_operator(
        by_member(Rule(read, lock=read_locks), Right.ANSWER_OPERATORS), OperatorRight.WRITE_TO_SHOPS
    ),
}
