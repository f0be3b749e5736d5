"""A mail as it goes over the line: headers, and a body that every mail program can read, in whichever letters."""

import re
from datetime import UTC, datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Final

# Without quotation marks and the like, which each mail program reads in its own way.
_ADDRESS: Final = re.compile(r"([^\s@\"(),:;<>\[\]\\]{1,64})@([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)")
# Any server takes seven bits.
_POLICY: Final = policy.SMTP.clone(cte_type="7bit")


class NoAddress(Exception):
    """Nobody can be reached by this."""


def message_of(*, mail_id: str, sender: Address, to: str, language: str, at: int, subject: str, body: str) -> bytes:
    """The same bytes each time: a mail that is sent twice is the same mail."""
    address = _ADDRESS.fullmatch(to)
    if address is None:
        raise NoAddress
    name, domain = address.groups()
    message = EmailMessage(_POLICY if to.isascii() else _POLICY.clone(utf8=True))
    message["From"] = sender
    message["To"] = Address(username=name, domain=domain)
    message["Subject"] = subject
    message["Date"] = datetime.fromtimestamp(at // 1000, UTC)
    message["Message-ID"] = f"<{mail_id}@{sender.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message["Content-Language"] = language
    message.set_content(body)
    return message.as_bytes()
