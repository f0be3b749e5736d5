"""The program that a developer named as receiver: one POST for each event, signed and sent as a webhook is."""

import asyncio
import hmac
import time
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Final

import click

from qirsh.domain.limits import RECEIVER_ANSWER_S_MAX, URL_CHARACTERS_MAX
from qirsh.outbound.guard import Guard
from qirsh.outbound.line_pool import LinePool, make_tls_context
from qirsh.outbound.post import Outcome, Poster
from qirsh.outbound.signature import SigningKey, make_secret, signed_headers
from qirsh.outbound.target import Target, UrlFault, read_target

# The guard is for addresses that others chose. This one was typed by whose machine it is.
_ANYWHERE: Final = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))
_FAULTS: Final = {
    UrlFault.TOO_LONG: f"has more than {URL_CHARACTERS_MAX} characters",
    UrlFault.CHARACTERS: "has a blank, a control character, or a percent sign that encodes nothing",
    UrlFault.SCHEME: "must begin with http:// or https://, such as http://localhost:3000/hooks",
    UrlFault.USERINFO: "must not hold a user or a password",
    UrlFault.FRAGMENT: "must not have a fragment (#)",
    UrlFault.HOST: "has no host that can be read",
    UrlFault.PORT: "must have a port from 1 to 65535, or none",
    UrlFault.ADDRESS: "has an address that cannot be dialled",
}
_REASONS: Final = {
    "status": "not 2xx",
    "redirect": "redirects are not followed",
    "timeout": f"no whole answer in {RECEIVER_ANSWER_S_MAX} s",
    "no_connection": "nobody answers",
    "no_public_address": "unknown host",
    "bad_certificate": "its certificate is not trusted",
    "bad_answer": "its answer is not HTTP, or too much",
}


class ReceiverUrl(click.ParamType[Target]):
    """The address of a receiver, as an option takes it."""

    name = "URL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Target:  # noqa: ANN401 - as click has it
        """The target, or what is wrong with it."""
        target = read_target(value, networks=_ANYWHERE)
        if isinstance(target, UrlFault):
            self.fail(_FAULTS[target], param, ctx)
        return target


def make_local_secret(key: str) -> str:
    """What events are signed with here: made from the API key, so that it is the same at every start.

    Nothing is kept, and nothing of the key can be read from it. Whoever has the key can read the events anyway.
    """
    made = hmac.digest(key.encode("ascii"), b"qirsh listen: secret of webhooks", "sha256")
    return make_secret(lambda _: made)


class LocalReceiver:
    """Sends events once each, never again."""

    def __init__(self, target: Target, secret: str) -> None:
        self.target = target
        self._signing_key = SigningKey(secret)
        self._tls = make_tls_context()

    def send(self, event: str, body: bytes) -> Outcome:
        """What became of it."""
        headers = signed_headers(event, int(time.time()), body, [self._signing_key])
        return asyncio.run(self._post(headers, body))

    async def _post(self, headers: dict[str, str], body: bytes) -> Outcome:
        lines = LinePool(tls=self._tls)
        try:
            return await Poster(Guard(networks=_ANYWHERE), lines).post(self.target, headers, body)
        finally:
            lines.close()


def in_words(outcome: Outcome) -> str:
    """The status, the reason, or both."""
    status = "" if outcome.status is None else str(outcome.status)
    return ", ".join(filter(None, (status, "" if outcome.reason is None else _REASONS[outcome.reason])))
