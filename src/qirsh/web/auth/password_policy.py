"""What a new password and a new payment PIN must be like, and how a person is told that theirs is not."""

from itertools import pairwise
from threading import Lock
from typing import Any, Final

from zxcvbn import zxcvbn  # type: ignore[import-untyped]

from qirsh.domain.limits import PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN, PASSWORD_GUESSES_MIN
from qirsh.domain.person import is_pin
from qirsh.engine.passwords import composed
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.web.http.context import Context

_LOOKED_AT: Final = 100
# The judge's time grows with the square of the length, and beyond all bounds with letters written as digits and signs.
# A password is as good as its best stretch: an attacker who guesses it must guess that as well.
_STRETCH: Final = 24
_judging = Lock()  # It keeps the user's own words in a global.

_COMMON: Final = _(
    "This password is on the lists that are tried first. Choose a few words that do not belong together."
)
_OWN: Final = _("This password is made of your name or your address. Choose a few words that do not belong together.")
_ROW: Final = _("Rows of keys and of letters or digits in their order are easy to guess. Add a few words.")
_REPEATED: Final = _("A password that repeats itself is easy to guess. Add a few different words.")
_DATE: Final = _("Dates and years are easy to guess. Add a few words.")
_WORD: Final = _("This password is easy to guess. Add a few words that do not belong together.")
_REASONS: Final = {"spatial": _ROW, "sequence": _ROW, "repeat": _REPEATED, "date": _DATE, "regex": _DATE}


async def password_fault(context: Context, password: str, language: str, *about: str) -> str:
    """What is wrong with it as a new password of a person about whom this is known; empty if nothing is."""
    length = len(composed(password))
    if length < PASSWORD_CHARACTERS_MIN:
        message = _("A password has at least %(least)s characters. A few words are easy to remember.")
        return text(language, message, least=PASSWORD_CHARACTERS_MIN)
    if len(password) > PASSWORD_CHARACTERS_MAX:
        return text(language, _("A password has at most %(most)s characters."), most=PASSWORD_CHARACTERS_MAX)
    words = [word for given in about for word in (given, *_words(given)) if word]
    fault = await context.passwords.run(lambda: _guessable(composed(password)[:_LOOKED_AT], words))
    return text(language, fault) if fault else ""


def pin_fault(pin: str, again: str, language: str) -> tuple[str, str]:
    """What is wrong with a new payment PIN, and with its repetition; empty if nothing is."""
    if not is_pin(pin):
        return text(language, _("A payment PIN has six digits.")), ""
    if _is_first_guess(pin):
        return text(language, _("This PIN is easy to guess. Choose digits that follow no pattern.")), ""
    return "", "" if again == pin else text(language, _("The two PINs are not the same. Enter your PIN once more."))


def _words(given: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in given).split()


def _guessable(password: str, words: list[str]) -> str:
    """Why it is found with fewer guesses than it should take; empty if it is not."""
    fault = ""
    for start in range(0, len(password), _STRETCH):
        with _judging:
            judged = zxcvbn(password[start : start + _STRETCH], words)
        if judged["guesses"] >= PASSWORD_GUESSES_MIN:
            return ""
        fault = fault or _reason(judged["sequence"])
    return fault


def _reason(sequence: list[dict[str, Any]]) -> str:
    """By the part of it that gives most of it away."""
    longest = max(sequence, key=lambda match: len(match["token"]))
    match longest["pattern"], longest.get("dictionary_name"):
        case "dictionary", "passwords":
            return _COMMON
        case "dictionary", "user_inputs":
            return _OWN
    return _REASONS.get(longest["pattern"], _WORD)


def _is_first_guess(pin: str) -> bool:
    """Always the same step from digit to digit, as in 111111, 123456 and 987654; or a part that is repeated."""
    steps = {(int(after) - int(before)) % 10 for before, after in pairwise(pin)}
    return len(steps) == 1 or pin in {pin[:2] * 3, pin[:3] * 2}
