"""Whether people and businesses are found by the words of their names: folding is ours, so no query can tell."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from qirsh.domain.account import Account
from qirsh.domain.name_word import NameKey, name_keys
from qirsh.store.integrity.invariant import ROWS_NAMED_MAX, Invariant, Select, Violation
from qirsh.store.interface import Query

_ROWS_AT_ONCE: Final = 500
_ACCOUNT: Final = ", ".join(Account.__struct_fields__)

NAMES: Final = Invariant(
    15, "an account is found by the words of its name", "{}", Query("SELECT count(*) FROM name_word")
)


def violations(select: Select) -> list[Violation]:
    """Some hundred accounts at a time; at best on one snapshot."""
    return [Violation(NAMES.number, NAMES.name, sentence) for sentence in islice(_sentences(select), ROWS_NAMED_MAX)]


def _sentences(select: Select) -> Iterator[str]:
    last = 0
    while accounts := [
        Account(*row)
        for row in select(
            f"SELECT {_ACCOUNT} FROM account WHERE number > {last} ORDER BY number LIMIT {_ROWS_AT_ONCE}"  # noqa: S608 - numbers and our own names
        )
    ]:
        first, last = last, accounts[-1].number
        written: dict[int, set[NameKey]] = {}
        for kind, word, number in list(
            select(f"SELECT kind, word, account FROM name_word WHERE account > {first} AND account <= {last}")  # noqa: S608 - numbers
        ):
            written.setdefault(number, set()).add((kind, word, number))
        for account in accounts:
            expected, found = name_keys(account), written.get(account.number, set())
            for _, word, _ in sorted(expected - found):
                yield f"account {account.number} is not found by '{word}', a word of its name"
            for _, word, _ in sorted(found - expected):
                yield f"account {account.number} is found by '{word}', which is no word of its name"
