"""The search box of the console: one hit leads there, several are listed."""

from typing import Final

from qirsh.domain import limits
from qirsh.web.html.page_query import read_query
from qirsh.web.http.message import Response
from qirsh.web.operator.action import ActionRefused
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.console_page import ConsolePage, console_page

_KINDS: Final = (
    *("account", "person", "payment", "payout", "refund", "event", "key", "request", "proposal"),
    *("deposit", "withdrawal"),
)


async def show_search(page: ConsolePage) -> Response:
    """What was found, by kind."""
    words = read_query(page.request, "q")["q"]
    hits, has_more = [], False
    if words:
        try:
            found = await ACTIONS["search"].run(page.context, page.actor, {"words": words})
        except ActionRefused:
            found = {"hits": [], "more": False}
        hits, has_more = found["hits"], found["more"]
    if len(hits) == 1 and not has_more:
        return page.redirect(hits[0]["page"])
    kinds = [(kind, [hit for hit in hits if hit["kind"] == kind]) for kind in _KINDS]
    rest = [hit for hit in hits if hit["kind"] not in _KINDS]
    return page.render(
        "operator/search.html",
        query=words[: limits.SEARCH_CHARACTERS_MAX],
        groups=[(kind, some) for kind, some in (*kinds, ("other", rest)) if some],
        has_more=has_more,
        most=limits.HITS_OF_KIND_MAX,
    )


SEARCH_ROUTES: Final = (console_page("GET", "/search", show_search, right=ACTIONS["search"].right),)
