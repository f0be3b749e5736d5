"""Settings from the environment. The only file that reads it; a name nobody knows stops the start."""

import os
import re
from collections.abc import Callable, Mapping
from email.headerregistry import Address
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from qirsh.domain.limits import HINT_CHARACTERS_MAX

T = TypeVar("T")


class BadSetting(Exception):
    """A setting is misspelt or wrong. The message says which and what it takes."""


# Name -> what it is for. `qirsh doctor` and the docs list these.
SETTINGS: Final = {
    "QIRSH_DATABASE_URL": (
        "where the data is: sqlite:///path or postgresql://user:password@host/database"
        " (default: qirsh.db in the data directory)"
    ),
    "QIRSH_DATA_DIR": "directory of the database, the secret key and the control socket (default: qirsh-data)",
    "QIRSH_HOST": "address to listen on (default: 127.0.0.1)",
    "QIRSH_PORT": "port to listen on (default: 8420)",
    "QIRSH_BASE_URL": "how customers and merchants reach the service (default: http://HOST:PORT)",
    "QIRSH_WORKERS": "number of serving processes (default: 1; SQLite serves one, PostgreSQL any number)",
    "QIRSH_RATE_LIMITS": "on or off (default: on)",
    "QIRSH_TRUSTED_PROXIES": (
        "addresses or networks, by commas, of proxies whose X-Forwarded-For tells the client's address (default: none)"
    ),
    "QIRSH_SMTP_URL": (
        "the server that mails go through: smtp+starttls://user:password@host:port, smtps://... or smtp://..."
        " (default: none, and no mail is sent)"
    ),
    "QIRSH_MAIL_FROM": "whom mails come from: address, or Name <address> (needed with QIRSH_SMTP_URL)",
    "QIRSH_DEPOSIT_HINT": "what wallets say about how to add money, such as the bank account to send it to (optional)",
    "QIRSH_IDENTITY_DAYS": (
        "days after a decision on who somebody is, for which the pictures of their document are kept (default: 30)"
    ),
    "QIRSH_SECRET_KEY": "at least 32 characters; `new,old` while rotating (default: made at first start, 0600)",
}
# What `qirsh status --env` prints and the CLI reads back as an operator's credentials. No setting of the server.
CLIENT_VARIABLES: Final = frozenset(
    {
        "QIRSH_API_KEY",
        "QIRSH_TEST_API_KEY",
        "QIRSH_MERCHANT_EMAIL",
        "QIRSH_MERCHANT_PASSWORD",
        "QIRSH_CUSTOMER_EMAIL",
        "QIRSH_CUSTOMER_PASSWORD",
        "QIRSH_CUSTOMER_PIN",
        "QIRSH_CUSTOMER2_EMAIL",
        "QIRSH_CUSTOMER2_PASSWORD",
        "QIRSH_CUSTOMER2_PIN",
        "QIRSH_OPERATOR_EMAIL",
        "QIRSH_OPERATOR_PASSWORD",
        "QIRSH_OPERATOR_TOTP_SECRET",
        "QIRSH_OPERATOR2_EMAIL",
        "QIRSH_OPERATOR2_PASSWORD",
        "QIRSH_OPERATOR2_TOTP_SECRET",
    }
)

_SECRET_CHARACTERS_MIN: Final = 32
_SECRET_VARIETY_MIN: Final = 8  # A repeated letter is no secret.
# User and password; hosts with ports, by commas; a database; parameters.
_POSTGRES_HOST: Final = r"(\[[\w:.%]*\]|[^:/?#@,\s\[\]]*)(:\d*)?"
_POSTGRES_LOCATION: Final = (
    rf"([^:/?#@\s]*(:[^:/?#@\s]*)?@)?{_POSTGRES_HOST}(,{_POSTGRES_HOST})*(/[^/?#@\s]*)?(\?[^#\s]*)?"
)
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
_PORT_MAX: Final = 65_535
_WORKERS_MAX: Final = 256
_IDENTITY_DAYS_MAX: Final = 365


class PostgresUrl(str):
    """The address of a PostgreSQL database, as libpq takes it. Shown without its password."""

    __slots__ = ()

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


class Settings(msgspec.Struct, frozen=True):
    """What the service is told from outside."""

    data_dir: Path
    database: Path | PostgresUrl
    workers: int
    host: str
    port: int
    base_url: str
    has_rate_limits: bool
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    smtp: SmtpServer | None  # None: no mail is sent.
    mail_from: Address | None  # Never None where there is a server.
    deposit_hint: str  # Empty: wallets say no more than that operators book deposits.
    secret_keys: tuple[bytes, ...]  # Empty: the service keeps its own beside the data.
    identity_days: int

    @property
    def control_socket(self) -> Path:
        """Where the CLI reaches a running server."""
        return self.data_dir / "control.sock"

    @property
    def secret_file(self) -> Path:
        """The secret the service made for itself."""
        return self.data_dir / "secret.key"

    @property
    def demo_file(self) -> Path:
        """The demo's credentials."""
        return self.data_dir / "demo.json"


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """All settings, checked. Raises `BadSetting`."""
    environment = os.environ if environment is None else environment
    values = {name: value for name, value in environment.items() if name.startswith("QIRSH_")}
    for name, value in values.items():
        if name not in SETTINGS and name not in CLIENT_VARIABLES:
            message = f"{name} is not a setting. Settings: {', '.join(SETTINGS)}"
            raise BadSetting(message)
        if not value:
            message = f"{name} is empty: unset it, or give it a value"
            raise BadSetting(message)
    data_dir = Path(values.get("QIRSH_DATA_DIR", "qirsh-data")).absolute()
    host = values.get("QIRSH_HOST", "127.0.0.1")
    port = _read(values, "QIRSH_PORT", "8420", _port)
    database = _read(values, "QIRSH_DATABASE_URL", f"sqlite:///{data_dir}/qirsh.db", _database)
    workers = _read(values, "QIRSH_WORKERS", "1", _workers)
    if workers > 1 and isinstance(database, Path):
        message = "QIRSH_WORKERS: SQLite serves one process: set it to 1 or leave it out, or use PostgreSQL"
        raise BadSetting(message)
    smtp = _read(values, "QIRSH_SMTP_URL", "", _smtp)
    mail_from = _read(values, "QIRSH_MAIL_FROM", "", _mail_from)
    if smtp is not None and mail_from is None:
        message = "QIRSH_MAIL_FROM: must be set beside QIRSH_SMTP_URL: the address that mails come from"
        raise BadSetting(message)
    return Settings(
        data_dir=data_dir,
        database=database,
        workers=workers,
        host=host,
        port=port,
        base_url=_read(values, "QIRSH_BASE_URL", f"http://{f'[{host}]' if ':' in host else host}:{port}", _base_url),
        has_rate_limits=_read(values, "QIRSH_RATE_LIMITS", "on", _on_or_off),
        trusted_proxies=_read(values, "QIRSH_TRUSTED_PROXIES", "", _networks),
        smtp=smtp,
        mail_from=mail_from,
        deposit_hint=_read(values, "QIRSH_DEPOSIT_HINT", "", _hint),
        secret_keys=_read(values, "QIRSH_SECRET_KEY", "", _secret_keys),
        identity_days=_read(values, "QIRSH_IDENTITY_DAYS", "30", _identity_days),
    )


