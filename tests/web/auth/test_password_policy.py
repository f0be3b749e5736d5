"""One judge of passwords and PINs, for pages and for what operators type."""

import gzip
from collections.abc import Iterator
from itertools import pairwise

import pytest
from zxcvbn import zxcvbn  # type: ignore[import-untyped]

from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN
from qirsh.web.auth import password_policy
from qirsh.web.auth.password_policy import LEAKED, is_leaked, is_weak_pin, password_fault
from qirsh.web.operator.action import ActionRefused, Actor
from qirsh.web.operator.actions import ACTIONS
from tests.leaked_passwords import most_used
from tests.live import PIN, InProcess, in_process

ABOUT = ("Samir Haddad", "samir.h@shop.example")


@pytest.fixture(scope="module")
def desk() -> Iterator[InProcess]:
    with in_process(shops=0, people=0) as world:
        yield world


def test_a_weak_password_is_refused_on_pages_and_to_operators(desk: InProcess, subtests: pytest.Subtests) -> None:
    for password in [
        *("Damascus2026", "2026Damascus!", "Aleppo1234567", "Istanbul2025", "Deirezzor2026", "Basketball2026"),
        *("Qirsh2026!!!", "qirsh-123456", "SamirHaddad1990", "Haddad!!2026!!", "samir.h.shop.2026"),
        *("aaaaaaaaaaaa", "password1234", "qwertyuiop12", "123456789012", "دمشق2026دمشق"),
    ]:
        with subtests.test(password=password):
            assert desk.run(password_fault(desk.context, password, "en", *ABOUT))
            words = {"name": ABOUT[0], "email": ABOUT[1], "password": password, "pin": PIN}
            reply = desk.run(desk.tried("person add", words))
            assert (reply.done, reply.code) == (None, "invalid")
            assert reply.detail.startswith("password: ")


@pytest.mark.parametrize(
    "password", ["correct horse battery", "seven green lamps at noon", "v9#Lq2!xTz0p", "Damascus lamps 2026 green"]
)
def test_a_good_password_is_taken(desk: InProcess, password: str) -> None:
    assert desk.run(password_fault(desk.context, password, "en", *ABOUT)) == ""


def test_a_leaked_password_is_refused_also_in_other_case_and_with_figures_behind(
    desk: InProcess, subtests: pytest.Subtests
) -> None:
    for password in [
        *("thisismypassword", "ThisIsMyPassword", "thisismypassword1", "Thisismypassword2026!", "1qaz2wsx3edc"),
        *("1QAZ2WSX3EDC!", "gfhjkmgfhjkm", "gfhjkmgfhjkm99", "seniseviyorum"),
    ]:
        with subtests.test(password=password):
            fault = desk.run(password_fault(desk.context, password, "en"))
            assert fault == "This password is on lists of common passwords. Choose a few unrelated words."


@pytest.mark.parametrize(
    "password", ["Sifre123456!", "insallah12345", "Allah1234567!", "benimsifrem12", "subhanallah12"]
)
def test_the_first_thought_of_people_here_is_refused(desk: InProcess, password: str) -> None:
    assert desk.run(password_fault(desk.context, password, "en"))


def test_the_list_of_leaked_passwords_holds_the_most_used_that_are_long_enough() -> None:
    listed = gzip.decompress(LEAKED.read_bytes()).decode().splitlines()
    assert len(listed) == 25_000
    assert all(before < after for before, after in pairwise(listed))
    assert all(len(line) >= PASSWORD_CHARACTERS_MIN and line == line.casefold() for line in listed)
    assert all(map(is_leaked, listed))
    assert LEAKED.stat().st_size < 200_000


def test_what_only_begins_like_a_leaked_password_is_another() -> None:
    assert is_leaked("thisismypassword12345")
    assert not is_leaked("thisismypassword123456")
    assert not is_leaked("thisismypasswordtoo")
    assert not is_leaked("")


def test_of_a_source_those_are_kept_that_could_be_chosen_each_once() -> None:
    assert most_used(["short", "Z" * 12, "z" * 12, "cafe\u0301 au lait", "a" * 11]) == ["caf\u00e9 au lait", "z" * 12]


@pytest.mark.parametrize(
    "pin",
    [
        *("000000", "123456", "987654", "135791", "121212", "123123", "123321", "112233", "000001", "454554"),
        *("199011", "111990", "200512", "242008"),
    ],
)
def test_a_weak_pin_is_refused_on_pages_and_to_operators(desk: InProcess, pin: str) -> None:
    assert is_weak_pin(pin)
    words = {"name": "Nour", "email": "nour@home.example", "password": "seven green lamps at noon", "pin": pin}
    assert desk.run(desk.tried("person add", words)).detail.startswith("pin: is easy to guess")


@pytest.mark.parametrize("pin", [PIN, "739214", "864209", "482913", "305172"])
def test_other_pins_are_taken(pin: str) -> None:
    assert not is_weak_pin(pin)


def test_the_first_operator_is_judged_too(desk: InProcess) -> None:
    words = {"email": "x@bank.example", "name": "X", "password": "a" * 12}
    with pytest.raises(ActionRefused, match="password: "):
        desk.run(_created(desk, words))


async def _created(desk: InProcess, words: dict[str, str]) -> None:
    await ACTIONS["operator create"].run(desk.context, Actor(None), dict(words))


@pytest.mark.parametrize("part", ["4@8({[<3691!|70$5+2%", "4@8({[<369&61!|7$5+%z", "p4$$w0rd!1", "abc", "x"])
def test_the_estimate_is_given_short_stretches_of_a_password_and_few_of_them(
    desk: InProcess, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    given = []

    def estimate(password: str, words: list[str]) -> object:
        given.append(len(password))
        return zxcvbn(password, words)

    monkeypatch.setattr(password_policy, "zxcvbn", estimate)
    longest = (part * PASSWORD_CHARACTERS_MAX)[:PASSWORD_CHARACTERS_MAX]
    desk.run(password_fault(desk.context, longest, "en"))
    assert max(given) <= 24  # Some of these take minutes at 100.
    assert len(given) <= 6
    given.clear()
    assert desk.run(password_fault(desk.context, longest + "x", "en"))
    assert given == []
