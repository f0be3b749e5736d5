"""The words of names are written down in the commit in which a name begins, changes or goes."""

from qirsh.domain.account import Account
from qirsh.domain.name_word import NameKey, NameWord, name_keys
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def lock_name(account: Account | None, keys: RowKeys) -> None:
    """The words that an account may lose, as it was read a moment ago."""
    if account is not None:
        keys.name_words.update(name_keys(account))


def write_name(work: UnitOfWork, before: Account | None, after: Account) -> None:
    """For a new account, or for one that is called otherwise from now on."""
    old = frozenset[NameKey]() if before is None else name_keys(before)
    new = name_keys(after)
    for key in sorted(old - new):
        work.name_words.remove(key)
    for key in sorted(new - old):
        work.name_words.add(key, NameWord(*key))
