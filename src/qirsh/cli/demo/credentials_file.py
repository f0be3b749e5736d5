"""The demo's credentials: random, made once, kept in a file that only its user can read."""

import secrets
import shlex
from typing import Final

import msgspec

from qirsh.cli.errors import Stopped
from qirsh.cli.private_file import write_private
from qirsh.domain.limits import PIN_DIGITS
from qirsh.settings import Settings
from qirsh.web.auth.password_policy import is_weak_pin

# Without letters and digits that look alike, and without anything a shell or JSON would have to quote.
_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"


class Player(msgspec.Struct, rename="camel", omit_defaults=True):
    """A person of the demo, and what they prove themselves with."""

    email: str
    password: str
    pin: str = ""
    totp_secret: str = ""
    person: int = 0
    account: str = ""
    password_hash: str = ""  # As it is stored of this very password.
    changed: tuple[str, ...] = ()  # Fields of the above that the person has changed since, as seen at the last start.


class Demo(msgspec.Struct, rename="camel"):
    """Everything that the demo prints and cannot be read back from its database."""

    operator: Player
    operator2: Player
    operator3: Player  # An operator of support only.
    merchant: Player
    customer: Player
    customer2: Player
    customer3: Player  # Whose identity waits to be checked.
    shop_account: str = ""
    api_key: str = ""
    test_api_key: str = ""
    payment: str = ""  # One that waits to be paid.
    requested_account: str = ""  # A commercial account that waits for approval, as long as it does.
    webhook_endpoint: str = ""  # Its receiver is the demo itself, which knows the secret.
    webhook_secret: str = ""
    failing_endpoint: str = ""  # Its receiver fails on purpose.
    database: str = ""  # Where it is, without the password; empty for the file in its own folder.


def players(demo: Demo) -> dict[str, Player]:
    """Its people, by what they are in it."""
    return {
        who: getattr(demo, who)
        for who in ("merchant", "customer", "customer2", "customer3", "operator", "operator2", "operator3")
    }


def new_password() -> str:
    """Eighty bits, in groups that can be typed."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(4))


def new_pin() -> str:
    """As a person would choose it, but random."""
    while True:
        pin = "".join(secrets.choice("0123456789") for _ in range(PIN_DIGITS))
        if not is_weak_pin(pin):
            return pin


def read_demo(settings: Settings) -> Demo | None:
    """The demo of this data directory; None if it has none."""
    try:
        return msgspec.json.decode(settings.demo_file.read_bytes(), type=Demo)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        message = f"{settings.demo_file} is damaged ({error}): remove the demo's folder and start again"
        raise Stopped(message) from None


def keep_demo(settings: Settings, demo: Demo) -> None:
    """Write it whole or not at all."""
    write_private(settings.demo_file, msgspec.json.format(msgspec.json.encode(demo), indent=2) + b"\n")


def shell_lines(base_url: str, demo: Demo | None) -> list[str]:
    """What `qirsh status --env` prints, for `eval` in a shell."""
    values = {"BASE_URL": base_url}
    if demo is not None:
        values |= {"API_KEY": demo.api_key, "TEST_API_KEY": demo.test_api_key}
        for who, player in players(demo).items():
            told = {"email": player.email, "password": player.password}
            if who.startswith("customer"):
                told["pin"] = player.pin
            if player.totp_secret:
                told["totp_secret"] = player.totp_secret
            values |= {
                f"{who.upper()}_{name.upper()}": value for name, value in told.items() if name not in player.changed
            }
    return [f"QIRSH_{name}={shlex.quote(value)}" for name, value in values.items()]
