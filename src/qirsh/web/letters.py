"""Letters as commands take them along: what is mailed, to whom and in which language, encrypted."""

import msgspec

from qirsh.domain.mail import Letter
from qirsh.web.parts import Parts


async def letter(parts: Parts, kind: str, *, to: str, language: str, **words: str | int) -> Letter:
    """A letter of a kind that `language.letter` knows, with the words that stand in it."""
    told = {"to": to, "language": language, "kind": kind, "words": words}
    return Letter(f"mail_{parts.entropy(12).hex()}", parts.keyring.seal(msgspec.json.encode(told), b"mail"))
