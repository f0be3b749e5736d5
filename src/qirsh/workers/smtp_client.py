"""The line to the mail server: one connection for several mails, and what its refusals mean.

Everything here blocks, and runs in one thread beside the loop. Nothing here repeats what the server said: servers quote
addresses, and what went wrong ends up in a log.
"""

import contextlib
import re
import smtplib
import socket
import ssl
from typing import Final

# Between two signs of life. RFC 5321 would wait for minutes, while all other mails wait too.
_SILENCE_S_MAX: Final = 15.0
# They tell of us and not of one recipient: wrong order, not signed in, wrong password.
_OF_THE_LINE: Final = {503, 530, 535}
_ENHANCED: Final = re.compile(rb"[245]\.\d{1,3}\.\d{1,3}(?=\s|$)")
_OK: Final = 250
_PERMANENT: Final = range(500, 600)


class Undelivered(Exception):
    """The server has not taken a mail, or nobody knows whether it has. It is worth another try."""


class LineDown(Undelivered):
    """No mail can be sent at the moment, to any address."""


class NeverDeliverable(Undelivered):
    """The server says that this mail will never be taken."""


class SmtpLine:
    """Opened when a mail is to be sent, kept for the next ones, closed when told."""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        security: str,
        user: str | None,
        password: str | None,
        own_name: str,
        silence_s: float = _SILENCE_S_MAX,
    ) -> None:
        self._host = host
        self._port = port
        self._security = security
        self._user = user
        self._password = password
        self._own_name = own_name  # Told, since smtplib would look for one in the DNS and wait for it.
        self._silence_s = silence_s
        self._client: smtplib.SMTP | None = None

    def send(self, *, sender: str, to: str, message: bytes) -> None:
        """One mail to one recipient. Raises `Undelivered`."""
        client = self._ready()
        options: list[str] = []
        if not to.isascii():
            if not client.has_extn("smtputf8"):
                raise NeverDeliverable("the server takes no address beyond ASCII")
            options.append("SMTPUTF8")
        try:
            client.sendmail(sender, [to], message, mail_options=options)
        except smtplib.SMTPRecipientsRefused as error:
            [(code, reply)] = error.recipients.values()
            raise _refusal("recipient", code, reply) from None
        except smtplib.SMTPDataError as error:
            raise _refusal("mail", error.smtp_code, error.smtp_error) from None
        except OSError as error:
            self._drop()
            raise LineDown(_told(error)) from None

    def close(self) -> None:
        """Take leave of the server, if there is one at the other end."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(OSError):
                client.quit()
            client.close()

    def cut(self) -> None:
        """From another thread: a call that waits for the server need wait no longer."""
        client = self._client
        line = None if client is None else client.sock
        if line is not None:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def _ready(self) -> smtplib.SMTP:
        """The open line. A server may have ended it after the mail before, which is no fault of the next mail.

        A reset also ends whatever a refused mail has left behind.
        """
        if self._client is not None:
            with contextlib.suppress(OSError):
                if self._client.rset()[0] == _OK:
                    return self._client
            self._drop()
        try:
            self._client = self._opened()
        except OSError as error:
            self._drop()
            raise LineDown(_told(error)) from None
        return self._client

    def _opened(self) -> smtplib.SMTP:
        if self._security == "tls":
            client: smtplib.SMTP = smtplib.SMTP_SSL(
                self._host,
                self._port,
                self._own_name,
                timeout=self._silence_s,
                context=ssl.create_default_context(),
            )
        else:
            client = smtplib.SMTP(self._host, self._port, self._own_name, timeout=self._silence_s)
        self._client = client
        client.ehlo_or_helo_if_needed()
        if self._security == "starttls":
            client.starttls(context=ssl.create_default_context())
            client.ehlo_or_helo_if_needed()
        if self._user is not None and self._password is not None:
            client.login(self._user, self._password)
        return client

    def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()


def _refusal(what: str, code: int, reply: bytes | str) -> Undelivered:
    status = _status(code, reply)
    words = f"the {what} was refused with {status}"
    # 5.7 says that we may not, and not that nobody is there: a relay that does not know us, a rule of the provider.
    if code in _PERMANENT and code not in _OF_THE_LINE and " 5.7." not in status:
        return NeverDeliverable(words)
    return Undelivered(words)


def _told(error: OSError) -> str:
    """What is wrong with the line, in words that hold no address."""
    match error:
        case smtplib.SMTPAuthenticationError():
            return f"the server does not take our user and password ({_status(error.smtp_code, error.smtp_error)})"
        case smtplib.SMTPResponseException():
            return f"{type(error).__name__} {_status(error.smtp_code, error.smtp_error)}"
        case smtplib.SMTPNotSupportedError():
            return "the server offers no STARTTLS, or no way to sign in that we know"
        case ssl.SSLCertVerificationError():
            return f"the server's certificate is not good: {error.verify_message}"
        case smtplib.SMTPException():
            return type(error).__name__
    return f"{type(error).__name__}: {error.strerror}" if error.strerror else type(error).__name__


def _status(code: int, reply: bytes | str) -> str:
    raw = reply if isinstance(reply, bytes) else reply.encode(errors="replace")
    enhanced = _ENHANCED.match(raw)
    return f"{code} {enhanced.group().decode()}" if enhanced else str(code)
