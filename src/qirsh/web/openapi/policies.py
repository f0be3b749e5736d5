"""The rate limits that callers of the API meet, in words."""

from typing import Final

import msgspec

from qirsh.domain import limits


class Policy(msgspec.Struct, frozen=True):
    """One limit, by the name that its headers carry."""

    name: str
    quota: int
    window_s: int
    text: str


POLICIES: Final = (
    Policy("key", limits.KEY_CALLS_PER_MINUTE, 60, "Each API key."),
    Policy("session", limits.SESSION_CALLS_PER_MINUTE, 60, "Each session of a customer."),
    Policy("address", limits.ADDRESS_CALLS_PER_MINUTE, 60, "Each client address, for calls without a valid token."),
    Policy("sign-in", limits.SIGN_INS_PER_MINUTE, 60, "Each client address, for sign-ins."),
    Policy("ping", limits.PINGS_PER_MINUTE, 60, "Each account, for pings to its webhook endpoints."),
    Policy("email", limits.EMAIL_FAILURES_MAX, limits.EMAIL_FAILURES_S, "Each e-mail address, for sign-ins that fail."),
)
