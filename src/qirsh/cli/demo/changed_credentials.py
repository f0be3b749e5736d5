"""What the demo's people have changed of their credentials since it was made, so that nobody is told what fails."""

from qirsh.cli.demo.credentials_file import Demo, Player, players
from qirsh.domain.person import Login
from qirsh.domain.tables import Tables
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.auth.totp import unseal_seed
from qirsh.web.http.context import Context


async def remember_password_hashes(context: Context, demo: Demo) -> None:
    """Of people who have just got their passwords."""
    for player in players(demo).values():
        login = await _login(context, player)
        assert login is not None, "a demo is made with its people"
        player.password_hash = login.password_hash


async def note_changed_credentials(context: Context, demo: Demo) -> None:
    """Anew at each start, since what was changed can be changed back."""
    for player in players(demo).values():
        login = await _login(context, player)
        works = {
            "email": login is not None and login.email == player.email,
            "password": login is not None and await _is_password(context, player, login),
            "pin": not player.pin or await _is_pin(context, player),
            "totp_secret": not player.totp_secret or _seed(context, login) == player.totp_secret,
        }
        player.changed = tuple(name for name, is_same in works.items() if not is_same)


async def _login(context: Context, player: Player) -> Login | None:
    """By the person, who may have another address now; None if their data is deleted."""
    rows = await context.store.select(EMAIL_OF, player.person)
    return await context.store.find(Tables.logins, rows[0][0]) if rows else None


async def _is_password(context: Context, player: Player, login: Login) -> bool:
    """By the hash that is known to be of it: to check five passwords at each start would take seconds."""
    if login.password_hash != player.password_hash:
        if not await context.passwords.verify(login.password_hash, player.password):
            return False
        player.password_hash = login.password_hash
    return True


async def _is_pin(context: Context, player: Player) -> bool:
    pin = await context.store.find(Tables.pins, player.person)
    return pin is not None and pin.mac in context.keyring.pin_macs(player.person, player.pin)


def _seed(context: Context, login: Login | None) -> str | None:
    if login is None or login.totp_sealed is None:
        return None
    return unseal_seed(context.keyring, login.totp_sealed, login.email)
