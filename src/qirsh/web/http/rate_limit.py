"""How many calls a client may make: by its key or session, or without a valid one by its address.

Each process counts in its memory. What a client has left is told as in draft-ietf-httpapi-ratelimit-headers-11.
"""

import time
from collections.abc import Callable
from typing import Final

from qirsh.domain import limits
from qirsh.domain.api_key import token_hash
from qirsh.metrics.catalogue import RATE_LIMITED
from qirsh.metrics.meters import Meters
from qirsh.web.http.authentication import BEARER_LENGTH, KEY, Caller, Callers, TokenKind, check_network
from qirsh.web.http.client_address import Address, Networks, client_address, whole_address
from qirsh.web.http.message import Request
from qirsh.web.http.problems import Problem

_NS: Final = 1_000_000_000
_SHARED_BUCKETS: Final = 1024
_MINUTE_S: Final = 60
_HOUR_S: Final = 3600

# The names of all limits below, as metrics know them.
POLICIES: Final = (
    *("key", "session", "address", "sign-in", "email", "operator", "ping", "till-payer", "till", "known", "page"),
    *("mail", "mail-to", "code", "code-of"),
)

MonotonicClock = Callable[[], int]  # In nanoseconds; whole numbers add up exactly, however many there are.


class Limit:
    """So many calls in a window, for each of those who are counted apart.

    A bucket holds one window's quota and fills evenly. All that is kept of it is when it will be full again.
    """

    def __init__(
        self,
        name: str,
        quota: int,
        window_s: int,
        clock: MonotonicClock = time.monotonic_ns,
        buckets_max: int = limits.RATE_BUCKETS_MAX,
        *,
        is_told: bool = True,
    ) -> None:
        self.name = name
        self.is_told = is_told  # Whether answers tell what is left.
        self._clock = clock
        self._interval_ns = window_s * _NS // quota
        self._room_ns = self._interval_ns * (quota - 1)  # What is left in a full bucket after one call.
        self._full_at: dict[bytes | str | int, int] = {}
        self._buckets_max = buckets_max
        self._next_sweep_at = 0
        self._lines = f'ratelimit-policy: "{name}";q={quota};w={window_s}\r\nratelimit: "{name}";r=%d;t=%d\r\n'.encode()

    def take(self, who: bytes | str) -> int:
        """Count a call: the room that is left, in nanoseconds. Below zero it is refused, and has to wait as long."""
        now = self._clock()
        bucket: bytes | str | int = who
        full_at = self._full_at.get(bucket)
        if full_at is None:
            bucket = self._bucket_of_newcomer(who, now)
            full_at = self._full_at.get(bucket, now)
        if full_at < now:  # noqa: PLR1730 - max() takes twice as long
            full_at = now
        room = self._room_ns - full_at + now
        if room >= 0:
            self._full_at[bucket] = full_at + self._interval_ns
        return room

    def give_back(self, who: bytes | str) -> None:
        """A call that was counted and should not have been."""
        if who in self._full_at:
            self._full_at[who] -= self._interval_ns

    def knows(self, who: bytes | str) -> bool:
        """Whether calls of this one were counted lately."""
        return who in self._full_at

    def headers(self, room: int) -> bytes:
        """Header lines: the policy, the calls that are left, and the whole seconds until there is one more."""
        if room < 0:
            return self._lines % (0, wait_s(room))
        interval_ns = self._interval_ns
        left = room // interval_ns
        return self._lines % (left, 1 if interval_ns <= _NS else wait_s(room - (left + 1) * interval_ns))

    def _bucket_of_newcomer(self, who: bytes | str, now: int) -> bytes | str | int:
        """Full buckets make room, since forgetting them changes nothing.

        When there is none, newcomers share: a crowd takes neither memory nor anything from those who were here before.
        """
        if len(self._full_at) >= self._buckets_max:
            if now >= self._next_sweep_at:
                self._next_sweep_at = now + _NS  # Looking at all of them takes about a millisecond.
                self._full_at = {bucket: full_at for bucket, full_at in self._full_at.items() if full_at > now}
            if len(self._full_at) >= self._buckets_max:
                return hash(who) % _SHARED_BUCKETS
        return who


