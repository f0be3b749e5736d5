"""Commands about how a business looks to its customers."""

from qirsh.domain.brand import Brand, BrandChange
from qirsh.domain.command import Command
from qirsh.domain.mail import Letter


class SetBrandColour(Command[Brand], frozen=True):
    """Somebody of the staff chooses the colour of the pay page, or none. The outcome is the brand."""

    account: int
    colour: str
    member: int


class RequestBrandChange(Command[BrandChange], frozen=True):
    """Somebody of the staff wants another name or logo. The outcome is the request, which waits for an operator."""

    account: int
    id: str
    name: str
    logo: str  # The digest; empty: none.
    picture: bytes | None  # Of a logo that was not there before.
    seen: str  # The id of the request before, as the form was made with it; empty: there was none.
    member: int


class WithdrawBrandChange(Command[BrandChange], frozen=True):
    """Somebody of the staff does not want it any more. The outcome is the request."""

    account: int
    id: str
    member: int


class ApproveBrandChange(Command[BrandChange], frozen=True):
    """An operator agrees, and customers see it at once. The outcome is the request."""

    account: int
    id: str
    test_account: int  # Which has the same name.
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()  # For the owner.


class RefuseBrandChange(Command[BrandChange], frozen=True):
    """An operator does not agree: everything stays as it is. The outcome is the request."""

    account: int
    id: str
    reason: str
    operator: int
    actor: str
    letters: tuple[Letter, ...] = ()  # For the owner.
