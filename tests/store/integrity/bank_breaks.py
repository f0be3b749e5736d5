"""What breaks the invariants of bank statements: `test_invariants` types it."""

from typing import Final

_PAIR: Final = "a bank line and the bank order that it shows are the same money, and know each other"
_SAID: Final = "a bank line that shows an order is matched with it"
_LINES: Final = "a bank statement has the lines that it says"
_FILES: Final = "a bank line knows how many statements have it"
_MATCHED: Final = "bank order slip 0 of account {house} is matched with a line of"

BROKEN_BANK: Final[list[tuple[str, str, str]]] = [
    (
        _PAIR,
        "UPDATE bank_line SET amount = 5 WHERE matched = 'slip 0'",
        f"{_MATCHED} 5 USD, which says it shows slip 0; its transfer is 100000 USD",
    ),
    (
        _PAIR,
        "UPDATE bank_line SET amount = -amount WHERE matched = 'slip 0'",
        f"{_MATCHED} -100000 USD, which says it shows slip 0; its transfer is 100000 USD",
    ),
    (
        _PAIR,
        "UPDATE bank_line SET currency = 'EUR' WHERE matched = 'slip 0'",
        f"{_MATCHED} 100000 EUR, which says it shows slip 0; its transfer is 100000 USD",
    ),
    (
        _PAIR,
        "UPDATE bank_line SET matched = NULL WHERE matched = 'slip 0'",
        f"{_MATCHED} 100000 USD, which says it shows nothing; its transfer is 100000 USD",
    ),
    (
        _SAID,
        "DELETE FROM bank_match",
        "a line of 100000 USD on 2027-01-15 at account {house} says it shows slip 0, and no match does",
    ),
    (
        _LINES,
        "DELETE FROM bank_statement_line WHERE statement = 'bs_1' AND number = 5",
        "bank statement bs_1 of account {house} is imported with 3 of 3 lines, and has 2",
    ),
    (
        _LINES,
        "UPDATE bank_statement SET state = 'imported' WHERE id = 'bs_2'",
        "bank statement bs_2 of account {house} is imported with 1 of 3 lines, and has 1",
    ),
    (
        _FILES,
        "UPDATE bank_line SET files = 9 WHERE amount < 0",
        "a line of -250 USD on 2027-01-16 at account {house} says that 9 statements have it, and 1 do",
    ),
]
