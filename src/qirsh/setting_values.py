"""What the text of a setting means. Each function takes the text, and raises `ValueError` that says what it takes."""

import grp
import re
from email.headerregistry import Address
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from qirsh.domain.limits import HINT_CHARACTERS_MAX, NAME_CHARACTERS_MAX
from qirsh.store.postgres.address import hosts_of

SECRET_CHARACTERS_MIN: Final = 32
_SECRET_VARIETY_MIN: Final = 8  # A repeated letter is no secret.
# User and password; hosts with ports, by commas; a database; parameters.
_POSTGRES_HOST: Final = r"(\[[\w:.%]*\]|[^:/?#@,\s\[\]]*)(:\d*)?"
_POSTGRES_LOCATION: Final = (
    rf"([^:/?#@\s]*(:[^:/?#@\s]*)?@)?{_POSTGRES_HOST}(,{_POSTGRES_HOST})*(/[^/?#@\s]*)?(\?[^#\s]*)?"
)
_NAME: Final = r"(?:\w(?:[\w-]*\w)?\.)*\w(?:[\w-]*\w)?\.?"
_BASE_URL: Final = re.compile(
    rf"(?P<scheme>https?)://(?P<host>\[[\da-f:]+\]|{_NAME})(?::(?P<port>\d{{1,5}}))?/*", re.ASCII | re.IGNORECASE
)
_NUMBER: Final = re.compile(r"\d+|0x[\da-f]*", re.ASCII)
# By scheme: how the line is guarded, and the port.
_SMTP_SCHEMES: Final = {"smtp": ("none", 25), "smtp+starttls": ("starttls", 587), "smtps": ("tls", 465)}
_SMTP_URL: Final = re.compile(
    r"(?P<scheme>[a-z+]+)://(?:(?P<user>[^:/?#@\s]+):(?P<password>[^:/?#@\s]+)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?/?"
)
_MAIL_FROM: Final = re.compile(
    r"(?:(?P<name>[^<>@\"\\]+?)\s*<(?P<named>[^<>]+)>|(?P<bare>[^<>\s]+))",
)
_MAIL_ADDRESS: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_PHONE: Final = re.compile(r"\+?[0-9][0-9 ()/.-]{4,28}[0-9]")
_PORT_MAX: Final = 65_535
_WORKERS_MAX: Final = 256
_IDENTITY_DAYS_MAX: Final = 365
_DELIVERY_DAYS_MAX: Final = 3650


class PostgresUrl(str):
    """The address of a PostgreSQL database, as libpq takes it. Shown without its password."""

    __slots__ = ()

    @property
    def is_local(self) -> bool:
        """Whether it leads no further than this machine: by loopback, or a socket in a folder."""
        names = [host.name for host in hosts_of(self)]
        return all(not name or name.startswith("/") or _is_loopback(name) for name in names)

    @property
    def sslmode(self) -> str:
        """How the line is guarded, as far as the address says."""
        return self._parameter("sslmode")

    @property
    def target_session_attrs(self) -> str:
        """Which of several servers it wants, as far as it says."""
        return self._parameter("target_session_attrs")

    def _parameter(self, name: str) -> str:
        return parse_qs(self.partition("?")[2]).get(name, [""])[-1]

    @property
    def shown(self) -> str:
        """Fit for a screen or a log."""
        without = re.sub(r"(?<=[?&])(\w*password)=[^&]*", r"\1=...", self)
        # Up to the last @: a password may hold one that nobody has written as %40.
        return re.sub(r"(?<=://)([^:/@?]*):.*@", r"\1@", without, flags=re.DOTALL)


