"""How a business works with its customers: addresses, times and days."""

from typing import Final

import msgspec

from qirsh.domain.account import Account, may_return_to
from qirsh.domain.business import Business
from qirsh.domain.commands.shop_settings import SetPaymentDefaults, SetTimeZone
from qirsh.domain.counter import REVOCATION
from qirsh.domain.limits import EXPIRES_IN_S_MAX, EXPIRES_IN_S_MIN
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import lock_live_account, why_not_acting
from qirsh.domain.rules.staff_authority import by_member
from qirsh.domain.staff import Right
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork

_DEFAULTS: Final = ("return_origins", "return_url", "cancel_url", "expires_in_s")


def defaults_locks(command: SetPaymentDefaults, work: UnitOfWork, keys: RowKeys) -> None:
    keys.counters.add(REVOCATION)  # Accounts are not locked: whoever changes one holds this.
    keys.accounts.add(command.account)
    lock_live_account(work, command.account, keys)


def set_defaults(command: SetPaymentDefaults, work: UnitOfWork) -> Account | Refused:
    account = work.accounts.get(command.account)
    assert account is not None
    if why := why_not_acting(work, account):
        return Refused(why)
    assert EXPIRES_IN_S_MIN <= command.expires_in_s <= EXPIRES_IN_S_MAX
    changed: Account = msgspec.structs.replace(
        account,
        return_origins=command.return_origins,
        return_url=command.return_url,
        cancel_url=command.cancel_url,
        expires_in_s=command.expires_in_s,
    )
    urls = {"return_url": command.return_url, "cancel_url": command.cancel_url}
    if fields := tuple(name for name, url in urls.items() if url is not None and not may_return_to(changed, url)):
        return Refused(Refusal.URL_NOT_REGISTERED, fields=fields)
    if changed != account:
        names = [name for name in _DEFAULTS if getattr(changed, name) != getattr(account, name)]
        changed = msgspec.structs.replace(changed, updated_at=work.now)
        work.accounts.change(changed.number, changed)
        # Which, and not what: addresses may have secrets in them.
        subject = f"account {changed.number}"
        work.note(f"person {command.member}", "account.payment_defaults_set", subject, " ".join(names))
    return changed


def zone_locks(command: SetTimeZone, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.businesses.add(command.account)


def set_zone(command: SetTimeZone, work: UnitOfWork) -> Business | Refused:
    business = work.businesses.get(command.account)
    if business is None:  # A test account has none of its own.
        return Refused(Refusal.NOT_FOUND)
    account = work.accounts.get(command.account)
    assert account is not None
    if why := why_not_acting(work, account):
        return Refused(why)
    if business.time_zone != command.time_zone:
        business = msgspec.structs.replace(business, time_zone=command.time_zone)
        work.businesses.change(business.account, business)
        subject = f"account {business.account}"
        work.note(f"person {command.member}", "account.time_zone_set", subject, command.time_zone)
    return business


RULES: Final[Rules] = {
    SetPaymentDefaults: by_member(Rule(set_defaults, lock=defaults_locks), Right.INTEGRATE),
    SetTimeZone: by_member(Rule(set_zone, lock=zone_locks), Right.MANAGE_SHOP),
}
