"""Recovery codes: made, kept, and found again among those that are left.

They are short, so that people can copy them by hand. What is kept of one is a MAC under the secret key of its argon2id:
who has the database alone can try none, and who has the key as well tries them as slowly as passwords.
"""

from base64 import b32encode
from typing import Final

from qirsh.domain.limits import RECOVERY_CODES
from qirsh.domain.person import Login
from qirsh.engine.entropy import Entropy
from qirsh.web.http.context import Context

RECOVERY: Final = "recovery"
HASH_BYTES: Final = 36
_SALT: Final = "recovery salt"
_CODE_CHARACTERS: Final = 10  # 50 bits, of which a guess at the sign-in finds none.


def new_codes(entropy: Entropy) -> list[str]:
    """Letters and digits none of which is taken for another."""
    return [b32encode(entropy(_CODE_CHARACTERS)).decode()[:_CODE_CHARACTERS] for _ in range(RECOVERY_CODES)]


def codes_left(login: Login) -> int:
    """Recovery codes that have not been used."""
    return len(login.recovery) // HASH_BYTES


async def recovery_hashes(context: Context, person: int, codes: list[str]) -> bytes:
    """What is kept of a person's codes, one after the other. Each takes a turn of its own, as a password does."""
    hashes = [await _hashed(context, 0, person, code) for code in codes]
    assert {len(each) for each in hashes} == {HASH_BYTES}
    return b"".join(hashes)


async def used_hash(context: Context, login: Login, code: str) -> bytes | None:
    """What is kept of this code, if it is one of those that are left."""
    if len(code) != _CODE_CHARACTERS:
        return None
    for number, key_id in enumerate(context.keyring.ids):
        # A person's codes are made together, so that all are under one secret.
        if login.recovery.startswith(key_id):
            kept = [login.recovery[start : start + HASH_BYTES] for start in range(0, len(login.recovery), HASH_BYTES)]
            hashed = await _hashed(context, number, login.person, code)
            return hashed if hashed in kept else None
    return None


async def _hashed(context: Context, secret: int, person: int, code: str) -> bytes:
    """Under the secret of this number. Its salt is the person's own, and another in every service."""
    salt = context.keyring.code_macs(_SALT, str(person))[secret]
    slow = await context.passwords.stretch(code, salt)
    return context.keyring.code_macs(RECOVERY, str(person), slow)[secret]
