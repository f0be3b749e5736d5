"""Somebody signed in, who changes how their account is kept: what tests of those pages share."""

import re
from typing import Final

import httpx2
import pyotp

from qirsh.domain.api_key import token_hash
from qirsh.domain.person import Login
from qirsh.domain.tables import Tables
from qirsh.engine.mail_crypto import Envelope
from tests.guest import Guest
from tests.live import PASSWORD, Customer, InProcess
from tests.mailbox import mails_to

SECURITY: Final = "/wallet/security"
WRONG: Final = "The password is not right. Nothing was changed."
WRONG_CODE: Final = "The password or the code is not right, or the code was used before. Nothing was changed."


def tenant(world: InProcess, customer: Customer | None = None, **typed: str) -> tuple[Customer, Guest]:
    """A customer, and their browser."""
    customer = customer or world.customer()
    guest = Guest(world)
    assert guest.sign_in(customer.email, **typed).status_code == 303, guest.text
    return customer, guest


def login_of(world: InProcess, email: str) -> Login:
    login = world.run(world.context.store.find(Tables.logins, email))
    assert login is not None
    return login


def fill(guest: Guest, path: str, **typed: str) -> httpx2.Response:
    """Open a page and post the form on it."""
    assert guest.open(path).status_code == 200, guest.text
    return guest.post(path, **typed)


def shown_seed(guest: Guest) -> str:
    """The key on the page that turns the second factor on."""
    found = re.search(r'<bdi class="num wraps">([A-Z2-7 ]+)</bdi>', guest.page)
    assert found, guest.page
    return found.group(1).replace(" ", "")


def code_of(world: InProcess, seed: str, steps: int = 0) -> str:
    return pyotp.TOTP(seed).at(world.now_ms() // 1000 + 30 * steps)


def shown_codes(guest: Guest) -> list[str]:
    return re.findall(r"<code>([A-Z2-7]{5}-[A-Z2-7]{5})</code>", guest.page)


def turn_on(world: InProcess, guest: Guest) -> tuple[str, list[str]]:
    """The second factor, from now on; the seed and the recovery codes. The next half minute has come."""
    guest.open(f"{SECURITY}/totp")
    seed = shown_seed(guest)
    answer = guest.post(f"{SECURITY}/totp", password=PASSWORD, code=code_of(world, seed))
    assert answer.status_code == 200, guest.text
    codes = shown_codes(guest)
    world.clock.advance(30_000)
    return seed, codes


def session_of(guest: Guest) -> str:
    """The hash by which the service knows the browser's session."""
    return token_hash(guest.cookies["qirsh"].encode()).hex()


def letters_to(world: InProcess, address: str) -> list[Envelope]:
    """All about how the account is kept: whoever was verified has heard of that before."""
    return [mail for mail in mails_to(world, address) if mail.kind != "identity_verified"]


def last_letter(world: InProcess, address: str) -> Envelope:
    return letters_to(world, address)[-1]
