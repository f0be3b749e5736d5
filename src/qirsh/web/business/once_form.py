"""Forms that are carried out once, however often they are sent."""

from qirsh.web.html.forms import read_form
from qirsh.web.html.page_context import PageContext


def new_nonce(page: PageContext) -> str:
    """What a form carries so that, however often it is sent, it is carried out once."""
    return page.context.entropy(9).hex()


def once_form(page: PageContext, purpose: str, *names: str, bound: tuple[str, ...] = ()) -> dict[str, str]:
    """The posted values, `nonce` among them, which the form was made with."""
    values = read_form(page.context, page.request, "token", "nonce", *names)
    page.csrf.check(values.pop("token"), purpose, *bound, values["nonce"])
    return values
