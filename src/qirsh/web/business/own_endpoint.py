"""A webhook endpoint as the staff of its business sees it. Whatever is another's is like what does not exist."""

from typing import Literal

import msgspec

from qirsh.domain.webhook import WebhookEndpoint, WebhookQueue
from qirsh.web.business.shop import Shop
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.http.webhooks import find_endpoint

Standing = Literal["active", "failing", "paused", "stopped"]


class OwnEndpoint(msgspec.Struct, frozen=True):
    """With the business that it belongs to."""

    shop: Shop
    endpoint: WebhookEndpoint
    queue: WebhookQueue

    @property
    def address(self) -> str:
        """The page of it."""
        return f"{self.shop.address}/webhooks/{self.endpoint.id}"

    @property
    def is_live(self) -> bool:
        """Whether it hears of real money."""
        return self.shop.mode == "live"

    @property
    def standing(self) -> Standing:
        """Its state, and whether it rests."""
        state = self.endpoint.state
        assert state != "removed"
        if state == "enabled":
            return "active" if self.queue.due_at is None else "failing"
        return state


async def own_endpoint(page: ShopPage, endpoint_id: str) -> OwnEndpoint:
    """The endpoint of this account with this id, if it is not removed."""
    endpoint, queue = await find_endpoint(page.context, page.shop.account.number, endpoint_id)
    return OwnEndpoint(page.shop, endpoint, queue)
