"""A business chooses its colour, and asks for another name or logo; an operator approves or refuses that."""

from typing import Final

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.brand import Brand, BrandChange, ChangeState
from qirsh.domain.colour import is_colour, is_readable
from qirsh.domain.commands.brand import (
    ApproveBrandChange,
    RefuseBrandChange,
    RequestBrandChange,
    SetBrandColour,
    WithdrawBrandChange,
)
from qirsh.domain.counter import REVOCATION
from qirsh.domain.limits import LOGO_BYTES_MAX
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import why_not_acting
from qirsh.domain.rules.name_word import lock_name, write_name
from qirsh.domain.rules.operator_authority import by_operator
from qirsh.domain.rules.staff_authority import by_member, role_at
from qirsh.domain.staff import Right
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def brand_locks(
    command: SetBrandColour | RequestBrandChange | WithdrawBrandChange, _work: UnitOfWork, keys: RowKeys
) -> None:
    keys.brands.add(command.account)
    keys.brand_changes.add(command.account)


def set_colour(command: SetBrandColour, work: UnitOfWork) -> Brand | Refused:
    account = work.accounts.get(command.account)
    if account is None or account.mode != "live":
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    assert not command.colour or (is_colour(command.colour) and is_readable(command.colour))
    brand = _brand(work, account)
    if brand.colour != command.colour:
        brand = msgspec.structs.replace(brand, colour=command.colour)
        work.brands.put(brand.account, brand)
        work.note(f"person {command.member}", "account.colour_set", f"account {brand.account}", command.colour)
    return brand


def request(command: RequestBrandChange, work: UnitOfWork) -> BrandChange | Refused:
    account = work.accounts.get(command.account)
    if account is None or account.mode != "live":
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    before, brand = work.brand_changes.get(account.number), _brand(work, account)
    if before is not None and before.id == command.id:  # The same form again.
        return before
    if (command.name, command.logo) == (account.name, brand.logo):
        return Refused(Refusal.MOVE_NOT_ALLOWED)  # There is nothing to decide.
    picture = _picture(command, brand, before)
    if command.seen != ("" if before is None else before.id) or picture is None:
        return Refused(Refusal.CHANGED_MEANWHILE)
    assert len(picture) <= LOGO_BYTES_MAX
    asked = BrandChange(
        account=account.number,
        id=command.id,
        name=command.name,
        logo=command.logo,
        picture=picture,
        state="waiting",
        reason="",
        asked_by=command.member,
        asked_at=work.now,
    )
    work.brand_changes.put(account.number, asked)
    work.note(f"person {command.member}", "account.brand_requested", f"account {account.number}", asked.name)
    return asked


def _picture(command: RequestBrandChange, brand: Brand, before: BrandChange | None) -> bytes | None:
    """Of the logo, if customers do not see it yet; None if nobody has it any more."""
    if command.logo in {"", brand.logo}:
        return b""
    if command.picture:
        return command.picture
    is_kept = before is not None and before.state == "waiting" and before.logo == command.logo
    return before.picture if before is not None and is_kept else None


def withdraw(command: WithdrawBrandChange, work: UnitOfWork) -> BrandChange | Refused:
    account, found = work.accounts.get(command.account), work.brand_changes.get(command.account)
    if account is None or found is None or found.id != command.id:
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    if found.state != "waiting":
        return Refused(Refusal.MOVE_NOT_ALLOWED)
    work.note(f"person {command.member}", "account.brand_withdrawn", f"account {account.number}", found.name)
    return _end(work, found, "withdrawn")


def decision_reads(command: ApproveBrandChange | RefuseBrandChange, keys: RowKeys) -> None:
    keys.accounts.add(command.account)


