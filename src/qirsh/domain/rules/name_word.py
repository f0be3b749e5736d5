"""The words of names are written down in the commit in which a name begins, changes or goes."""

from qirsh.domain.account import Account
from qirsh.domain.name_word import NameWord, words_of_account
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def lock_name(account: Account | None, keys: RowKeys) -> None:
    """The words that an account may lose, as it was read a moment ago."""
    if account is not None:
        keys.name_words.update((word, account.number) for word in words_of_account(account))


def write_name(work: UnitOfWork, before: Account | None, after: Account) -> None:
    """For a new account, or for one that is called otherwise from now on."""
    old = frozenset[str]() if before is None else words_of_account(before)
    new = words_of_account(after)
    for word in sorted(old - new):
        work.name_words.remove((word, after.number))
    for word in sorted(new - old):
        work.name_words.add((word, after.number), NameWord(word, after.number))
