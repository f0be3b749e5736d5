"""People and businesses are found by the words of their names, whatever becomes of these names."""

from qirsh.domain.commands.brand import ApproveBrandChange
from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.name_word import name_words, range_of, words_of_account
from tests.domain.brand_cases import asking_for_brand
from tests.domain.market import Market
from tests.domain.people_invariant import PEOPLE


def words(market: Market, account: int) -> set[str]:
    return {word for _, word, number in market.name_words if number == account}


def test_words_of_names_are_folded_and_a_single_letter_is_one_of_them() -> None:
    assert name_words("Şükrü  O'Neil-Çelik") == {"sukru", "o", "neil", "celik"}
    assert name_words("محمّد الأحمد") == {"محمد", "الاحمد"}
    assert name_words("") == frozenset()
    assert {len(word) for word in name_words("x" * 100)} == {40}


def test_every_word_that_begins_so_lies_in_the_range_and_no_other_does() -> None:
    first, after = range_of("sar")
    assert all(first <= word < after for word in ("sar", "sara", "sarz\U0010fffe"))
    assert not any(first <= word < after for word in ("sa", "sas", "saq", "t"))


def test_a_person_and_a_business_are_found_from_their_first_moment() -> None:
    market = Market()
    assert words(market, market.other.account) == {"other", "customer"}
    shop = market.accounts[market.open_shop(market.owner)]
    assert words(market, shop.number) == words_of_account(shop) != frozenset()


def test_test_accounts_and_those_of_the_house_have_no_words() -> None:
    market = Market()
    for account in (market.house, market.till, market.test_customer, market.mint):
        assert words(market, account) == set()


def test_a_new_name_is_found_and_the_old_one_is_not() -> None:
    market = Market()
    before = market.accounts[market.shop].name
    market.do(asking_for_brand(market, name=f"Brand New {before.split()[-1]}"))
    market.do(ApproveBrandChange(market.shop, "bc_1", market.till, market.second.id, "test"))
    assert words(market, market.shop) == name_words(f"brand new {before.split()[-1]}")
    assert words(market, market.till) == set()


def test_who_is_erased_is_found_by_no_word() -> None:
    market = Market()
    person = market.join("New Comer")
    assert words(market, person.account) == {"new", "comer"}
    market.do(ErasePerson(person.id, person.account, "new.comer@example.com", (), (), "test"))
    assert words(market, person.account) == set()


def test_the_invariant_notices_a_word_too_few_and_a_word_too_many() -> None:
    market = Market()
    assert [told for check in PEOPLE for told in check(market)] == []
    key = next(iter(market.name_words))
    row = market.name_words.pop(key)
    assert [told for check in PEOPLE for told in check(market)] != []
    market.name_words[key] = row
    market.name_words["commercial", "other", market.house] = row
    assert [told for check in PEOPLE for told in check(market)] != []
