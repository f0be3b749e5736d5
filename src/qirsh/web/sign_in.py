"""Proving who one is: e-mail, password, and the second factor where there is one. Every way in asks here."""

import pyotp

from qirsh.domain.person import Login, normal_email
from qirsh.store.rows import LOGIN
from qirsh.web.http import Request
from qirsh.web.parts import Parts

TOTP_PURPOSE = b"totp"


async def prove_from_outside(
    parts: Parts, request: Request, *, email: str, password: str, totp: str | None
) -> Login | None:
    """As `prove`, for whoever asks over HTTP: tries are counted, by where they come from and whom they claim to be."""
    if parts.limits is None:
        return await prove(parts, email=email, password=password, totp=totp)
    address = normal_email(email)
    parts.limits.count_sign_in(request, address)
    has_failed = False
    try:
        login = await prove(parts, email=email, password=password, totp=totp)
        has_failed = login is None
    finally:
        if not has_failed:
            parts.limits.forgive(address)
    return login


async def prove(parts: Parts, *, email: str, password: str, totp: str | None) -> Login | None:
    """The login that was proved; None without a word about what was wrong, after the same work."""
    address = normal_email(email)
    login = await parts.store.find(LOGIN, address) if address else None
    is_right = await parts.passwords.verify(login.password_hash if login else None, password)
    if login is None or not is_right:
        return None
    if login.totp_sealed is not None and not is_current_code(parts, login.totp_sealed, totp or ""):
        return None
    return login


def is_current_code(parts: Parts, totp_sealed: bytes, code: str) -> bool:
    """Whether the code is of this half minute, or of the one before or after it."""
    seed = parts.keyring.unseal(totp_sealed, TOTP_PURPOSE)
    if seed is None:
        return False
    return pyotp.TOTP(seed.decode()).verify(code, for_time=parts.clock() // 1000, valid_window=1)  # type: ignore[arg-type]
