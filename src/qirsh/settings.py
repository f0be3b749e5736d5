"""Settings from the environment. The only file that reads it; a name nobody knows stops the start."""

import os
from collections.abc import Callable, Mapping
from email.headerregistry import Address
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from qirsh import setting_values
from qirsh.setting_values import PostgresUrl, SmtpServer

T = TypeVar("T")


class BadSetting(Exception):
    """A setting is misspelt or wrong. The message says which and what it takes."""


# Name -> what it is for. `qirsh doctor` and the docs list these.
SETTINGS: Final = {
    "QIRSH_DATABASE_URL": (
        "where the data is: sqlite:///path or postgresql://user:password@host/database, with several hosts by commas:"
        " the primary among them is used (default: qirsh.db in the data directory)"
    ),
    "QIRSH_DATA_DIR": "directory of the database, the secret key and the control socket (default: qirsh-data)",
    "QIRSH_CONTROL_SOCKET": (
        "path of the socket that operators' commands go through; with it they never open the data directory"
        " (default: control.sock in the data directory)"
    ),
    "QIRSH_OPERATORS_GROUP": (
        "group of this machine whose members may use the control socket, beside the service's own user"
        " (default: none; needs QIRSH_CONTROL_SOCKET)"
    ),
    "QIRSH_HOST": "address to listen on (default: 127.0.0.1)",
    "QIRSH_PORT": "port to listen on (default: 8420)",
    "QIRSH_BASE_URL": "how customers and merchants reach the service, without a path (default: http://HOST:PORT)",
    "QIRSH_TIME_ZONE": "time zone of pages, mails and statements, such as Asia/Damascus (default: UTC)",
    "QIRSH_WORKERS": "number of serving processes (default: 1; SQLite serves one, PostgreSQL any number)",
    "QIRSH_RATE_LIMITS": "on or off (default: on)",
    "QIRSH_TRUSTED_PROXIES": (
        "addresses or networks, by commas, of proxies whose X-Forwarded-For tells the client's address (default: none)"
    ),
    "QIRSH_OPERATOR_NETWORKS": (
        "addresses or networks, by commas, from which the operator console is there (default: everywhere)"
    ),
    "QIRSH_WEBHOOK_NETWORKS": (
        "addresses or networks of your own, by commas, to which webhooks may go too, by http and to any port"
        " (default: none, and webhooks go by https to public addresses only)"
    ),
    "QIRSH_SMTP_URL": (
        "the server that mails go through: smtp+starttls://user:password@host:port, smtps://... or smtp://..."
        " (default: none, and no mail is sent)"
    ),
    "QIRSH_MAIL_FROM": "whom mails come from: address, or Name <address> (needed with QIRSH_SMTP_URL)",
    "QIRSH_DEPOSIT_HINT": "what wallets say about how to add money, such as the bank account to send it to (optional)",
    "QIRSH_OPERATOR_NAME": "who runs this service, as pages say it: the name of a company or a person (optional)",
    "QIRSH_SUPPORT_CONTACT": "how support is reached: an e-mail address, a phone number or an https address (optional)",
    "QIRSH_PAGES_DIR": (
        "directory of Markdown files for the pages help, contact, fees, terms and privacy: terms.md for all languages,"
        " terms.ar.md for one (optional; read at the start)"
    ),
    "QIRSH_IDENTITY_DAYS": (
        "days for which the photos of a document are kept after the decision on an identity (default: 30)"
    ),
    "QIRSH_DELIVERY_DAYS": (
        "days for which deliveries of webhooks and their tries are kept; the events stay (default: 30)"
    ),
    "QIRSH_LOG": "how the log's lines are written: text or json (default: text)",
    "QIRSH_METRICS_TOKEN": (
        "at least 32 characters, which a scrape of /metrics sends as its bearer token (default: none, and there is no"
        " /metrics)"
    ),
    "QIRSH_TRACES": (
        "off, or otlp: spans of requests, batches and webhooks go where OTEL_EXPORTER_OTLP_ENDPOINT says (default: off;"
        " needs pip install 'qirsh[otel]')"
    ),
    "QIRSH_SECRET_KEY": "at least 32 characters; `new,old` while rotating (default: made at first start, 0600)",
}
# A file instead of the value, for each of them: QIRSH_SECRET_KEY_FILE=/run/secrets/key.
_FILE: Final = "_FILE"
_FILE_BYTES_MAX: Final = 64 * 1024
# What `qirsh status --env` prints, and the CLI reads back as an operator's credentials and a developer's keys. No
# setting of the server.
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
        "QIRSH_CUSTOMER3_EMAIL",
        "QIRSH_CUSTOMER3_PASSWORD",
        "QIRSH_CUSTOMER3_PIN",
        "QIRSH_OPERATOR_EMAIL",
        "QIRSH_OPERATOR_PASSWORD",
        "QIRSH_OPERATOR_TOTP_SECRET",
        "QIRSH_OPERATOR2_EMAIL",
        "QIRSH_OPERATOR2_PASSWORD",
        "QIRSH_OPERATOR2_TOTP_SECRET",
        "QIRSH_OPERATOR3_EMAIL",
        "QIRSH_OPERATOR3_PASSWORD",
        "QIRSH_OPERATOR3_TOTP_SECRET",
    }
)


