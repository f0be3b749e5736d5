"""What a process notes of each call of an API key, until a worker writes it down.

A call pays for a look into a dictionary, and for some of them a tuple in a list. When there are too many of a key, some
are only counted; those that went wrong have room of their own.
"""

import re
from typing import Final

import msgspec

from qirsh.domain.identifier import Identifiers
from qirsh.domain.limits import (
    REQUEST_PATH_CHARACTERS_MAX,
    REQUESTS_AT_ONCE,
    REQUESTS_KEPT_OF_KEY,
    REQUESTS_KEYS_MAX,
)
from qirsh.domain.request_log import LoggedRequest
from qirsh.engine.clock import Clock
from qirsh.web.http.authentication import Caller
from qirsh.web.http.client_address import Networks, whole_address
from qirsh.web.http.message import Request, Response

_FAILED: Final = 400
_NOT_FOUND: Final = 404
_BODY_BYTES_MAX: Final = 4096  # Of an answer that is looked into for the problem's code, or for the payment.
_ROOM: Final = REQUESTS_AT_ONCE // 2  # For those that went well, and for those that did not.
_PAYMENT: Final = re.compile(r"/remote-payments/([0-9]{16})(?:/|$)", re.ASCII)

# Time, key, account, request, response's status and body, address, forwarded for, milliseconds.
_Call = tuple[int, str, int, str, str, str, int, bytes, str, bytes, int]


class _Answered(msgspec.Struct):
    id: str = ""
    paymentId: str = ""  # noqa: N815 - as it is sent


class _Answer(msgspec.Struct):
    code: str = ""
    data: _Answered = msgspec.field(default_factory=_Answered)


_ANSWER: Final = msgspec.json.Decoder(_Answer)


class RequestLog:
    """Calls since the worker took them last, and of each key how many more there is room for."""

    def __init__(self, clock: Clock, identifiers: Identifiers, proxies: Networks = ()) -> None:
        self._clock = clock
        self._identifiers = identifiers
        self._proxies = proxies
        self._calls: list[_Call] = []
        self._room = [_ROOM, _ROOM]
        # Of each key: room for those that went well, for those that did not, and how many found none.
        self._of_keys: dict[str, list[int]] = {}

    def note(self, caller: Caller, request: Request, response: Response, seconds: float) -> None:
        """A call of an API key was answered, in so many seconds."""
        of_key = self._of_keys.get(caller.key)
        if of_key is None:
            if len(self._of_keys) >= REQUESTS_KEYS_MAX:
                return
            of_key = self._of_keys[caller.key] = [REQUESTS_KEPT_OF_KEY, REQUESTS_KEPT_OF_KEY, 0]
        which = 0 if response.status < _FAILED else 1
        if not of_key[which] or not self._room[which]:
            of_key[2] += 1
            return
        of_key[which] -= 1
        self._room[which] -= 1
        body = response.body
        self._calls.append(
            (
                self._clock(),
                caller.key,
                caller.account,
                request.id,
                request.method,
                request.path,
                response.status,
                body if len(body) <= _BODY_BYTES_MAX else b"",
                request.peer,
                request.headers.get(b"x-forwarded-for", b""),
                int(seconds * 1000),
            )
        )

    def take(self) -> tuple[LoggedRequest, ...]:
        """What was noted, which is forgotten here, and how many were too many."""
        calls, self._calls = self._calls, []
        skipped = {key: of_key[2] for key, of_key in self._of_keys.items() if of_key[2]}
        taken = tuple(self._logged(call, skipped.pop(call[1], 0)) for call in calls)
        self._room = [_ROOM, _ROOM]
        # Those of whom nothing was taken are told of with the next that is.
        self._of_keys = {key: [REQUESTS_KEPT_OF_KEY, REQUESTS_KEPT_OF_KEY, count] for key, count in skipped.items()}
        return taken

    def _logged(self, call: _Call, skipped: int) -> LoggedRequest:
        at, key, account, request_id, method, path, status, body, peer, forwarded_for, took_ms = call
        address = whole_address(peer, forwarded_for, self._proxies)
        try:
            answer = _ANSWER.decode(body)
        except msgspec.DecodeError:  # Cut, or of another shape: nothing is known of it.
            answer = _Answer()
        return LoggedRequest(
            id=request_id,
            at=at,
            key=key,
            account=account,
            method=method,
            path=_printable(path)[:REQUEST_PATH_CHARACTERS_MAX],
            status=status,
            code=answer.code if status >= _FAILED else "",
            payment=None if status == _NOT_FOUND else self._payment(path, answer.data),
            took_ms=took_ms,
            address="" if address is None else str(address),
            skipped=skipped,
        )

    def _payment(self, path: str, answered: _Answered) -> int | None:
        """Which one the path names, or the answer. What is not there, or another's, is nobody's to know."""
        named = _PAYMENT.search(path)
        text = named[1] if named else answered.id if path.endswith("/remote-payments") else answered.paymentId
        return self._identifiers.payment_number(text) if text else None


def _printable(text: str) -> str:
    """No database chokes on it, and no page is led astray."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)
