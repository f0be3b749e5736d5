"""What hands might type about statements of the bank: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

_LINE: Final = "(SELECT digest FROM bank_line WHERE {} LIMIT 1)"
_SLIP: Final = _LINE.format("matched = 'slip 0'")
_OTHER: Final = _LINE.format("currency = 'EUR'")
_FEE: Final = _LINE.format("amount < 0")
_MATCH: Final = "INSERT INTO bank_match VALUES (:house, '{}', {}, :first, 1, 'hand');"
_SAID: Final = "UPDATE bank_line SET matched = '{}' WHERE digest = {};"
_CHECK: Final = "bank_\\w+_check|CHECK"
_STATEMENT: Final = (
    "INSERT INTO bank_statement SELECT 'bs_9', {}, name, digest, imported_by, 1, first_day, last_day, lines, closing,"
    " time_zone, 'loading', 0 FROM bank_statement WHERE id = 'bs_1'"
)
_NOT_THE_SAME: Final = "not the same money"

BAD_BANK: Final[dict[str, tuple[str, str]]] = {
    "a match of other money": (_MATCH.format("slip 2", _OTHER) + _SAID.format("slip 2", _OTHER), _NOT_THE_SAME),
    "a match in the wrong direction": (
        _MATCH.format("slip 0", _FEE).replace("slip 0", "slip 4") + _SAID.format("slip 4", _FEE),
        _NOT_THE_SAME,
    ),
    "a match of another house's line": (
        "INSERT INTO bank_match SELECT :mint, 'slip 1', digest, :first, 1, 'hand' FROM bank_line LIMIT 1",
        f"{_NOT_THE_SAME}|foreign key",
    ),
    "a match that is changed": ("UPDATE bank_match SET how = 'hand', matched_by = :second", "matches never change"),
    "a match that the line does not say": (
        f"UPDATE bank_line SET matched = NULL WHERE digest = {_SLIP}",
        "does not say what its match says",
    ),
    "a line that says another order": (_SAID.format("slip 2", _SLIP), "does not say what its match says"),
    "a line that says an order without a match": (_SAID.format("slip 1", _OTHER), "does not say what its match says"),
    "a match in no way": (
        _MATCH.format("slip 1", _OTHER).replace("'hand'", "'guess'") + _SAID.format("slip 1", _OTHER),
        _CHECK,
    ),
    "a line of another amount": ("UPDATE bank_line SET amount = amount + 1", "what the bank says never changes"),
    "a line of another day": ("UPDATE bank_line SET day = '2027-01-01'", "what the bank says never changes"),
    "a line of another currency": ("UPDATE bank_line SET currency = 'SYP'", "what the bank says never changes"),
    "a line that no file has": (f"UPDATE bank_line SET files = 0 WHERE digest = {_FEE}", _CHECK),
    "a line of nothing": (
        (
            "INSERT INTO bank_line SELECT house, (SELECT hash FROM session), day, 0, currency, reference, text_sealed,"
            " added_at, 1, NULL FROM bank_line WHERE amount < 0"
        ),
        _CHECK,
    ),
    "a line of a statement that is moved": ("UPDATE bank_statement_line SET number = number + 9", "never change"),
    "a statement of a shop": (_STATEMENT.format(":shop"), "not of a live house account"),
    "a statement of test money": (_STATEMENT.format(":mint"), "not of a live house account"),
    "a statement of another file": (
        "UPDATE bank_statement SET name = 'x' WHERE id = 'bs_1'",
        "what was imported never changes",
    ),
    "another closing balance": ("UPDATE bank_statement SET closing = '{}'", "what was imported never changes"),
    "a statement that is imported with half of its lines": (
        "UPDATE bank_statement SET state = 'imported', stored = lines WHERE id = 'bs_2'",
        "imported without its lines",
    ),
    "a statement that is imported before its lines are": (
        "UPDATE bank_statement SET state = 'imported' WHERE id = 'bs_2'",
        f"imported without its lines|{_CHECK}",
    ),
    "a statement that comes back": (
        "UPDATE bank_statement SET state = 'loading' WHERE id = 'bs_3'",
        "imported once, and taken back once",
    ),
    "a statement that loads again": (
        "UPDATE bank_statement SET state = 'loading' WHERE id = 'bs_1'",
        "imported once, and taken back once",
    ),
    "a statement with more lines than it has": ("UPDATE bank_statement SET stored = lines + 1", _CHECK),
    "a statement that vanished": ("DELETE FROM bank_statement WHERE id = 'bs_3'", "never vanish"),
    "a format of a shop": ("INSERT INTO bank_format VALUES (:shop, '{}', :first, 1)", "not of a live house account"),
    "a format of another house account": ("UPDATE bank_format SET house = :mint", "house account never changes"),
    "a format that vanished": ("DELETE FROM bank_format", "never vanish"),
}
GOOD_BANK: Final[dict[str, str]] = {
    "a match by hand": _MATCH.format("slip 1", _OTHER) + _SAID.format("slip 1", _OTHER),
    "a match that is taken back": (
        "DELETE FROM bank_match; UPDATE bank_line SET matched = NULL WHERE matched = 'slip 0'"
    ),
    "a statement that is taken back": "UPDATE bank_statement SET state = 'undone' WHERE id = 'bs_2'",
}
BANK_TO_NOWHERE: Final[dict[str, str]] = {
    "a match without its line's word": _MATCH.format("slip 1", _OTHER),
    "a match that is taken back without its line": "DELETE FROM bank_match",
    "a line that vanished from its statement": f"DELETE FROM bank_line WHERE digest = {_FEE}",
    "a line of a statement of no line": ("INSERT INTO bank_statement_line SELECT 'bs_2', hash, :house, 9 FROM session"),
    "a line of no currency": (
        "INSERT INTO bank_line SELECT house, (SELECT hash FROM session), day, 1, 'XXX', reference, text_sealed,"
        " added_at, 1, NULL FROM bank_line WHERE amount < 0"
    ),
    "a line that says an order from the start": (
        "INSERT INTO bank_line SELECT house, (SELECT hash FROM session), day, amount, currency, reference, text_sealed,"
        " added_at, 1, 'slip 1' FROM bank_line WHERE currency = 'EUR'"
    ),
    "a format by nobody": "UPDATE bank_format SET changed_by = 404",
}
REPLACED_BANK: Final[dict[str, tuple[str, str]]] = {
    "a bank format replaced": (
        "INSERT OR REPLACE INTO bank_format SELECT house, '{}', changed_by, 1 FROM bank_format",
        "never replaced",
    ),
    "a bank statement replaced": (
        (
            "INSERT OR REPLACE INTO bank_statement SELECT id, house, 'x', digest, imported_by, 1, first_day, last_day,"
            " lines, closing, time_zone, state, stored FROM bank_statement WHERE id = 'bs_1'"
        ),
        "never replaced",
    ),
    "a bank line replaced": (
        (
            "INSERT OR REPLACE INTO bank_line SELECT house, digest, day, 1, currency, reference, text_sealed, added_at,"
            " files, matched FROM bank_line LIMIT 1"
        ),
        "never replaced",
    ),
    "a line of a bank statement replaced": (
        "INSERT OR REPLACE INTO bank_statement_line SELECT statement, line, house, 99 FROM bank_statement_line LIMIT 1",
        "never replaced",
    ),
    "a bank match replaced": (
        "INSERT OR REPLACE INTO bank_match SELECT house, reference, line, :second, 1, how FROM bank_match",
        "a line shows one order",
    ),
}