def wait_s(room: int) -> int:
    """Whole seconds until nothing is missing."""
    return -(room // _NS)


class RateLimits:
    """All limits of a process, which has its share of them beside other processes of the same server."""

    def __init__(
        self,
        *,
        workers: int = 1,
        proxies: Networks = (),
        clock: MonotonicClock = time.monotonic_ns,
        meters: Meters | None = None,
    ) -> None:
        def share(name: str, quota: int, window_s: int) -> Limit:
            # What is left of the others would tell how often somebody else has tried.
            is_told = name in {"key", "session", "address"}
            return Limit(name, max(1, quota // workers), window_s, clock, is_told=is_told)

        self._meters = meters or Meters()
        self._proxies = proxies
        self._key = share("key", limits.KEY_CALLS_PER_MINUTE, _MINUTE_S)
        self._session = share("session", limits.SESSION_CALLS_PER_MINUTE, _MINUTE_S)
        self._address = share("address", limits.ADDRESS_CALLS_PER_MINUTE, _MINUTE_S)
        self._sign_in = share("sign-in", limits.SIGN_INS_PER_MINUTE, _MINUTE_S)
        self._email = share("email", limits.EMAIL_FAILURES_MAX, limits.EMAIL_FAILURES_S)
        # One process has the control socket.
        self._operator = Limit("operator", limits.EMAIL_FAILURES_MAX, limits.EMAIL_FAILURES_S, clock)
        self._ping = share("ping", limits.PINGS_PER_MINUTE, _MINUTE_S)
        self._till_payer = share("till-payer", limits.TILL_PAYMENTS_OF_ADDRESS, _MINUTE_S)
        self._till = share("till", limits.TILL_PAYMENTS_PER_MINUTE, _MINUTE_S)
        self._known = share("known", limits.KNOWN_DEVICE_TRIES_MAX, limits.EMAIL_FAILURES_S)
        self._page = share("page", limits.PAGES_PER_MINUTE, _MINUTE_S)
        self._mail_asked = share("mail", limits.MAILS_ASKED_PER_HOUR, _HOUR_S)
        self._mail_to = share("mail-to", limits.MAILS_TO_ONE_PER_HOUR, _HOUR_S)
        self._code = share("code", limits.CODES_PER_TEN_MINUTES, 10 * _MINUTE_S)
        self._code_of = share("code-of", limits.CODES_PER_TEN_MINUTES, 10 * _MINUTE_S)

    def cached(self, callers: Callers, request: Request, kind: TokenKind) -> Caller | None:
        """As `Callers.cached`, counted. Most calls end here."""
        try:
            caller = callers.cached(request.headers, kind)
        except Problem:
            self.count_address(request)
            raise
        if caller is not None:
            request.caller = caller
            if caller.networks:
                self._check_network(request, caller)
            self._count(request, self._key if kind is KEY else self._session, caller.token_hash)
        return caller

    async def look_up(self, callers: Callers, request: Request, kind: TokenKind) -> Caller:
        """As `Callers.look_up`, counted before the database is asked, so that a flood does not reach it."""
        limit = self._key if kind is KEY else self._session
        hashed = token_hash(request.headers[b"authorization"][BEARER_LENGTH:])
        if limit.knows(hashed):
            # It was valid lately. Whatever else comes from its address must not keep it from being looked up again.
            self._count(request, limit, hashed)
            try:
                caller = request.caller = await callers.look_up(request.headers, kind)
            except Problem:
                request.limits = b""
                self.count_address(request)
                raise
            if caller.networks:
                limit.give_back(hashed)
                self._check_network(request, caller)
                request.limits = b""
                self._count(request, limit, hashed)
            return caller
        self.count_address(request)
        caller = request.caller = await callers.look_up(request.headers, kind)
        if caller.networks:
            check_network(caller, self._whole_address(request))
        self._address.give_back(self.address_of(request))
        request.limits = b""
        self._count(request, limit, hashed)
        return caller

    def _check_network(self, request: Request, caller: Caller) -> None:
        """Whoever uses a key from elsewhere is counted by their address: they take nothing from its owner."""
        try:
            check_network(caller, self._whole_address(request))
        except Problem:
            request.limits = b""
            self.count_address(request)
            raise

    def _whole_address(self, request: Request) -> Address | None:
        return whole_address(request.peer, request.headers.get(b"x-forwarded-for", b""), self._proxies)

    def count_address(self, request: Request) -> None:
        """A call of a client that has not proved anything."""
        self._count(request, self._address, self.address_of(request))

    async def count_page(self, callers: Callers, request: Request, token: bytes) -> None:
        """A call without a Bearer token: by the session of its cookie if there is one, else by the address."""
        if not token:
            self.count_address(request)
            return
        hashed = token_hash(token)
        is_known = self._page.knows(hashed)
        if not is_known:
            self.count_address(request)
        if await callers.of_cookie(token) is None:
            if is_known:
                self.count_address(request)
            return
        if not is_known:
            self._address.give_back(self.address_of(request))
            request.limits = b""
        self._count(request, self._page, hashed)

    def count_sign_in(self, request: Request, email: str | None, known: str = "") -> None:
        """A try to prove something, counted before it is looked at: of tries at once, each counts.

        Addresses that nobody has are counted like others, so that a refusal tells nothing. Whoever is `known`, by the
        session or the device, has tries of their own, which nobody else can use up.
        """
        if known:
            self._count(request, self._known, known)
            return
        self._count(request, self._sign_in, self.address_of(request))
        if email is not None:
            self._count(request, self._email, email)

    def forgive(self, email: str | None, known: str = "") -> None:
        """It was no failure: only failures count for an e-mail address, and for who is known."""
        if known:
            self._known.give_back(known)
        elif email is not None:
            self._email.give_back(email)

    def count_operator(self, email: str) -> int:
        """A try to prove something over the control socket, before it is looked at: the seconds to wait, if any."""
        room = self._operator.take(email)
        return wait_s(room) if room < 0 else 0

    def forgive_operator(self, email: str) -> None:
        """It was no failure."""
        self._operator.give_back(email)

    def count_mail(self, request: Request, purpose: str, email: str, known: str = "") -> None:
        """A visitor wants us to write to an address, for a purpose that has mails of its own; so has who is `known`."""
        if not known:
            self._count(request, self._mail_asked, purpose.encode() + self.address_of(request))
        self._count(request, self._mail_to, f"{purpose} {known or email}")

    def may_mail(self, purpose: str, email: str) -> bool:
        """Whether an address gets a letter about what its person, or a thief, has done as often as they like."""
        return self._mail_to.take(f"{purpose} {email}") >= 0

    def count_code(self, request: Request, purpose: str, email: str, known: str = "") -> None:
        """A visitor answers a mail, rightly or wrongly. Purposes and who is `known` are counted apart, as above."""
        if not known:
            self._count(request, self._code, purpose.encode() + self.address_of(request))
        self._count(request, self._code_of, f"{purpose} {known or email}")

    def count_ping(self, request: Request, account: int) -> None:
        """An owner or a key of an account has something sent to one of its webhook endpoints."""
        self._count(request, self._ping, str(account))

    def count_till(self, request: Request, till: str) -> None:
        """Anybody makes a payment at a till: nobody fills the list of a shop."""
        self._count(request, self._till_payer, self.address_of(request))
        self._count(request, self._till, till)

    def address_of(self, request: Request) -> bytes:
        """What one client cannot change at will."""
        return client_address(request.peer, request.headers.get(b"x-forwarded-for", b""), self._proxies)

    def _count(self, request: Request, limit: Limit, who: bytes | str) -> None:
        room = limit.take(who)
        if limit.is_told:
            request.limits += limit.headers(room)
        if room < 0:
            self._meters.add(RATE_LIMITED, limit.name)
            problem = Problem("rate_limited")
            problem.retry_after_s = wait_s(room)
            raise problem