class Settings(msgspec.Struct, frozen=True):
    """What the service is told from outside."""

    data_dir: Path
    shared_socket: Path | None  # None: in the data directory, where only the service's own user comes.
    operators_group: int | None  # Whose members may use it.
    database: Path | PostgresUrl
    workers: int
    host: str
    port: int
    base_url: str
    time_zone: ZoneInfo
    has_rate_limits: bool
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    operator_networks: tuple[IPv4Network | IPv6Network, ...]
    webhook_networks: tuple[IPv4Network | IPv6Network, ...]
    smtp: SmtpServer | None  # None: no mail is sent.
    mail_from: Address | None  # Never None where there is a server.
    operator_name: str  # Empty: pages name nobody.
    support_contact: str  # Empty: pages name no way to reach support.
    pages_dir: Path | None  # None: no texts of the operator's.
    deposit_hint: str  # Empty: wallets say no more than that operators book deposits.
    is_log_json: bool
    metrics_token: bytes  # Empty: nobody sees metrics.
    has_traces: bool
    secret_keys: tuple[bytes, ...]  # Empty: the service keeps its own beside the data.
    identity_days: int
    delivery_days: int

    @property
    def control_socket(self) -> Path:
        """Where the CLI reaches a running server."""
        return self.shared_socket or self.data_dir / "control.sock"

    @property
    def secret_file(self) -> Path:
        """The secret the service made for itself."""
        return self.data_dir / "secret.key"

    @property
    def demo_file(self) -> Path:
        """The demo's credentials."""
        return self.data_dir / "demo.json"


# Of these it is only said whether they are set. Whatever else is told of a setting, `_SHOWN` says.
SECRET_SETTINGS: Final = frozenset({"QIRSH_METRICS_TOKEN", "QIRSH_SECRET_KEY"})
_SHOWN: Final[dict[str, Callable[[Settings], object]]] = {
    "QIRSH_DATABASE_URL": lambda own: own.database if isinstance(own.database, Path) else own.database.shown,
    "QIRSH_DATA_DIR": lambda own: own.data_dir,
    "QIRSH_CONTROL_SOCKET": lambda own: own.control_socket,
    "QIRSH_OPERATORS_GROUP": lambda own: own.operators_group,
    "QIRSH_HOST": lambda own: own.host,
    "QIRSH_PORT": lambda own: own.port,
    "QIRSH_BASE_URL": lambda own: own.base_url,
    "QIRSH_TIME_ZONE": lambda own: own.time_zone.key,
    "QIRSH_WORKERS": lambda own: own.workers,
    "QIRSH_RATE_LIMITS": lambda own: "on" if own.has_rate_limits else "off",
    "QIRSH_TRUSTED_PROXIES": lambda own: ", ".join(map(str, own.trusted_proxies)),
    "QIRSH_OPERATOR_NETWORKS": lambda own: ", ".join(map(str, own.operator_networks)),
    "QIRSH_WEBHOOK_NETWORKS": lambda own: ", ".join(map(str, own.webhook_networks)),
    "QIRSH_SMTP_URL": lambda own: own.smtp and own.smtp.shown,
    "QIRSH_MAIL_FROM": lambda own: own.mail_from,
    "QIRSH_DEPOSIT_HINT": lambda own: own.deposit_hint,
    "QIRSH_OPERATOR_NAME": lambda own: own.operator_name,
    "QIRSH_SUPPORT_CONTACT": lambda own: own.support_contact,
    "QIRSH_PAGES_DIR": lambda own: own.pages_dir,
    "QIRSH_IDENTITY_DAYS": lambda own: own.identity_days,
    "QIRSH_DELIVERY_DAYS": lambda own: own.delivery_days,
    "QIRSH_LOG": lambda own: "json" if own.is_log_json else "text",
    "QIRSH_METRICS_TOKEN": lambda own: "set" if own.metrics_token else "",
    "QIRSH_TRACES": lambda own: "otlp" if own.has_traces else "off",
    "QIRSH_SECRET_KEY": lambda own: "set" if own.secret_keys else "",
}


