"""The words that people and businesses are found by: those of their names, folded as the words of payments are."""

from typing import Final

import msgspec

from qirsh.domain.account import Account, Kind
from qirsh.domain.limits import PAYMENT_WORD_CHARACTERS_MAX
from qirsh.domain.payment_word import fold

# Behind whatever begins with a word: no letter is greater.
_LAST: Final = "\U0010ffff"


# By kind first: there are ten times as many people as businesses, and who looks wants some of both.
NameKey = tuple[Kind, str, int]


class NameWord(msgspec.Struct, frozen=True):
    """A word of the name of a live account that belongs to a person or a business."""

    kind: Kind
    word: str
    account: int


def name_words(name: str) -> frozenset[str]:
    """Each word of a name, a single letter too: there are names of one. A longer one is known by its beginning."""
    return frozenset(word[:PAYMENT_WORD_CHARACTERS_MAX] for word in fold(name).split())


def words_of_account(account: Account) -> frozenset[str]:
    """What an account is found by. Test accounts and those of the house are found by their numbers only."""
    is_named = account.mode == "live" and account.kind != "house"
    return name_words(account.name) if is_named else frozenset()


def name_keys(account: Account) -> frozenset[NameKey]:
    """The same, as they are kept."""
    return frozenset((account.kind, word, account.number) for word in words_of_account(account))


def range_of(beginning: str) -> tuple[str, str]:
    """The first of the words that begin so, and what comes after the last."""
    return beginning, beginning + _LAST
