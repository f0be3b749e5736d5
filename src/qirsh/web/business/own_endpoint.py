"""A webhook endpoint as the owner of its business sees it. Whatever is another's is like what does not exist."""

from typing import Literal

import msgspec

from qirsh.domain.tables import Tables
from qirsh.domain.webhook import WebhookEndpoint, WebhookQueue, is_endpoint_id
from qirsh.web.business.shop import Shop, find_shop
from qirsh.web.html.page_context import PageContext
from qirsh.web.http.problems import Problem
from qirsh.web.http.webhooks import find_endpoint

Standing = Literal["active", "failing", "paused", "stopped"]


class OwnEndpoint(msgspec.Struct, frozen=True):
    """With the business that it belongs to, by its live account or its test account."""

    shop: Shop
    endpoint: WebhookEndpoint
    queue: WebhookQueue

    @property
    def address(self) -> str:
        """The page of it."""
        return f"/wallet/webhooks/{self.endpoint.id}"

    @property
    def is_live(self) -> bool:
        """Whether it hears of real money."""
        return self.endpoint.account == self.shop.account.number

    @property
    def standing(self) -> Standing:
        """Its state, and whether it rests."""
        state = self.endpoint.state
        assert state != "removed"
        if state == "enabled":
            return "active" if self.queue.due_at is None else "failing"
        return state


async def own_endpoint(page: PageContext, endpoint_id: str) -> OwnEndpoint:
    """The endpoint with this id, if it is theirs and not removed."""
    store = page.context.store
    found = await store.find(Tables.webhook_endpoints, endpoint_id) if is_endpoint_id(endpoint_id) else None
    account = await store.find(Tables.accounts, found.account) if found is not None else None
    if account is None or account.owner != page.person:
        raise Problem("not_found")
    endpoint, queue = await find_endpoint(page.context, account.number, endpoint_id)
    shop = await find_shop(page, str(account.live_account or account.number))
    return OwnEndpoint(shop, endpoint, queue)