def operator_credentials(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the environment says about the operator who uses the CLI: email, password, totp_secret, as far as set."""
    environment = os.environ if environment is None else environment
    names = {"email": "EMAIL", "password": "PASSWORD", "totp_secret": "TOTP_SECRET"}
    found = {key: environment.get(f"QIRSH_OPERATOR_{name}") for key, name in names.items()}
    return {key: value for key, value in found.items() if value}


def _read(values: Mapping[str, str], name: str, default: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(values.get(name, default))
    except ValueError as error:
        message = f"{name}: {error}"
        raise BadSetting(message) from None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 <= int(text) <= _PORT_MAX:
        message = "must be a port number from 0 to 65535 (0: any free one)"
        raise ValueError(message)
    return int(text)


def _workers(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= _WORKERS_MAX:
        message = f"must be a number from 1 to {_WORKERS_MAX}"
        raise ValueError(message)
    return int(text)


def _identity_days(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= _IDENTITY_DAYS_MAX:
        message = f"must be a number of days from 1 to {_IDENTITY_DAYS_MAX}"
        raise ValueError(message)
    return int(text)


def _on_or_off(text: str) -> bool:
    if text not in {"on", "off"}:
        message = "must be on or off"
        raise ValueError(message)
    return text == "on"


def _networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",")) if text else ()
    except ValueError:
        message = "must be addresses or networks, by commas, such as 10.0.0.5,10.1.0.0/16"
        raise ValueError(message) from None


def _database(text: str) -> Path | PostgresUrl:
    scheme, _, location = text.partition("://")
    if scheme in {"postgresql", "postgres"} and location:
        # The driver would quote the odd part of a password in its complaint, so such an address never gets there.
        if not re.fullmatch(_POSTGRES_LOCATION, location):
            message = "in a user or password, write / as %2F, ? as %3F, # as %23, @ as %40, : as %3A and % as %25"
            raise ValueError(message)
        return PostgresUrl(text)
    if scheme == "sqlite" and location.startswith("/") and location != "/":
        return Path(location.removeprefix("/")).absolute()
    message = "must be sqlite:///path or postgresql://user:password@host/database"
    raise ValueError(message)


def _base_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        message = "must be an absolute http or https address without query"
        raise ValueError(message)
    return text.rstrip("/")


def _smtp(text: str) -> SmtpServer | None:
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
    port = _port(found["port"]) if found["port"] else usual_port
    if port == 0:
        message = "must have a port from 1 to 65535, or none"
        raise ValueError(message)
    user, password = (unquote(part) if part else None for part in found.group("user", "password"))
    if not all(part.isascii() and part.isprintable() for part in (user, password) if part):
        message = "the user and the password must be of printable ASCII characters"
        raise ValueError(message)
    if password and security == "none" and not _is_loopback(host):
        message = "smtp:// would send the password in the open: use smtp+starttls:// or smtps://"
        raise ValueError(message)
    return SmtpServer(url=text, security=security, host=host, port=port, user=user, password=password)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _mail_from(text: str) -> Address | None:
    if not text:
        return None
    found = _MAIL_FROM.fullmatch(text.strip())
    address = (found["named"] or found["bare"]) if found else ""
    if found is None or not text.isprintable() or not _MAIL_ADDRESS.fullmatch(address):
        message = "must be an e-mail address, or a name and the address: Name <pay@example.org>"
        raise ValueError(message)
    user, _, domain = address.partition("@")
    return Address((found["name"] or "").strip(), user, domain)


def _hint(text: str) -> str:
    if len(text) > HINT_CHARACTERS_MAX or not text.replace("\n", "").isprintable():
        message = f"must be printable, with at most {HINT_CHARACTERS_MAX} characters"
        raise ValueError(message)
    return text.strip()


def _secret_keys(text: str) -> tuple[bytes, ...]:
    secrets = tuple(part.encode() for part in text.split(",")) if text else ()
    if any(len(secret) < _SECRET_CHARACTERS_MIN or len(set(secret)) < _SECRET_VARIETY_MIN for secret in secrets):
        message = f"each secret must have at least {_SECRET_CHARACTERS_MIN} random characters"
        raise ValueError(message)
    return secrets
