"""Views of payments that somebody of the staff has saved: the forms that save and remove them."""

from typing import Final

from qirsh.domain.commands.saved_view import RemoveView, SaveView
from qirsh.domain.limits import VIEW_NAME_CHARACTERS_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.store.reads.saved_views import saved_views_of
from qirsh.web.business.payment_filters import FIELDS, read_wanted
from qirsh.web.business.payment_pages import Naming, show_wanted
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.forms import read_form
from qirsh.web.html.input_text import one_line
from qirsh.web.html.page_query import unreadable
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem

_FAULTS: Final = {Refusal.MOVE_NOT_ALLOWED: "taken", Refusal.TOO_MANY: "too_many"}


async def save_view(page: ShopPage) -> Response:
    """What the list was asked for, under a name. Kept is what this page makes of it, and not what was sent."""
    shop = page.shop
    typed = page.form("save-view", "name", *FIELDS, bound=(str(shop.account.number),))
    wanted = read_wanted({name: typed[name].strip() for name in FIELDS})
    if wanted.errors or not wanted.query:
        raise unreadable("view")
    name = one_line(typed["name"], VIEW_NAME_CHARACTERS_MAX)
    if not name:
        return await show_wanted(page, wanted, naming=Naming(typed["name"], "empty" if name == "" else "too_long"))
    outcome = await page.context.engine.submit(
        SaveView(
            account=shop.account.number,
            id=f"sv_{page.context.entropy(9).hex()}",
            name=name,
            query=wanted.query,
            member=page.person,
        )
    )
    if type(outcome) is Refused:
        if outcome.why in _FAULTS:
            return await show_wanted(page, wanted, naming=Naming(name, _FAULTS[outcome.why]))
        raise to_problem(outcome)
    return page.redirect(f"{shop.address}/payments?{outcome.query}", f"{shop.account.number}.view-saved")


async def remove_view(page: ShopPage) -> Response:
    """Twice is once. To everybody but its owner it is like what does not exist."""
    shop, view_id = page.shop, page.request.arguments["id"]
    token = read_form(page.context, page.request, "token")["token"]
    views = await saved_views_of(page.context.store, shop.live.number, page.person, shop.mode)
    found = next((view for view in views if view.id == view_id), None)
    # Whoever has the token was shown the view as their own.
    if found is None and not page.csrf.is_made_here(token, "remove-view", view_id):
        raise Problem("not_found")
    page.csrf.check(token, "remove-view", view_id)
    outcome = await page.context.engine.submit(RemoveView(shop.account.number, view_id, page.person))
    if type(outcome) is Refused and outcome.why is not Refusal.NOT_FOUND:
        raise to_problem(outcome)
    address = f"{shop.address}/payments" if found is None else f"{shop.address}/payments?{found.query}"
    return page.redirect(address, f"{shop.account.number}.view-removed")
