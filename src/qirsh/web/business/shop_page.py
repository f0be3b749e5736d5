"""Pages of one business: each names the right that it needs, and is shown to whoever has it there."""

from collections.abc import Callable
from datetime import date

from qirsh.domain.limits import BODY_BYTES_MAX
from qirsh.domain.staff import Right
from qirsh.language.local_time import local_day
from qirsh.web.business.shop import Shop, find_shop
from qirsh.web.html.page_context import Answer, PageContext, signed_in
from qirsh.web.html.reauthentication import account_holder_of
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.http.route import Handler, Route


class ShopPage(PageContext, frozen=True, kw_only=True):
    """One browser at one page of one business, whose signed-in person has the right to it."""

    shop: Shop

    @property
    def actor(self) -> str:
        """As the audit log names them."""
        return f"person {self.person}"

    @property
    def today(self) -> date:
        """At the shop."""
        return local_day(self.context.clock(), self.shop.time_zone)

    def render(self, template: str, *, status: int = 200, form_origin: str = "", **values: object) -> Response:
        """The page, which knows its shop."""
        return super().render(template, status=status, form_origin=form_origin, shop=self.shop, **values)


def business_page(
    method: str,
    path: str,
    handler: Callable[[ShopPage], Answer],
    *,
    right: Right,
    body_bytes_max: int = BODY_BYTES_MAX,
    on_refused: Callable[[ShopPage], Answer] | None = None,
) -> Route:
    """A page below `/business/{account}`."""
    return Route(
        method,
        f"/business/{{account}}{path}",
        _for_staff(handler, right),
        token=None,
        is_page=True,
        right=right,
        body_bytes_max=body_bytes_max,
        on_refused=None if on_refused is None else _for_staff(on_refused, right),
    )


def _for_staff(handler: Callable[[ShopPage], Answer], right: Right) -> Handler:
    @signed_in
    async def answer(page: PageContext) -> Response:
        shop = await find_shop(page.context, page.person, page.request.arguments["account"])
        if not shop.may(right):
            raise missing_right(shop, right)
        if shop.business.needs_two_step and shop.role != "owner" and not (await account_holder_of(page)).has_factor:
            return page.render("business/two_step_needed.html", status=403, name=shop.live.name)
        page.request.time_zone = shop.time_zone
        return await handler(ShopPage(page.context, page.request, page.session, page.csrf, page.flash, shop=shop))

    return answer


def missing_right(shop: Shop, right: Right) -> Problem:
    """For a member whose role does not have it: both are named."""
    detail = f"Your role at this business, {shop.role}, does not have the right {right}."
    problem = Problem("missing_right", detail=detail)
    problem.named = (shop.role, right)
    return problem
