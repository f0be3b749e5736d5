"""Somebody signed in, who changes how their account is kept: what tests of those pages share."""

import re
from typing import Final

import httpx2
import pyotp

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.login_credentials import StartChallenge, UnlockPin
from qirsh.domain.person import Login
from qirsh.domain.refusal import granted
from qirsh.domain.tables import Tables
from qirsh.engine.mail_crypto import Envelope
from tests.guest import Guest
from tests.live import PASSWORD, PIN, Customer, InProcess
from tests.mailbox import mails_to, word_of

SECURITY: Final = "/wallet/security"
WRONG: Final = "Incorrect password. Nothing was changed."
WRONG_CODE: Final = "Incorrect password or code, or the code was already used. Nothing was changed."


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


def mailed_code(world: InProcess, guest: Guest, path: str = f"{SECURITY}/totp", **typed: str) -> str:
    """The code that turning the second factor on or off takes; the page that asks for it is open."""
    before = _factor_codes(world, guest.email)
    guest.open(path)
    guest.follow(guest.post(f"{SECURITY}/totp/code", password=PASSWORD, **typed))
    assert guest.text.count("Code from the e-mail") == 1
    [code] = _factor_codes(world, guest.email) - before
    return code


def _factor_codes(world: InProcess, email: str) -> set[str]:
    return {word_of(mail, "code") for mail in mails_to(world, email) if mail.kind == "factor_code"}


def turn_on(world: InProcess, guest: Guest) -> tuple[str, list[str]]:
    """The second factor, from now on; the seed and the recovery codes. The next half minute has come."""
    mail_code = mailed_code(world, guest)
    seed = shown_seed(guest)
    answer = guest.post(f"{SECURITY}/totp", mail_code=mail_code, code=code_of(world, seed))
    assert answer.status_code == 200, guest.text
    codes = shown_codes(guest)
    world.clock.advance(30_000)
    return seed, codes


def session_of(guest: Guest) -> str:
    """The hash by which the service knows the browser's session."""
    return token_hash(guest.cookies["qirsh"].encode()).hex()


def letters_to(world: InProcess, address: str) -> list[Envelope]:
    """All about how the account is kept, but codes, and but what came before: they were verified, and signed in."""
    before = {"identity_verified", "factor_code", "new_device"}
    return [mail for mail in mails_to(world, address) if mail.kind not in before]


def last_letter(world: InProcess, address: str) -> Envelope:
    return letters_to(world, address)[-1]


def set_pin(world: InProcess, email: str, pin: str = PIN) -> None:
    """As a person does who reads their mail."""
    context, person = world.context, login_of(world, email).person
    link, code = context.entropy(32), b"mailed"
    mac = context.keyring.pin_mac(person, pin)

    async def unlocked() -> None:
        granted(await context.engine.submit(StartChallenge("pin", email, person, link, code, ())))
        granted(await context.engine.submit(UnlockPin(person, email, mac, link, (code,), ())))

    world.run(unlocked())
