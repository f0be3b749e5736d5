"""What businesses have of everything: webhooks, staff, tills, brands, messages and logged requests."""

from qirsh.domain.commands.bank_account import AddBankAccount
from qirsh.domain.commands.brand import ApproveBrandChange, SetBrandColour
from qirsh.domain.commands.payment_attempt import RecordAttempts
from qirsh.domain.commands.request_log import RecordRequests
from qirsh.domain.commands.shop_message import ReadShopMessages, WriteToOperators, WriteToShop
from qirsh.domain.commands.staff_payment import CreatePaymentByHand
from qirsh.domain.commands.statement import AnnounceStatement
from qirsh.domain.commands.till import CloseTill, CreatePaymentAtTill
from qirsh.domain.commands.webhook import (
    RecordWebhookResults,
    RemoveWebhookEndpoint,
    ResendDeliveries,
    RotateWebhookSecret,
    StartReplay,
    TellWebhookOwner,
    TurnReplayPage,
    UpdateWebhookEndpoint,
)
from qirsh.domain.limits import AMOUNT_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.payment import Payment
from qirsh.domain.payment_attempt import FailedAttempt
from qirsh.domain.request_log import KeyUse
from tests.domain.brand_cases import asking_for_brand
from tests.domain.market import Market
from tests.domain.request_cases import logged
from tests.domain.staff_cases import TILL, inviting, join, opening, refunding, saving
from tests.domain.webhook_cases import creating, failure, happen, success


def fill_in_webhooks(world: Market) -> int:
    """Events that arrived at once, after a failure, not yet and never; a replay; endpoints in each state."""
    # A shop of its own: its events are counted from one, whatever else happens in this world.
    shop = world.open_shop(world.owner)
    till, _, _ = world.test_accounts(shop)
    world.do(creating(shop))
    world.do(creating(shop, "we_gone"))
    world.do(creating(till, "we_test", types=("refund.created",), description="متجر"))
    happen(world, 6, shop)
    happen(world, 1, till)
    now = world.now
    first = (success(1, now), failure(2, now), failure(3, now, status=None, reason="timeout"), failure(4, now))
    world.do(RecordWebhookResults(first, (("we_1", 6, ""),)))
    world.do(RecordWebhookResults((success(2, now + 1), *(failure(4, now + each) for each in range(1, 10)))))
    world.do(ResendDeliveries("we_1", shop, (5,), "test"))
    world.do(StartReplay("we_1", shop, first=1, until=4, actor="test"))
    world.do(TurnReplayPage("we_1", (), next=2))
    world.do(RecordWebhookResults((failure(1, now, endpoint="we_gone"),)))
    world.do(RemoveWebhookEndpoint("we_gone", shop, "test"))
    world.do(RotateWebhookSecret("we_test", till, b"\x00\xff", overlap_ms=1000, actor="test"))
    world.do(RecordWebhookResults((failure(1, now, endpoint="we_test", status=410),)))
    world.do(TellWebhookOwner("we_test", "stopped", (Letter("stopped", b"\0"),)))
    world.do(creating(shop, "we_resting"))
    world.do(UpdateWebhookEndpoint(world.do(creating(shop, "we_paused")).id, shop, "test", state="paused"))
    busy = failure(1, now, endpoint="we_resting", status=503, retry_after_ms=60_000)
    world.do(RecordWebhookResults((busy,)))
    return shop


def fill_in_staff(world: Market, pending: Payment) -> None:
    """A cashier who has refunded some of what they may, a viewer, and a link that nobody has opened."""
    cashier = join(world, world.other, "cashier", {"EUR": 150}).person
    join(world, world.first, "viewer")
    bought = world.buy(amount=100, currency="EUR")
    world.do(refunding(world, bought, amount=40, member=cashier, day_began_at=world.now - 1000))
    world.do(CreatePaymentByHand(merchant=world.shop, amount=1, currency="USD", member=cashier))
    world.do(inviting(world))
    world.do(AddBankAccount("ba_1", world.shop, b"\x00\xff", world.owner.id))
    world.do(opening(world))
    world.do(CreatePaymentAtTill(TILL, world.shop, 100))
    sums = {"amount": AMOUNT_MAX, "minimum": None, "maximum": None}
    closed = world.do(opening(world, id="till_closed", account=world.till, name="صندوق", currency="TRY", **sums))
    world.do(CloseTill(closed.id, world.till, world.owner.id))
    world.do(SetBrandColour(world.shop, "#0f5c4d", world.owner.id))
    world.do(asking_for_brand(world, name=world.accounts[world.shop].name))
    world.do(ApproveBrandChange(world.shop, "bc_1", world.till, world.second.id, "test"))
    world.do(asking_for_brand(world, id="bc_2", logo="b" * 64, picture=b"\x00\xff", seen="bc_1", name="متجر"))
    world.do(saving(world, name="هنا 🧾", query="q=%D9%87&status=paid"))
    world.do(saving(world, account=world.till, member=cashier))
    world.do(AnnounceStatement(world.shop, 202611, ()))
    world.do(WriteToShop("msg_1", world.shop, "ماذا تبيعون؟", world.second.id, "test"))
    world.do(WriteToOperators("msg_2", world.shop, "Bread\nand books", world.owner.id))
    world.do(ReadShopMessages(world.shop, ("msg_2",), operator=world.second.id))
    refused = logged("req_1", path="/api/v1/remote-payments/هنا", status=404, code="not_found", skipped=2**40)
    other = logged("req_2", account=world.shop, payment=pending.number, address="2001:db8::7")
    tried = (FailedAttempt("pa_1", pending.number, world.now, "wrong_pin"),)
    world.do(RecordAttempts((*tried, FailedAttempt("pa_2", pending.number, world.now, "limit"))))
    world.do(RecordRequests((refused, other), (KeyUse("key_1", world.now, "192.0.2.1"),)))