def shown_settings(settings: Settings) -> dict[str, str]:
    """What counts for each setting, fit for a screen: empty where there is nothing."""
    shown = {name: _SHOWN[name](settings) for name in SETTINGS}
    return {name: "" if value is None else str(value) for name, value in shown.items()}


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """All settings, checked. Raises `BadSetting`."""
    values = _values(os.environ if environment is None else environment)
    data_dir = Path(values.get("QIRSH_DATA_DIR", "qirsh-data")).absolute()
    shared_socket = _read(values, "QIRSH_CONTROL_SOCKET", "", lambda text: Path(text).absolute() if text else None)
    operators_group = _read(values, "QIRSH_OPERATORS_GROUP", "", setting_values.group)
    if operators_group is not None and shared_socket is None:
        message = (
            "QIRSH_OPERATORS_GROUP: needs QIRSH_CONTROL_SOCKET too, a path outside the data directory:"
            " the group cannot reach what is inside"
        )
        raise BadSetting(message)
    host = values.get("QIRSH_HOST", "127.0.0.1")
    port = _read(values, "QIRSH_PORT", "8420", setting_values.port)
    database = _read(values, "QIRSH_DATABASE_URL", f"sqlite:///{data_dir}/qirsh.db", setting_values.database)
    workers = _read(values, "QIRSH_WORKERS", "1", setting_values.workers)
    if workers > 1 and isinstance(database, Path):
        message = "QIRSH_WORKERS: SQLite serves one process: set it to 1 or leave it out, or use PostgreSQL"
        raise BadSetting(message)
    smtp = _read(values, "QIRSH_SMTP_URL", "", setting_values.smtp_server)
    mail_from = _read(values, "QIRSH_MAIL_FROM", "", setting_values.mail_sender)
    if smtp is not None and mail_from is None:
        message = "QIRSH_MAIL_FROM: must be set beside QIRSH_SMTP_URL: the address that mails come from"
        raise BadSetting(message)
    return Settings(
        data_dir=data_dir,
        shared_socket=shared_socket,
        operators_group=operators_group,
        database=database,
        workers=workers,
        host=host,
        port=port,
        base_url=_read(
            values, "QIRSH_BASE_URL", f"http://{f'[{host}]' if ':' in host else host}:{port}", setting_values.base_url
        ),
        time_zone=_read(values, "QIRSH_TIME_ZONE", "UTC", setting_values.time_zone),
        has_rate_limits=_read(values, "QIRSH_RATE_LIMITS", "on", setting_values.on_or_off),
        trusted_proxies=_read(values, "QIRSH_TRUSTED_PROXIES", "", setting_values.networks),
        operator_networks=_read(values, "QIRSH_OPERATOR_NETWORKS", "", setting_values.networks),
        webhook_networks=_read(values, "QIRSH_WEBHOOK_NETWORKS", "", setting_values.networks),
        smtp=smtp,
        mail_from=mail_from,
        deposit_hint=_read(values, "QIRSH_DEPOSIT_HINT", "", setting_values.hint),
        operator_name=_read(values, "QIRSH_OPERATOR_NAME", "", setting_values.operator_name),
        support_contact=_read(values, "QIRSH_SUPPORT_CONTACT", "", setting_values.support_contact),
        pages_dir=_read(values, "QIRSH_PAGES_DIR", "", setting_values.pages_dir),
        is_log_json=_read(values, "QIRSH_LOG", "text", setting_values.text_or_json),
        metrics_token=_read(values, "QIRSH_METRICS_TOKEN", "", setting_values.token),
        has_traces=_read(values, "QIRSH_TRACES", "off", setting_values.otlp_or_off),
        secret_keys=_read(values, "QIRSH_SECRET_KEY", "", setting_values.secret_keys),
        identity_days=_read(values, "QIRSH_IDENTITY_DAYS", "30", setting_values.identity_days),
        delivery_days=_read(values, "QIRSH_DELIVERY_DAYS", "30", setting_values.delivery_days),
    )


