"""When the certificate ends that clients of this service see: a proxy in front of it holds it, and may forget it."""

import asyncio
import logging
import socket
import ssl
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509

from qirsh.engine.clock import Clock

log = logging.getLogger(__name__)

_KEPT_MS: Final = 3600 * 1000
_ANSWER_S_MAX: Final = 5
_HTTPS_PORT: Final = 443


class CertificateEnd:
    """Of the base URL, as this machine sees it. It is looked up beside whoever asks, and then kept for an hour."""

    def __init__(self, base_url: str, clock: Clock) -> None:
        parts = urlsplit(base_url)
        self._host = parts.hostname if parts.scheme == "https" else None
        self._port = parts.port or _HTTPS_PORT
        self._clock = clock
        self._end_s: float | None = None
        self._looked_at = -_KEPT_MS
        self._looking: asyncio.Task[None] | None = None

    def known(self) -> float | None:
        """In seconds since 1970; None before the first look, without https, and where nobody answers."""
        if self._host is not None and self._clock() - self._looked_at >= _KEPT_MS and self._looking is None:
            self._looking = asyncio.create_task(self._look(), name="certificate")
        return self._end_s

    async def _look(self) -> None:
        try:
            self._end_s = await asyncio.to_thread(self._asked)
        except (OSError, ValueError) as error:
            log.warning("the certificate of the base URL cannot be looked at: %s", error)
            self._end_s = None
        finally:
            self._looked_at, self._looking = self._clock(), None

    def _asked(self) -> float:
        """Whoever signed it: that is for clients to judge."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        assert self._host is not None
        with (
            socket.create_connection((self._host, self._port), timeout=_ANSWER_S_MAX) as line,
            context.wrap_socket(line, server_hostname=self._host) as secured,
        ):
            found = secured.getpeercert(binary_form=True)
        if found is None:
            raise ValueError("no certificate was shown")
        return x509.load_der_x509_certificate(found).not_valid_after_utc.timestamp()
