"""Views of payments are saved and removed, by each of the staff for themselves."""

from typing import Final

from qirsh.domain.account import Account
from qirsh.domain.commands.saved_view import RemoveView, SaveView
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.rules.account_eligibility import lock_live_account, why_not_acting
from qirsh.domain.rules.staff_authority import by_member
from qirsh.domain.saved_view import SavedView, ViewKey, view_keys
from qirsh.domain.staff import Right
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def view_locks(command: SaveView | RemoveView, work: UnitOfWork, keys: RowKeys) -> None:
    account = work.accounts.get(command.account)
    if account is not None:
        keys.saved_views.update(_places(account, command.member))
    lock_live_account(work, command.account, keys)


def save(command: SaveView, work: UnitOfWork) -> SavedView | Refused:
    account = work.accounts.get(command.account)
    assert account is not None
    if why := why_not_acting(work, account):
        return Refused(why)
    assert command.name
    assert command.query
    own = {place: work.saved_views.get(place) for place in _places(account, command.member)}
    before = next((view for view in own.values() if view is not None and view.name == command.name), None)
    if before is not None:  # The same form again, or another view under this name.
        return before if before.query == command.query else Refused(Refusal.MOVE_NOT_ALLOWED)
    free = next((place for place, view in own.items() if view is None), None)
    if free is None:
        return Refused(Refusal.TOO_MANY)
    saved = SavedView(*free, id=command.id, name=command.name, query=command.query, created_at=work.now)
    work.saved_views.add(free, saved)
    # Without its name, which may tell of people and could never be erased there.
    work.note(f"person {command.member}", "view.saved", f"account {account.number}")
    return saved


def remove(command: RemoveView, work: UnitOfWork) -> SavedView | Refused:
    account = work.accounts.get(command.account)
    assert account is not None
    views = map(work.saved_views.get, _places(account, command.member))
    found = next((view for view in views if view is not None and view.id == command.id), None)
    if found is None:  # Also if it is somebody else's.
        return Refused(Refusal.NOT_FOUND)
    if why := why_not_acting(work, account):
        return Refused(why)
    work.saved_views.remove((found.account, found.person, found.mode, found.place))
    work.note(f"person {command.member}", "view.removed", f"account {account.number}")
    return found


def _places(account: Account, person: int) -> tuple[ViewKey, ...]:
    return tuple(view_keys(account.live_account or account.number, person, account.mode))


RULES: Final[Rules] = {
    SaveView: by_member(Rule(save, lock=view_locks), Right.SEE_PAYMENTS),
    RemoveView: by_member(Rule(remove, lock=view_locks), Right.SEE_PAYMENTS),
}
