"""What a new password and a new payment PIN must be like: the one judge of pages and of the command line."""

import gzip
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Final

from zxcvbn import zxcvbn  # type: ignore[import-untyped]

from qirsh.domain.limits import (
    FIGURES_GUESSES_MIN,
    PASSWORD_CHARACTERS_MAX,
    PASSWORD_CHARACTERS_MIN,
    PASSWORD_GUESSES_MIN,
)
from qirsh.domain.person import is_pin
from qirsh.engine.passwords import composed
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.web.http.context import Context

LEAKED: Final = Path(__file__).parent / "leaked/passwords.txt.gz"
_LOOKED_AT: Final = 100
# What people here think of first, and dictionaries of English do not know.
_OURS: Final = re.findall(
    r"\w+",
    """
    qirsh syria souria suriye damascus dimashq aleppo halab homs hama latakia lattakia tartus tartous deirezzor raqqa
    idlib daraa qamishli suwayda sweida hasakah palmyra istanbul ankara izmir gaziantep antep adana mersin hatay konya
    bursa turkiye beirut amman baghdad sifre sifrem parola parolam benim allah allahu akbar insallah masallah
    subhanallah bismillah elhamdulillah lailaha illallah habibi habibti askim canim seviyorum ataturk mustafakemal
    galatasaray fenerbahce besiktas
    قرش سوريا الشام دمشق حلب حمص حماة اللاذقية طرطوس الرقة إدلب درعا القامشلي
    """,
)
# The judge's time grows with the square of the length, and beyond all bounds with letters written as digits and signs.
# A password is as good as its best stretch: an attacker who guesses it must guess that as well.
_STRETCH: Final = 24
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_WORD_MIN: Final = 3  # Letters: fewer are no word.
_FEW_DIGITS: Final = 2
_FIGURES_BEHIND_MAX: Final = 5  # A year and a sign, put behind a password that is known.
_FIRST_YEAR, _LAST_YEAR = 1930, 2029
_judging = Lock()  # It keeps the user's own words in a global.

_COMMON: Final = _("This password is on lists of common passwords. Choose a few unrelated words.")
_OWN: Final = _("This password is made of your name or address. Choose a few unrelated words.")
_ROW: Final = _("Keyboard rows and sequences of letters or digits are easy to guess. Add a few words.")
_REPEATED: Final = _("A password with repetitions is easy to guess. Add a few different words.")
_DATE: Final = _("Dates and years are easy to guess. Add a few words.")
_WORD: Final = _("This password is easy to guess. Add a few unrelated words.")
_REASONS: Final = {"spatial": _ROW, "sequence": _ROW, "repeat": _REPEATED, "date": _DATE, "regex": _DATE}


async def password_fault(context: Context, password: str, language: str, *about: str) -> str:
    """What is wrong with it as a new password of a person about whom this is known; empty if nothing is."""
    length = len(composed(password))
    if length < PASSWORD_CHARACTERS_MIN:
        message = _("Use at least %(least)s characters. A few words are easy to remember.")
        return text(language, message, least=PASSWORD_CHARACTERS_MIN)
    if len(password) > PASSWORD_CHARACTERS_MAX:
        return text(language, _("Use at most %(most)s characters."), most=PASSWORD_CHARACTERS_MAX)
    words = [*(word for given in about for word in (given, *_words(given)) if word), *_OURS]
    fault = await context.passwords.run(lambda: _guessable(composed(password)[:_LOOKED_AT], words))
    return text(language, fault) if fault else ""


def pin_fault(pin: str, again: str, language: str) -> tuple[str, str]:
    """What is wrong with a new payment PIN, and with its repetition; empty if nothing is."""
    if not is_pin(pin):
        return text(language, _("A payment PIN has six digits.")), ""
    if is_weak_pin(pin):
        return text(language, _("This PIN is easy to guess. Choose digits without a pattern.")), ""
    return "", "" if again == pin else text(language, _("The PINs don't match."))


def _words(given: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in given).split()


def _guessable(password: str, words: list[str]) -> str:
    """Why it is found with fewer guesses than it should take; empty if it is not."""
    if is_leaked(password):
        return _COMMON
    fault = ""
    least = PASSWORD_GUESSES_MIN if _count_letters(password) >= _WORD_MIN else FIGURES_GUESSES_MIN
    for start in range(0, len(password), _STRETCH):
        with _judging:
            judged = zxcvbn(password[start : start + _STRETCH], words)
        if judged["guesses"] >= least:
            return _WORD if _is_word_with_figures(password, words) else ""
        fault = fault or _reason(judged["sequence"])
    return fault


def is_leaked(password: str) -> bool:
    """Whether it is a password that was leaked, in any case, and whatever few digits and signs are behind it."""
    tried = [password.casefold()]
    while len(tried) <= _FIGURES_BEHIND_MAX and tried[-1] and not tried[-1][-1].isalpha():
        tried.append(tried[-1][:-1])
    return not _leaked().isdisjoint(tried)


@cache
def _leaked() -> frozenset[str]:
    """Read at the first new password: most processes judge none."""
    return frozenset(gzip.decompress(LEAKED.read_bytes()).decode().splitlines())


def _reason(sequence: list[dict[str, Any]]) -> str:
    """By the part of it that gives most of it away."""
    longest = max(sequence, key=lambda match: len(match["token"]))
    match longest["pattern"], longest.get("dictionary_name"):
        case "dictionary", "passwords":
            return _COMMON
        case "dictionary", "user_inputs":
            return _OWN
    return _REASONS.get(longest["pattern"], _WORD)


def _is_word_with_figures(password: str, words: list[str]) -> bool:
    """One word that is known, or the person's own, and around it nothing but digits and signs: Damascus2026."""
    left = password.casefold()
    for word in sorted(map(str.casefold, words), key=len, reverse=True):
        left = left.replace(word, "") if len(word) >= _WORD_MIN else left
    if _count_letters(left) < _WORD_MIN <= _count_letters(password):
        return True
    spelt = _LETTERS.findall(password)
    if len(spelt) != 1 or len(spelt[0]) > _STRETCH:
        return False
    with _judging:
        [first, *others] = zxcvbn(spelt[0], words)["sequence"]
    return not others and first["pattern"] == "dictionary"


def _count_letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def is_weak_pin(pin: str) -> bool:
    """Whether six digits are among those that are tried first.

    Always the same step from digit to digit, as in 111111, 123456 and 987654; a part that is repeated or turned round;
    pairs; one or two digits only; and a year that somebody may be born in.
    """
    steps = {(int(after) - int(before)) % 10 for before, after in pairwise(pin)}
    is_pattern = len(steps) == 1 or len(set(pin)) <= _FEW_DIGITS or pin[::2] == pin[1::2]
    is_repeated = pin in {pin[:2] * 3, pin[:3] * 2, pin[:3] + pin[2::-1]}
    return is_pattern or is_repeated or any(_FIRST_YEAR <= int(year) <= _LAST_YEAR for year in (pin[:4], pin[2:]))