def _values(environment: Mapping[str, str]) -> dict[str, str]:
    """What is set of the settings. A name that is none, or is set to nothing, raises `BadSetting`."""
    for name, value in environment.items():
        if not name.startswith("QIRSH_"):
            continue
        if name.removesuffix(_FILE) not in SETTINGS.keys() | CLIENT_VARIABLES:
            message = f"{name} is not a setting. Settings: {', '.join(SETTINGS)}"
            raise BadSetting(message)
        if not value:
            message = f"{name} is empty: unset it, or give it a value"
            raise BadSetting(message)
    values = {name: _value(environment, name) for name in SETTINGS}
    return {name: value for name, value in values.items() if value}


def _value(environment: Mapping[str, str], name: str) -> str:
    """By the environment itself or by a file that it names; empty where it is not set."""
    value, path = environment.get(name, ""), environment.get(name + _FILE, "")
    if value and path:
        message = f"{name} and {name + _FILE} are both set: unset one of them"
        raise BadSetting(message)
    return _read_file(name + _FILE, path) if path else value


def _read_file(name: str, path: str) -> str:
    """Its text, less the end of its last line. The path is not told: a secret may have been set by mistake."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - only a part of it is read
            text = file.read(_FILE_BYTES_MAX + 1).decode()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        message = f"{name}: the file cannot be read: {why}"
        raise BadSetting(message) from None
    if len(text) > _FILE_BYTES_MAX:
        message = f"{name}: the file is longer than {_FILE_BYTES_MAX} bytes"
        raise BadSetting(message)
    if not text.strip():
        message = f"{name}: the file is empty"
        raise BadSetting(message)
    return text.rstrip("\r\n")


def operator_credentials(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the environment says about the operator who uses the CLI: email, password, totp_secret, as far as set."""
    environment = os.environ if environment is None else environment
    names = {"email": "EMAIL", "password": "PASSWORD", "totp_secret": "TOTP_SECRET"}
    found = {key: _value(environment, f"QIRSH_OPERATOR_{name}") for key, name in names.items()}
    return {key: value for key, value in found.items() if value}


class DeveloperKeys(msgspec.Struct, frozen=True):
    """The API keys of a developer's shell; empty if not set. Never shown."""

    either: str  # QIRSH_API_KEY: live or test.
    test: str  # QIRSH_TEST_API_KEY, as the demo has it beside a live one.

    def __repr__(self) -> str:
        """Without the keys."""
        return "DeveloperKeys(...)"


def developer_keys(environment: Mapping[str, str] | None = None) -> DeveloperKeys:
    """What the environment has of them."""
    environment = os.environ if environment is None else environment
    return DeveloperKeys(_value(environment, "QIRSH_API_KEY"), _value(environment, "QIRSH_TEST_API_KEY"))


class ServiceManager(msgspec.Struct, frozen=True):
    """What systemd tells a program that it has started, and wants to hear from."""

    socket: str = ""  # A path, or an abstract name that begins with @. Empty: nobody listens.
    watchdog_s: float = 0  # How often it wants to hear that the program lives; 0: never.


def service_manager(environment: Mapping[str, str] | None = None) -> ServiceManager:
    """As sd_notify(3) and sd_watchdog_enabled(3) have it. What is not for this process does not count."""
    environment = os.environ if environment is None else environment
    watchdog = environment.get("WATCHDOG_USEC", "")
    is_ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return ServiceManager(
        environment.get("NOTIFY_SOCKET", ""),
        int(watchdog) / 1e6 if is_ours and watchdog.isascii() and watchdog.isdigit() else 0,
    )


def _read(values: Mapping[str, str], name: str, default: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(values.get(name, default))
    except ValueError as error:
        message = f"{name}: {error}"
        raise BadSetting(message) from None
