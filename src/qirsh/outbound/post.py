"""One try: a body is posted to a target, and whatever becomes of it is an outcome. It raises nothing."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

from qirsh.outbound.excerpt import make_excerpt
from qirsh.outbound.guard import Guard
from qirsh.outbound.line import Answer, LineFault
from qirsh.outbound.line_pool import LinePool
from qirsh.outbound.retry_after import read_retry_after
from qirsh.outbound.target import Target

Reason = Literal[
    "status",  # It answered, and not with 2xx.
    "redirect",  # It answered with 3xx, which is never followed.
    "timeout",  # No whole answer in time.
    "no_connection",  # Nobody could be reached, or it closed before it said anything.
    "no_public_address",  # An unknown name, or one that leads inwards: nobody is told which.
    "bad_certificate",
    "bad_answer",  # Too much, broken off, or no HTTP.
]

_DELIVERED: Final = range(200, 300)
_REDIRECT: Final = range(300, 400)


class Outcome(msgspec.Struct, frozen=True):
    """What became of one try."""

    reason: Reason | None  # None: it was delivered.
    status: int | None  # As soon as the head of an answer has come, whatever became of the rest.
    took_ms: int
    excerpt: str = ""
    retry_after_ms: int | None = None

    @property
    def is_delivered(self) -> bool:
        """The receiver has said that it has it."""
        return self.reason is None


# Of what was not even tried: the operator has closed a network since.
NOWHERE: Final = Outcome("no_public_address", None, 0)


class Poster:
    """Posts to receivers. Belongs to one event loop."""

    def __init__(self, guard: Guard, lines: LinePool, *, now_ms: Callable[[], int] | None = None) -> None:
        self._guard = guard
        self._lines = lines
        self._now_ms = now_ms or _system_ms

    async def post(self, target: Target, headers: Mapping[str, str], body: bytes) -> Outcome:
        """One try, bounded in time and memory whatever the receiver does."""
        begun = time.monotonic()
        deadline = asyncio.get_running_loop().time() + self._lines.answer_s
        answer: Answer | None = None
        reason: Reason | None
        try:
            addresses = await self._guard.addresses(target)
            if addresses:
                request = make_request(target, headers, body)
                answer = await self._lines.ask(target, addresses, request, deadline=deadline)
                reason = _judged(answer.status)
            else:
                reason = "no_public_address"
        except LineFault as fault:
            reason, answer = fault.fault, fault.answer
        took_ms = int((time.monotonic() - begun) * 1000)
        if answer is None:
            return Outcome(reason, None, took_ms)
        retry_after_ms = None
        if answer.retry_after and reason is not None:
            retry_after_ms = read_retry_after(answer.retry_after, now_ms=self._now_ms())
        return Outcome(reason, answer.status, took_ms, make_excerpt(answer.body), retry_after_ms)


def make_request(target: Target, headers: Mapping[str, str], body: bytes) -> bytes:
    """The whole request, to be written at once."""
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    assert fields.count("\n") == fields.count("\r") == len(headers), "a field is one line"
    return b"%b%bcontent-length: %d\r\n\r\n%b" % (target.request_head, fields.encode("ascii"), len(body), body)


def _judged(status: int) -> Reason | None:
    if status in _DELIVERED:
        return None
    return "redirect" if status in _REDIRECT else "status"


def _system_ms() -> int:
    return time.time_ns() // 1_000_000
