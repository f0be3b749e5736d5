"""Changes of names and logos in the console: before, after, and what the new name could be taken for."""

import base64
from typing import Final

from qirsh.domain.brand import Brand, is_waiting
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import ActionRefused, Params
from qirsh.web.operator.console_form import console_form
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.decision_pages import Decision, account_of, shared_values, to_queue
from qirsh.web.operator.look_alikes import look_alikes
from qirsh.web.operator.own_interest import part_in_account

_QUEUE: Final = "brands"


async def show_brand_request(page: ConsolePage) -> Response:
    """What customers see, and what they would see."""
    return await _page(page, account_of(page), Decision({}))


async def brand_again(page: ConsolePage, params: Params, refused: ActionRefused) -> Response:
    """The same page, with why not, and what was typed."""
    return await _page(page, params["account"], Decision(params, refused))


async def _page(page: ConsolePage, number: str, decision: Decision) -> Response:
    store = page.context.store
    account, change = (
        await store.find(Tables.accounts, int(number)),
        await store.find(Tables.brand_changes, int(number)),
    )
    if account is None or change is None:
        raise Problem("not_found")
    brand = await store.find(Tables.brands, account.number) or Brand(account.number)
    resembles = ""
    if is_waiting(change) and change.name != account.name:
        resembles = (await look_alikes(page.context, {account.number: change.name}))[account.number]
    values = await shared_values(page, _QUEUE, account.number, decision)
    return page.render(
        "operator/brand.html",
        account=account,
        change=change,
        old_logo=_picture(brand.picture),
        # A logo that stays is not kept with the change.
        new_logo=_picture(change.picture or (brand.picture if change.logo and change.logo == brand.logo else b"")),
        resembles=resembles,
        part="asked" if change.asked_by == page.operator.person else await part_in_account(page, account),
        asked_by=await page.name_of(change.asked_by),
        decided_by=await page.name_of(change.decided_by),
        **values,
    )


def _picture(data: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(data).decode()}" if data else ""


BRAND_ROUTES: Final = (
    console_page("GET", "/brands/{account}", show_brand_request, right=OperatorRight.DECIDE),
    console_form("/brands/{account}/approve", "brand approve", ("id",), again=brand_again, done=to_queue(_QUEUE)),
    console_form(
        "/brands/{account}/refuse", "brand refuse", ("id", "reason"), again=brand_again, done=to_queue(_QUEUE)
    ),
)