def refuse_locks(command: ApproveBrandChange | RefuseBrandChange, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.accounts.add(command.account)
    keys.brand_changes.add(command.account)
    keys.members.add((command.account, command.operator))


def approve_locks(command: ApproveBrandChange, work: UnitOfWork, keys: RowKeys) -> None:
    refuse_locks(command, work, keys)
    keys.brands.add(command.account)
    keys.counters.add(REVOCATION)  # Accounts are not locked: whoever changes one holds this.
    keys.accounts.add(command.test_account)
    lock_name(work.accounts.get(command.account), keys)


def approve(command: ApproveBrandChange, work: UnitOfWork) -> BrandChange | Refused:
    account, test = work.accounts.get(command.account), work.accounts.get(command.test_account)
    found = _to_decide(command, work)
    if account is None or test is None or (test.live_account, test.kind) != (account.number, "commercial"):
        return Refused(Refusal.NOT_FOUND)
    if type(found) is Refused:
        return found
    assert type(found) is BrandChange
    brand = _brand(work, account)
    if found.logo != brand.logo:
        work.brands.put(account.number, msgspec.structs.replace(brand, logo=found.logo, picture=found.picture))
    if found.name != account.name:
        for each in (account, test):
            named = msgspec.structs.replace(each, name=found.name, updated_at=work.now)
            work.accounts.change(named.number, named)
            write_name(work, each, named)
    work.post(command.letters)
    detail = f"{account.name} -> {found.name}" if found.name != account.name else found.name
    work.note(command.actor, "account.brand_approved", f"account {account.number}", detail)
    return _end(work, found, "approved", operator=command.operator)


def refuse(command: RefuseBrandChange, work: UnitOfWork) -> BrandChange | Refused:
    found = _to_decide(command, work)
    if type(found) is Refused:
        return found
    assert type(found) is BrandChange
    work.post(command.letters)
    work.note(command.actor, "account.brand_refused", f"account {found.account}", command.reason)
    return _end(work, found, "refused", operator=command.operator, reason=command.reason)


def _to_decide(command: ApproveBrandChange | RefuseBrandChange, work: UnitOfWork) -> BrandChange | Refused:
    account, found = work.accounts.get(command.account), work.brand_changes.get(command.account)
    # The shop may have asked anew after the operator has looked, and this is no longer what was to be decided on.
    if account is None or found is None or found.id != command.id:
        return Refused(Refusal.NOT_FOUND)
    if isinstance(command, ApproveBrandChange) and (why := why_not_acting(work, account)):
        return Refused(why)
    if found.asked_by == command.operator or role_at(work, account.number, command.operator) is not None:
        return Refused(Refusal.OWN_REQUEST)
    return found if found.state == "waiting" else Refused(Refusal.MOVE_NOT_ALLOWED)


def _end(
    work: UnitOfWork, change: BrandChange, state: ChangeState, *, operator: int | None = None, reason: str = ""
) -> BrandChange:
    """Its picture is that of the brand by now, or nobody's."""
    ended: BrandChange = msgspec.structs.replace(
        change,
        picture=b"",
        state=state,
        reason=reason,
        decided_by=operator,
        decided_at=None if operator is None else work.now,
    )
    work.brand_changes.change(ended.account, ended)
    return ended


def _brand(work: UnitOfWork, account: Account) -> Brand:
    return work.brands.get(account.number) or Brand(account.number)


RULES: Final[Rules] = {
    SetBrandColour: by_member(Rule(set_colour, lock=brand_locks), Right.MANAGE_SHOP),
    RequestBrandChange: by_member(Rule(request, lock=brand_locks), Right.MANAGE_SHOP),
    WithdrawBrandChange: by_member(Rule(withdraw, lock=brand_locks), Right.MANAGE_SHOP),
    ApproveBrandChange: by_operator(Rule(approve, lock=approve_locks, read_first=decision_reads), OperatorRight.DECIDE),
    RefuseBrandChange: by_operator(Rule(refuse, lock=refuse_locks, read_first=decision_reads), OperatorRight.DECIDE),
}
