"""Forms that are carried out once, however often they are sent."""

from qirsh.domain.idempotency import IdempotencyKey, fingerprint
from qirsh.domain.limits import FORM_BYTES_MAX
from qirsh.web.html.forms import read_form
from qirsh.web.html.page_context import PageContext


def new_nonce(page: PageContext) -> str:
    """What a form carries so that, however often it is sent, it is carried out once."""
    return page.context.entropy(9).hex()


def once_form(
    page: PageContext, purpose: str, *names: str, bound: tuple[str, ...] = (), bytes_max: int = FORM_BYTES_MAX
) -> dict[str, str]:
    """The posted values, `nonce` among them, which the form was made with."""
    values = read_form(page.context, page.request, "token", "nonce", *names, bytes_max=bytes_max)
    page.csrf.check(values.pop("token"), purpose, *bound, values["nonce"])
    return values


def once_key(page: PageContext, account: int, what: str, nonce: str, asked: bytes) -> IdempotencyKey:
    """Under which a form is carried out once: its nonce, with what it asks for."""
    mark = fingerprint(page.context.identifiers.fingerprint_key, b"POST", page.request.path.encode(), asked)
    return IdempotencyKey(account, f"{what} {nonce}", mark)
