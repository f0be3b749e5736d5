"""`verify` finds an account that is not found by the words of its name, or by others."""

from typing import Final

import pytest

from qirsh.store.integrity import name_words
from tests.store.filled import FILLED, Hand

SHOP = FILLED.shop


def told(hand: Hand) -> list[str]:
    return [violation.sentence for violation in name_words.violations(hand.type)]


def test_a_database_that_commands_have_made_has_every_word(any_hand: Hand) -> None:
    assert told(any_hand) == []


TYPED: Final = {
    "DELETE FROM name_word WHERE account = :shop AND word = '{word}'": "account {shop} is not found by '{word}'",
    "INSERT INTO name_word VALUES ('commercial', 'zzz', :shop)": "account {shop} is found by 'zzz'",
    "UPDATE account SET name = name || ' qqq' WHERE number = :shop": "account {shop} is not found by 'qqq'",
}


def test_a_word_too_few_and_a_word_too_many_are_named(subtests: pytest.Subtests, any_hand: Hand) -> None:
    word = min(word for _, word, account in FILLED.name_words if account == SHOP)
    any_hand.disarm()
    for sql, sentence in TYPED.items():
        with subtests.test(sql), any_hand.tentative():
            any_hand.type(sql.format(word=word))
            assert any(each.startswith(sentence.format(shop=SHOP, word=word)) for each in told(any_hand))
