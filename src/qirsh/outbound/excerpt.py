"""What a receiver said, as text that people may look at: nothing in it moves, hides or turns other text around."""

from typing import Final

from qirsh.domain import limits

# No character of UTF-8 has more.
EXCERPT_BYTES_MAX: Final = 4 * limits.RECEIVER_EXCERPT_CHARACTERS_MAX
_UNKNOWN: Final = "\N{REPLACEMENT CHARACTER}"
# They join and part letters within words of Arabic and Persian, and do nothing else.
_JOINERS: Final = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def make_excerpt(body: bytes) -> str:
    """The first characters of a body. Controls, direction controls and unseen signs become a mark, blanks a space."""
    return make_inert(body[:EXCERPT_BYTES_MAX].decode("utf-8", "replace")[: limits.RECEIVER_EXCERPT_CHARACTERS_MAX])


def make_inert(text: str) -> str:
    """The same of a whole text."""
    if text.isprintable():
        return text
    return "".join(map(_inert, text.replace("\r\n", "\n")))


def _inert(sign: str) -> str:
    if sign.isprintable() or sign == "\n" or sign in _JOINERS:
        return sign
    return " " if sign.isspace() else _UNKNOWN
