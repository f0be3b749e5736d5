"""What tests of the pages of a business share: an owner at home, colleagues who join, and payments by hand."""

from typing import Final

from tests.guest import Guest
from tests.live import Customer, InProcess, Merchant, World

CAPS: Final = {"cap_usd": "12.50", "cap_eur": "", "cap_syp": "", "cap_try": ""}


def home(merchant: Merchant) -> str:
    return f"/business/{merchant.account}"


def owner(world: InProcess) -> tuple[Guest, Merchant]:
    merchant = world.merchant()
    return Guest(world).entered(Customer(merchant.email, merchant.personal, "")), merchant


def invite(guest: Guest, merchant: Merchant, email: str, role: str = "viewer", **changes: str) -> str:
    """Its id."""
    path = f"{home(merchant)}/staff/invite"
    guest.open(path)
    answer = guest.post(path, **{"email": email, "role": role, **CAPS, **changes})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{home(merchant)}/staff"), guest.text
    with guest.world.books() as books:
        [(invitation,)] = books.select("SELECT id FROM invitation WHERE email = ?", email)
    return str(invitation)


def join(world: World, merchant: Merchant, role: str, boss: Guest | None = None) -> Guest:
    """Somebody who was invited and has accepted."""
    person = world.person(verified=True)
    boss = boss or Guest(world).signed_in(merchant.email)
    path = f"/invitations/{invite(boss, merchant, person.email, role)}"
    guest = Guest(world).entered(person) if isinstance(world, InProcess) else Guest(world).signed_in(person.email)
    guest.open(path)
    answer = guest.post(path, answer="accept")
    assert (answer.status_code, answer.headers["location"]) == (303, home(merchant)), guest.text
    return guest


def take(guest: Guest, base: str, **changes: str) -> str:
    """The id of a payment by hand."""
    guest.open(f"{base}/take")
    fields = {"amount": "12.50", "currency": "USD", "note": "Two coffees", "reference": "T-7", "lasts": "day"}
    answer = guest.post(f"{base}/take", **fields | changes)
    assert answer.status_code == 303, guest.text
    return answer.headers["location"].rpartition("/")[2]


def refund_form(guest: Guest, base: str, payment: str) -> str:
    path = f"{base}/payments/{payment}/refund"
    guest.open(path)
    return path
