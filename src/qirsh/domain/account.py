"""Accounts: personal, commercial and house; live and test; their states and moves."""

import re
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

from qirsh.domain.limits import EXPIRES_IN_S_DEFAULT

_HOST: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")
_PORTS: Final = {"https": 443, "http": 80}  # That go without saying.

Kind = Literal["personal", "commercial", "house"]
Mode = Literal["live", "test"]
State = Literal[
    "unverified", "verified", "requested", "approved", "rejected", "suspended", "closed", "open", "mirrored"
]

# What an operator may do to an account, by its kind. House accounts and test accounts do not move.
MOVES: Final[dict[str, dict[str, frozenset[str]]]] = {
    "personal": {
        "unverified": frozenset({"verified", "suspended", "closed"}),
        "verified": frozenset({"suspended", "closed"}),
        "suspended": frozenset({"verified", "closed"}),
        "closed": frozenset(),
    },
    "commercial": {
        "requested": frozenset({"approved", "rejected"}),
        "approved": frozenset({"suspended", "closed"}),
        "suspended": frozenset({"approved", "closed"}),
        "rejected": frozenset(),
        "closed": frozenset(),
    },
    "house": {"open": frozenset()},
}


class Account(msgspec.Struct, frozen=True):
    """Who can hold money. Its number is its name everywhere: in payments, transfers, answers and pages."""

    number: int
    kind: Kind
    mode: Mode  # A property of the account, so that no rule needs a mode switch.
    owner: int | None  # The person; house accounts have none.
    live_account: int | None  # Of a test account: the live commercial account whose state it reads.
    name: str
    state: State  # A test account is `mirrored`: it keeps no copy of its owner's state.
    return_origins: str  # Where customers may be sent back to: origins, separated by spaces.
    created_at: int
    updated_at: int
    # Of its payments that say nothing else.
    return_url: str | None = None
    cancel_url: str | None = None
    expires_in_s: int = EXPIRES_IN_S_DEFAULT

    @property
    def public_name(self) -> str:
        """Of a business or the house. No digest is kept of a person's name: who guesses it must not find it so."""
        return "" if self.kind == "personal" else self.name


def may_move(account: Account, to: str) -> bool:
    """Whether the table of moves has this one."""
    return to in MOVES[account.kind].get(account.state, ())


def origin(url: str) -> str | None:
    """Scheme, host and port of an address a browser may be sent to; None for anything else.

    Plain http is for a developer's own machine only.
    """
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname
    if not host or parts.username is not None or parts.password is not None:
        return None
    if parts.scheme != "https" and not (parts.scheme == "http" and host in {"localhost", "127.0.0.1", "::1"}):
        return None
    if ":" not in host and not _HOST.fullmatch(host):
        return None
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}" if port in {None, _PORTS[parts.scheme]} else f"{parts.scheme}://{host}:{port}"


def may_return_to(account: Account, url: str) -> bool:
    """Whether the address lies on an origin that the account has registered."""
    registered = account.return_origins.split()
    wanted = origin(url)
    # The second look is for those that were registered with a port that goes without saying.
    return wanted is not None and (wanted in registered or wanted in map(origin, registered))
