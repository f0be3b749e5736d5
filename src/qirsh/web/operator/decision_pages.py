"""The three queues of decisions, oldest first, and what their pages share."""

from collections.abc import Callable
from typing import Final

import msgspec

from qirsh.domain import limits
from qirsh.domain.operator_role import OperatorRight
from qirsh.store.reads.decisions import next_waiting, waiting_for_decision
from qirsh.store.reads.queues import waiting
from qirsh.web.html.page_query import read_query, with_query
from qirsh.web.http.cursor import encode_cursor, numbers_of
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import ActionRefused, Params, number_in
from qirsh.web.operator.console_form import Done, field_faults, refused_status
from qirsh.web.operator.console_page import Answer, ConsolePage, console_page
from qirsh.web.operator.looking import look_at, look_away, lookers_at

_START: Final = (-1, -1)


def _queue(name: str) -> Callable[[ConsolePage], Answer]:
    async def show(page: ConsolePage) -> Response:
        store, asked = page.context.store, read_query(page.request, "after")["after"]
        since, place = numbers_of(asked, name, 2) if asked else _START
        found, after = await waiting_for_decision(store, name, (since, place), limits.LIST_ITEMS_DEFAULT)
        [count] = [queue.count for queue in await waiting(store) if queue.name == name]
        address = f"/operator/{name}"
        return page.render(
            f"operator/{name}.html",
            queue=name,
            address=address,
            found=found,
            count=count,
            lookers=lookers_at(page, *(f"{name} {one.account}" for one in found)),
            next_address="" if after is None else with_query(address, {"after": encode_cursor(name, *after)}),
            first_address=address if asked else "",
            now=page.context.clock(),
        )

    return show


QUEUE_ROUTES: Final = tuple(
    console_page("GET", f"/{name}", _queue(name), right=OperatorRight.DECIDE)
    for name in ("identities", "businesses", "brands")
)


class Decision(msgspec.Struct, frozen=True):
    """What a page of one thing knows beside the thing itself."""

    typed: Params
    refused: ActionRefused | None = None

    @property
    def status(self) -> int:
        """200, or that of why not."""
        return 200 if self.refused is None else refused_status(self.refused)


async def shared_values(page: ConsolePage, queue: str, account: int, decision: Decision) -> Params:
    """Who else looks at it, what comes next, and what was wrong with a form."""
    others = look_at(page, f"{queue} {account}")
    return {
        "lookers": others,
        "next_one": await next_waiting(page.context.store, queue, account),
        "typed": decision.typed,
        "faults": field_faults(page, decision.refused),
        "status": decision.status,
    }


def to_queue(queue: str) -> Done:
    """Where the next one is offered."""

    def done(page: ConsolePage, result: Params) -> str:
        look_away(page, f"{queue} {result['account']}")
        return f"/operator/{queue}"

    return done


def account_of(page: ConsolePage) -> str:
    """As the address has it. What is no number is not found."""
    text = page.request.arguments["account"]
    if number_in(text) is None:
        raise Problem("not_found")
    return text
