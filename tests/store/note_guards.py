"""What hands might type about notes and the words of names: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

_SEALED: Final = "(SELECT secret_sealed FROM webhook_endpoint WHERE id = 'we_1')"  # As bytes.
_NOTHING: Final = "(SELECT secret_sealed FROM webhook_endpoint WHERE id = 'we_gone')"
_NOTE: Final = "INSERT INTO note VALUES ('note_new', {}, {}, {}, 1)"
_CHECK: Final = "note_\\w*check|name_word_\\w*check|CHECK"
_ABOUT_SHOP: Final = "'account ' || CAST(:shop AS TEXT)"

BAD_NOTES: Final[dict[str, tuple[str, str]]] = {
    "a note that says something else": (
        "UPDATE note SET text_sealed = (SELECT text_sealed FROM note WHERE id = 'note_2') WHERE id = 'note_1'",
        "never change",
    ),
    "a note about something else": ("UPDATE note SET subject = 'person 1' WHERE id = 'note_1'", "never change"),
    "a note by another": ("UPDATE note SET person = :first", "never change"),
    "a note of another time": ("UPDATE note SET at = at - 1", "never change"),
    "a note that vanished": ("DELETE FROM note", "never vanish"),
    "a note about a shop, emptied": (
        f"UPDATE note SET text_sealed = {_NOTHING} WHERE id = 'note_1'",
        "until the person",
    ),
    "a note about a person, emptied": (
        f"UPDATE note SET text_sealed = {_NOTHING} WHERE id = 'note_2'",
        "until the person",
    ),
    "a note about an erased person, filled again": (
        f"UPDATE note SET text_sealed = {_SEALED} WHERE id = 'note_gone'",
        "never change",
    ),
    "a note of nothing": (_NOTE.format(_ABOUT_SHOP, ":first", _NOTHING), "says nothing"),
    "a note of a customer": (
        _NOTE.format(_ABOUT_SHOP, "(SELECT owner FROM account WHERE number = :customer)", _SEALED),
        "no operator",
    ),
    "a note about a test account": (
        _NOTE.format("'account ' || CAST(:till AS TEXT)", ":first", _SEALED),
        "nothing that is there",
    ),
    "a note about a personal account": (
        _NOTE.format("'account ' || CAST(:customer AS TEXT)", ":first", _SEALED),
        "nothing that is there",
    ),
    "a note about no payment": (_NOTE.format("'payment 404404'", ":first", _SEALED), "nothing that is there"),
    "a note about no person": (_NOTE.format("'person 404404'", ":first", _SEALED), "nothing that is there"),
    "a note about a colour": (_NOTE.format("'colour 7'", ":first", _SEALED), f"nothing that is there|{_CHECK}"),
    "a word of a name that changes": ("UPDATE name_word SET word = 'x' WHERE account = :customer", "never change"),
    "a word of nothing": ("INSERT INTO name_word VALUES ('commercial', '', :shop)", _CHECK),
    "a word of a test account": ("INSERT INTO name_word VALUES ('commercial', 'x', :till)", "not found by its name"),
    "a word of a person as one of a business": (
        "INSERT INTO name_word VALUES ('commercial', 'x', :customer)",
        "not found by its name",
    ),
    "a word of the house": ("INSERT INTO name_word VALUES ('commercial', 'x', :house)", "not found by its name"),
}
GOOD_NOTES: Final[dict[str, str]] = {
    "a note about a payment": _NOTE.format("'payment ' || CAST(:paid AS TEXT)", ":second", _SEALED),
    "a note under another secret": "UPDATE note SET text_sealed = " + _SEALED + " WHERE id = 'note_1'",
}
NOTES_TO_NOWHERE: Final[dict[str, str]] = {
    "a word of no account": "INSERT INTO name_word VALUES ('personal', 'x', 404)",
}
REPLACED_NOTES: Final[dict[str, tuple[str, str]]] = {
    "a note replaced": (
        "INSERT OR REPLACE INTO note SELECT id, subject, person, text_sealed, 1 FROM note WHERE id = 'note_1'",
        "never replaced",
    ),
}
