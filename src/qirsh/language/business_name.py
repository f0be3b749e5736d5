"""Names of businesses as customers read them: which signs they may have, and which two look alike."""

# Letters that only look alike are what this is about.
# ruff: noqa: RUF001

import unicodedata
from typing import Final

SERVICE_NAMES: Final = ("Qirsh", "قرش")
# Invisible, and yet letters between those of the Arabic script: names in Persian and Kurdish have them.
_JOINERS: Final = "\u200c\u200d"
# Common in names, though Unicode counts them among pictures.
_SIGNS: Final = "©®™°№"
_CHECK_MARKS: Final = "√"
# Each letter before the one that it looks like: Cyrillic, Greek, Latin with strokes, digits, Arabic.
_PAIRS: Final = (
    "аa вb еe ѐe ёe кk мm нh оo рp сc тt уy хx ѕs іl їl јj ԁd һh ԛq ԝw гr пn иn зe бb ьb ѵv"
    " αa βb εe ηn ιl κk νv οo πn ρp τt υu χx ωw γy μm ζz ϲc"
    " ıl łl øo đd ħh ŧt əe ɑa ɡg ɩl"
    " il 1l |l !l 0o 3e 5s 8b $s @a"
    " أا إا آا ٱا ىي یي ئي کك گك ةه ەه ھه ہه ؤو پب چج ژز ڤف"
)
_ALIKE: Final = str.maketrans({pair[0]: pair[1] for pair in _PAIRS.split()})


def is_plain_name(name: str) -> bool:
    """Whether it has only what a name of a business needs: no check marks, badges, pictures or hidden letters."""
    return all(
        _is_joining(name, place) if letter in _JOINERS else _is_plain(letter) for place, letter in enumerate(name)
    )


def look_alike(one: str, other: str) -> bool:
    """Whether a customer could take one for the other: as they look, without regard to case, accents and signs."""
    return bool(skeleton(one)) and skeleton(one) == skeleton(other)


def resembles_service(name: str) -> bool:
    """Whether it seems to be the service itself, or a part of it."""
    return any(skeleton(own) in skeleton(name) for own in SERVICE_NAMES)


def skeleton(name: str) -> str:
    """What is left of a name when all that looks alike is the same. Nobody reads it."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    letters = (str(unicodedata.decimal(letter, letter)) for letter in folded)
    alike = "".join(letters).translate(_ALIKE)
    return "".join(letter for letter in alike if letter.isalnum() and letter != "\u0640")  # A stroke that joins.


def _is_plain(letter: str) -> bool:
    if letter in _SIGNS:
        return True
    category = unicodedata.category(letter)
    return category[0] != "C" and category not in {"So", "Sk", "Me"} and letter not in _CHECK_MARKS


def _is_joining(name: str, place: int) -> bool:
    around = name[place - 1 : place] + name[place + 1 : place + 2]
    return len(around) == 2 and all(unicodedata.name(letter, "").startswith("ARABIC LETTER") for letter in around)  # noqa: PLR2004 - one on each side
