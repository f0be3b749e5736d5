"""Business requests in the console: what an owner wrote, what it could be taken for, and the thread of messages."""

from typing import Final

from qirsh.domain import limits
from qirsh.domain.account import Account
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.store.reads import people as people_queries
from qirsh.store.reads.shop_messages import messages_of
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import ActionRefused, Params
from qirsh.web.operator.console_form import console_form
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.decided import decided_before
from qirsh.web.operator.decision_pages import Decision, account_of, shared_values, to_queue
from qirsh.web.operator.look_alikes import look_alikes
from qirsh.web.operator.own_interest import part_in_account

_QUEUE: Final = "businesses"
_OTHERS_MAX: Final = 20


async def show_business_request(page: ConsolePage) -> Response:
    """All that there is to decide on."""
    return await _page(page, account_of(page), Decision({}))


async def business_again(page: ConsolePage, params: Params, refused: ActionRefused) -> Response:
    """The same page, with why not, and what was typed."""
    return await _page(page, params["account"], Decision(params, refused))


def to_thread(page: ConsolePage, _result: Params) -> str:
    """Messages are written and answered on the same page."""
    return f"/operator/businesses/{account_of(page)}"


async def _page(page: ConsolePage, number: str, decision: Decision) -> Response:
    store = page.context.store
    account, business = await store.find(Tables.accounts, int(number)), await store.find(Tables.businesses, int(number))
    if account is None or business is None or account.owner is None:
        raise Problem("not_found")
    messages = await messages_of(store, account.number)
    rows = await store.select(people_queries.BUSINESSES_OF, account.owner, _OTHERS_MAX)
    others = [other for *fields, _reason in rows if (other := Account(*fields)).number != account.number]
    before = None if account.state == "requested" else await decided_before(page.context, account)
    values = await shared_values(page, _QUEUE, account.number, decision)
    return page.render(
        "operator/business.html",
        account=account,
        business=business,
        owner=await store.find(Tables.people, account.owner),
        others=others,
        resembles=(await look_alikes(page.context, {account.number: account.name}))[account.number],
        messages=messages,
        waits_for_owner=bool(messages) and messages[-1].author == "operator",
        decided="" if before is None else before.told(page.request.language),
        characters_max=limits.MESSAGE_CHARACTERS_MAX,
        part=await part_in_account(page, account),
        **values,
    )


BUSINESS_ROUTES: Final = (
    console_page("GET", "/businesses/{account}", show_business_request, right=OperatorRight.DECIDE),
    console_form("/businesses/{account}/approve", "account approve", (), again=business_again, done=to_queue(_QUEUE)),
    console_form(
        "/businesses/{account}/reject", "account reject", ("reason",), again=business_again, done=to_queue(_QUEUE)
    ),
    console_form("/businesses/{account}/ask", "message send", ("text",), again=business_again, done=to_thread),
    console_form("/businesses/{account}/messages/read", "message show", (), again=business_again, done=to_thread),
)