class SmtpServer(msgspec.Struct, frozen=True):
    """The server that mails go through. Shown without its password."""

    url: str
    security: str  # "tls" from the first byte on, "starttls", or "none".
    host: str
    port: int
    user: str | None
    password: str | None

    @property
    def shown(self) -> str:
        """Fit for a screen or a log."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.url.partition('://')[0]}://{host}:{self.port}"

    def __repr__(self) -> str:
        """Never the password, wherever settings are printed."""
        return f"SmtpServer({self.shown})"


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 <= int(text) <= _PORT_MAX:
        message = "must be a port number from 0 to 65535 (0: any free one)"
        raise ValueError(message)
    return int(text)


def workers(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= _WORKERS_MAX:
        message = f"must be a number from 1 to {_WORKERS_MAX}"
        raise ValueError(message)
    return int(text)


def group(text: str) -> int | None:
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return grp.getgrnam(text).gr_gid
    except KeyError:
        message = f"there is no group {text} on this machine: groupadd it, or leave the setting out"
        raise ValueError(message) from None


def identity_days(text: str) -> int:
    return _days(text, _IDENTITY_DAYS_MAX)


def delivery_days(text: str) -> int:
    return _days(text, _DELIVERY_DAYS_MAX)


def _days(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= most:
        message = f"must be a number of days from 1 to {most}"
        raise ValueError(message)
    return int(text)


def on_or_off(text: str) -> bool:
    if text not in {"on", "off"}:
        message = "must be on or off"
        raise ValueError(message)
    return text == "on"


def text_or_json(text: str) -> bool:
    if text not in {"text", "json"}:
        message = "must be text or json"
        raise ValueError(message)
    return text == "json"


def otlp_or_off(text: str) -> bool:
    if text not in {"otlp", "off"}:
        message = "must be otlp or off"
        raise ValueError(message)
    return text == "otlp"


def token(text: str) -> bytes:
    secret = text.encode()
    if text and not (is_secret(secret) and text.isascii() and text.isprintable() and " " not in text):
        message = f"must have at least {SECRET_CHARACTERS_MIN} random characters of ASCII, without blanks"
        raise ValueError(message)
    return secret


def networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",")) if text else ()
    except ValueError:
        message = "must be addresses or networks, by commas, such as 10.0.0.5,10.1.0.0/16"
        raise ValueError(message) from None


def database(text: str) -> Path | PostgresUrl:
    scheme, _, location = text.partition("://")
    if scheme in {"postgresql", "postgres"} and location:
        # The driver would quote the odd part of a password in its complaint, so such an address never gets there.
        if not re.fullmatch(_POSTGRES_LOCATION, location):
            message = "in a user or password, write / as %2F, ? as %3F, # as %23, @ as %40, : as %3A and % as %25"
            raise ValueError(message)
        url = PostgresUrl(text)
        _check_hosts(url)
        if url.is_local or url.sslmode:
            return url
        # Otherwise the driver would ask for encryption, do without it if told so, and never look whose server it is.
        return PostgresUrl(f"{text}{'&' if '?' in text else '?'}sslmode=verify-full")
    # What means "in memory" elsewhere would be a file of that name here.
    if scheme == "sqlite" and location.startswith("/") and location not in {"/", "/:memory:"}:
        return Path(location.removeprefix("/")).absolute()
    message = "must be sqlite:///path or postgresql://user:password@host/database"
    raise ValueError(message)


def _check_hosts(url: PostgresUrl) -> None:
    """What the driver would take in its own way, or not at all."""
    try:
        hosts = hosts_of(url)
    except ValueError:
        message = "port= must be one for all hosts, or one for each, by commas"
        raise ValueError(message) from None
    if len(hosts) > 1 and not all(host.name for host in hosts):
        message = "a host beside a comma has no name"
        raise ValueError(message)
    if any(host.port is not None and not 1 <= host.port <= _PORT_MAX for host in hosts):
        message = f"a port is a number from 1 to {_PORT_MAX}"
        raise ValueError(message)
    if (wanted := url.target_session_attrs) not in {"", "any", "primary", "read-write"}:
        message = (
            f"target_session_attrs={wanted} leads to servers that take no writes: leave it out, the primary is found"
        )
        raise ValueError(message)


def base_url(text: str) -> str:
    """As a browser writes an origin: in small letters, an address at its shortest, no port that goes without saying."""
    found = _BASE_URL.fullmatch(text)
    host = found and _host(found["host"].lower())
    if not found or not host or int(found["port"] or 0) > _PORT_MAX:
        message = (
            "must be an absolute http or https address without user, path and query, such as https://pay.example.org,"
            " http://192.0.2.1:8420 or http://[2001:db8::1]; a name in other letters begins with xn--"
        )
        raise ValueError(message)
    scheme = found["scheme"].lower()
    usual = {"http": 80, "https": 443}[scheme]
    number = int(found["port"] or usual)
    return f"{scheme}://{host}" if number == usual else f"{scheme}://{host}:{number}"


def _host(text: str) -> str | None:
    """What ends with a number is an address for browsers, and for nobody else unless it is written as one."""
    try:
        if text.startswith("["):
            address = IPv6Address(text[1:-1])
            return None if address.ipv4_mapped else f"[{address}]"
        is_address = _NUMBER.fullmatch(text.removesuffix(".").rpartition(".")[2])
        return str(IPv4Address(text)) if is_address else text
    except ValueError:
        return None


def time_zone(text: str) -> ZoneInfo:
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = "must be the name of a time zone, such as Asia/Damascus, Europe/Istanbul or UTC"
        raise ValueError(message) from None


def smtp_server(text: str) -> SmtpServer | None:
    if not text:
        return None
    found = _SMTP_URL.fullmatch(text)
    if found is None or found["scheme"] not in _SMTP_SCHEMES:
        message = (
            "must be smtp+starttls://user:password@host:port, smtps://user:password@host:port or smtp://host:port;"
            " in a user or password, write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23 and % as %25"
        )
        raise ValueError(message)
    security, usual_port = _SMTP_SCHEMES[found["scheme"]]
    host = found["host"].strip("[]")
    number = port(found["port"]) if found["port"] else usual_port
    if number == 0:
        message = "must have a port from 1 to 65535, or none"
        raise ValueError(message)
    user, password = (unquote(part) if part else None for part in found.group("user", "password"))
    if not all(part.isascii() and part.isprintable() for part in (user, password) if part):
        message = "the user and the password must be of printable ASCII characters"
        raise ValueError(message)
    if password and security == "none" and not _is_loopback(host):
        message = "smtp:// would send the password in the open: use smtp+starttls:// or smtps://"
        raise ValueError(message)
    return SmtpServer(url=text, security=security, host=host, port=number, user=user, password=password)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_loopback(url: str) -> bool:
    """Whether the address leads no further than this machine."""
    return _is_loopback(urlsplit(url).hostname or "")


def mail_sender(text: str) -> Address | None:
    if not text:
        return None
    found = _MAIL_FROM.fullmatch(text.strip())
    address = (found["named"] or found["bare"]) if found else ""
    if found is None or not text.isprintable() or not _MAIL_ADDRESS.fullmatch(address):
        message = "must be an e-mail address, or a name and the address: Name <pay@example.org>"
        raise ValueError(message)
    user, _, domain = address.partition("@")
    return Address((found["name"] or "").strip(), user, domain)


def hint(text: str) -> str:
    if len(text) > HINT_CHARACTERS_MAX or not text.replace("\n", "").isprintable():
        message = f"must be printable, with at most {HINT_CHARACTERS_MAX} characters"
        raise ValueError(message)
    return text.strip()


def operator_name(text: str) -> str:
    if len(text) > NAME_CHARACTERS_MAX or not text.isprintable():
        message = f"must be printable, with at most {NAME_CHARACTERS_MAX} characters"
        raise ValueError(message)
    return text.strip()


def support_contact(text: str) -> str:
    text = text.strip()
    is_address = urlsplit(text).scheme == "https" and bool(urlsplit(text).hostname)
    if text and not (_MAIL_ADDRESS.fullmatch(text) or _PHONE.fullmatch(text) or (is_address and text.isprintable())):
        message = "must be an e-mail address, a phone number such as +963 11 123 4567, or an https address"
        raise ValueError(message)
    return text


def pages_dir(text: str) -> Path | None:
    if text and not Path(text).is_dir():
        message = f"{text} is not a directory"
        raise ValueError(message)
    return Path(text).absolute() if text else None


def secret_keys(text: str) -> tuple[bytes, ...]:
    parts = text.split(",") if text else []
    if not all(part.isprintable() and part == part.strip() for part in parts):  # Whoever tidied up would change it.
        message = "a secret has line breaks or other control characters in it, or blanks around it"
        raise ValueError(message)
    secrets = tuple(part.encode() for part in parts)
    if not all(map(is_secret, secrets)):
        message = f"each secret must have at least {SECRET_CHARACTERS_MIN} random characters"
        raise ValueError(message)
    if len(set(secrets)) < len(secrets):
        message = "a secret is there twice: write new,old"
        raise ValueError(message)
    return secrets


def is_secret(secret: bytes) -> bool:
    """Whether it has enough characters, of enough kinds."""
    return len(secret) >= SECRET_CHARACTERS_MIN and len(set(secret)) >= _SECRET_VARIETY_MIN
