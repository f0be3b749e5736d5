"""Public numbers of payments and accounts: a keyed permutation of an ordered number, and a check digit.

Inside, payments are counted 1, 2, 3 (ordered keys insert fast at any size); outside, nobody can guess or count them.
"""

import hashlib
from typing import Final

# Four rounds with a keyed hash hide the order of the numbers from everyone without the key, which is all that is asked:
# the ids guard nothing by themselves. Each round more costs every create and retrieve a microsecond.
_ROUNDS: Final = 4
_MARK_BYTES: Final = 16  # A receipt's address is read off paper; beyond this nobody guesses.
_PAYMENT_DIGITS: Final = 16
_ACCOUNT_DIGITS: Final = 12

# What four decimal digits add to the Luhn sum when the rightmost of them is doubled.
_LUHN: Final = tuple(
    sum(int(d) if position % 2 else sum(divmod(2 * int(d), 10)) for position, d in enumerate(f"{n:04d}"[::-1]))
    for n in range(10_000)
)

# Added to the Luhn digit: the whole number then never passes the Luhn test, so that card scanners and log scrubbers
# leave it alone, and a mistyped digit is still always caught.
_OFF_LUHN: Final = 5


def check_digit(number: int) -> int:
    """The digit to append to a number of at most 16 digits."""
    total = _LUHN[number % 10_000]
    number //= 10_000
    total += _LUHN[number % 10_000]
    number //= 10_000
    total += _LUHN[number % 10_000] + _LUHN[number // 10_000]
    return (_OFF_LUHN - total) % 10


class Permutation:
    """A Feistel network over two halves below `half`: every number under half * half goes to exactly one other."""

    def __init__(self, key: bytes, *, half: int, purpose: bytes) -> None:
        self._half = half
        self._floor = half * half // 9  # The first number of its length, so that no public number starts with 0.
        self._rounds = tuple(
            hashlib.blake2s(key=key, digest_size=8, person=purpose, salt=bytes([n])) for n in range(_ROUNDS)
        )

    def public(self, number: int) -> int:
        """The number shown outside for the ordered number inside."""
        half = self._half
        left, right = divmod(number, half)
        assert 0 <= left < half, "the numbers of this kind are used up"
        for keyed in self._rounds:
            h = keyed.copy()
            h.update(right.to_bytes(4, "big"))
            left, right = right, (left + int.from_bytes(h.digest(), "big")) % half
        public = left * half + right + self._floor
        return public * 10 + check_digit(public)

    def number(self, public: int) -> int | None:
        """The ordered number behind a public one; None if none was ever made like this (a typing mistake)."""
        public, digit = divmod(public, 10)
        half = self._half
        left, right = divmod(public - self._floor, half)
        if digit != check_digit(public) or not 0 <= left < half:
            return None
        for keyed in reversed(self._rounds):
            h = keyed.copy()
            h.update(left.to_bytes(4, "big"))
            left, right = (right - int.from_bytes(h.digest(), "big")) % half, left
        return left * half + right


class Identifiers:
    """The two public numbers of the service, under the one key that lives in its database.

    What others keep of us and must be known again for good is under it too: a secret that is rotated would not do.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.fingerprint_key = self._keyed(b"", b"idempotency", 32)
        self._payment = Permutation(key, half=30_000_000, purpose=b"payment")
        self._account = Permutation(key, half=300_000, purpose=b"account")

    def fingerprint(self) -> str:
        """Tells one database from another, and nothing of the key."""
        return self._keyed(b"", b"fingerprint", _MARK_BYTES).hex()

    def payment_id(self, number: int) -> str:
        """Sixteen digits."""
        return str(self._payment.public(number))

    def payment_number(self, payment_id: str) -> int | None:
        """None for anything that is not exactly sixteen ASCII digits of ours."""
        if len(payment_id) != _PAYMENT_DIGITS or not (payment_id.isascii() and payment_id.isdigit()):
            return None
        return self._payment.number(int(payment_id))

    def receipt_mark(self, payment_id: str) -> str:
        """What nobody can guess in the address of a receipt."""
        return self._keyed(payment_id.encode(), b"receipt", _MARK_BYTES).hex()

    def person_handle(self, person: int) -> bytes:
        """What an authenticator knows a person by: it tells nobody who that is."""
        return self._keyed(b"%d" % person, b"passkey person", _MARK_BYTES)

    def _keyed(self, message: bytes, purpose: bytes, size: int) -> bytes:
        return hashlib.blake2b(message, key=self._key, person=purpose, digest_size=size).digest()

    def account_number(self, ordinal: int) -> int:
        """Twelve digits; an account is known by this number everywhere."""
        return self._account.public(ordinal)


def is_account_number(text: str) -> bool:
    """Whether this could be an account number: twelve digits whose last one checks."""
    if len(text) != _ACCOUNT_DIGITS or not (text.isascii() and text.isdigit()) or text[0] == "0":
        return False
    number, digit = divmod(int(text), 10)
    return digit == check_digit(number)
