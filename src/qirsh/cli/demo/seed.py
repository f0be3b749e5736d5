"""What the demo begins with: people, accounts, money, keys and a week of payments, all through the engine."""

# Turkish and Arabic are meant as they stand.
# ruff: noqa: RUF001

import asyncio
from typing import Any, Final

from qirsh.cli.demo.credentials_file import Demo, Player, new_password, new_pin
from qirsh.cli.demo.desk import appointed, deposit_reference, fill_desk
from qirsh.cli.demo.past_deliveries import PastDeliveries
from qirsh.cli.demo.webhooks import failing, name_endpoints, place_endpoint, working
from qirsh.contract.examples import SHOP_NAME, SHOP_URL
from qirsh.domain.command import Command
from qirsh.domain.commands.payment import CancelPayment, CreatePayment, ExpirePayment, Pay
from qirsh.domain.commands.refund import RefundPayment
from qirsh.domain.limits import WEBHOOK_FAILURES_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import Payment, why_not_payable
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.engine.clock import ManualClock
from qirsh.store.reads.events import last_sequence
from qirsh.web.http.context import Context
from qirsh.web.operator import actions
from qirsh.web.operator.action import Actor

_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS

_DEPOSIT: Final = "10000000.00"  # Of each currency to each customer: much more than a day of trying spends.
_PAYMENTS: Final = 60
_PENDING: Final = 6  # The last ones are still waiting.
_EXPIRED: Final = range(8, _PAYMENTS, 10)
_CANCELLED: Final = range(4, _PAYMENTS, 10)
_REFUNDED: Final[dict[int, int | None]] = {11: None, 23: 2_000, 47: None}  # All of it, or a part.
_FAILING_FROM: Final = _PAYMENTS - _PENDING - WEBHOOK_FAILURES_MAX  # With the last that ends, the endpoint rests.
_EVERY_MS: Final = 7 * _DAY_MS // _PAYMENTS

SHOP: Final = SHOP_NAME
_ORIGINS: Final = f"{SHOP_URL} http://localhost:8000 http://127.0.0.1:8000"

# Note, currency, amount in its smallest unit.
_WARES: Final = (
    ("قهوة بالهيل، ٢٥٠ غراماً", "SYP", 61_000),
    ("Brass coffee pot, 6 cups", "USD", 3_450),
    ("Çay bardağı takımı, 6 kişilik", "TRY", 74_990),
    ("صابون غار حلبي، ١٢ قطعة", "SYP", 142_500),
    ("Damask tablecloth, 160 x 220 cm", "EUR", 8_900),
    ("Ceviz içi, 1 kg", "TRY", 62_000),
    ("زيت زيتون، ٥ لترات", "SYP", 489_000),
    ("Rosewood backgammon board", "USD", 12_800),
    ("Antep fıstıklı baklava, 2 kg", "TRY", 189_900),
    ("دبس رمان، ٧٠٠ مل", "SYP", 38_500),
    ("Za'atar and sumac, gift box", "EUR", 2_250),
    ("El dokuması kilim, 120 x 180 cm", "TRY", 1_245_000),
    ("Silk scarf, hand-printed", "USD", 5_700),
)


async def seed(context: Context, clock: ManualClock, address: str) -> Demo:
    """Fill empty parts, of a demo that will be reached at this address.

    Their clock runs through two past weeks, and stands at its first moment again in the end.
    """
    now = clock.now
    # Operators who made each other count as two after a week, and then money can come in.
    clock.advance(-16 * _DAY_MS)
    demo = await _join(context)
    clock.advance(8 * _DAY_MS)
    demo.operator3 = await appointed(
        context, demo.operator, demo.operator2, email="omar@operators.example", name="Omar Nasser", roles="support"
    )
    await _open_shop(context, demo)
    await _deposit(context, demo)
    clock.advance(_DAY_MS)
    name_endpoints(context, demo)
    await place_endpoint(context, demo, working(demo), address)
    past = PastDeliveries(demo.webhook_endpoint)
    await _trade(context, clock, demo, past, address)
    assert past.last == await last_sequence(context.store, int(demo.shop_account)), "each event was delivered"
    clock.now = now - _HOUR_MS
    await _submit(context, past.until(clock.now))
    words = {"account": demo.customer2.account, "name": "Yılmaz Kitabevi", "returnOrigins": ""}
    requested = await actions.request_account(context, Actor(demo.operator.person), words)
    demo.requested_account = requested["account"]
    await fill_desk(context, demo)
    clock.now = now
    return demo


async def add_payment_to_try(context: Context, demo: Demo) -> None:
    """One that can be paid for a week, if the last one cannot any more."""
    number = context.identifiers.payment_number(demo.payment)
    payment = None if number is None else await context.store.find(Tables.payments, number)
    if payment is not None and why_not_payable(payment, context.clock() + _DAY_MS) is None:
        return
    created = await _create(context, demo, "A payment to try", currency="USD", amount=7_550, expires_in_ms=7 * _DAY_MS)
    demo.payment = context.identifiers.payment_id(created.number)


async def forget_decided_request(context: Context, demo: Demo) -> None:
    """An operator may have approved or rejected the shop that waited."""
    account = await context.store.find(Tables.accounts, int(demo.requested_account)) if demo.requested_account else None
    if account is None or account.state != "requested":
        demo.requested_account = ""


async def _join(context: Context) -> Demo:
    """All at once: hashing their passwords is most of the time that the demo needs to start."""
    (first, second), merchant, customer, customer2, newcomer = await asyncio.gather(
        _operators(context),
        _person(context, "nour@souq-al-nour.example", "نور الخطيب"),
        _person(context, "leila@customers.example", "ليلى منصور"),
        _person(context, "emre@customers.example", "Emre Yılmaz"),
        _person(context, "rana@customers.example", "Rana Darwish"),
    )
    for person in (merchant, customer, customer2):
        await actions.ACTIONS["account verify"].run(context, Actor(first.person), {"account": person.account})
    return Demo(
        operator=first,
        operator2=second,
        operator3=first,  # Until there is one.
        merchant=merchant,
        customer=customer,
        customer2=customer2,
        customer3=newcomer,
    )


async def _operators(context: Context) -> tuple[Player, Player]:
    password = new_password()
    words = {"email": "samir@operators.example", "name": "Samir Haddad", "password": password}
    done = await actions.ACTIONS["operator create"].run(context, Actor(None), words)
    secret, person, account = done["totpSecret"], done["person"], done["account"]
    first = Player(words["email"], password, totp_secret=secret, person=person, account=account)
    return first, await appointed(context, first, None, email="hala@operators.example", name="Hala Aydın")


async def _person(context: Context, email: str, name: str) -> Player:
    password, pin = new_password(), new_pin()
    words = {"email": email, "name": name, "password": password, "pin": pin}
    done = await actions.add_person(context, Actor(None), words)
    return Player(email, password, pin, person=done["person"], account=done["account"])


async def _open_shop(context: Context, demo: Demo) -> None:
    by = Actor(demo.operator.person)
    words = {"account": demo.merchant.account, "name": SHOP, "returnOrigins": _ORIGINS}
    shop = {"account": (await actions.request_account(context, by, words))["account"]}
    await actions.ACTIONS["account approve"].run(context, by, shop)
    live = await actions.issue_key(context, by, shop | {"name": "Shop"})
    test = await actions.issue_key(context, by, shop | {"name": "Shop, trying", "test": True})
    demo.shop_account, demo.api_key, demo.test_api_key = shop["account"], live["key"], test["key"]


async def _deposit(context: Context, demo: Demo) -> None:
    asker, confirmer = Actor(demo.operator.person), Actor(demo.operator2.person)
    orders = [
        {
            "account": customer.account,
            "currency": currency,
            "amount": _DEPOSIT,
            "reference": deposit_reference(slip, currency),
            "reason": "Money to begin with",
        }
        for slip, customer in enumerate((demo.customer, demo.customer2), 1)
        for currency in CURRENCIES
    ]
    await asyncio.gather(*(actions.ACTIONS["deposit ask"].run(context, asker, order) for order in orders))
    await asyncio.gather(*(actions.ACTIONS["deposit confirm"].run(context, confirmer, order) for order in orders))


async def _trade(context: Context, clock: ManualClock, demo: Demo, past: PastDeliveries, address: str) -> None:
    """A week of payments: paid by turns; a few given back, cancelled, expired, or waiting at the end."""
    begin = clock.now
    for number in range(_PAYMENTS):
        clock.now = begin + number * _EVERY_MS + number * 37 % 50 * _MINUTE_MS
        if number == _FAILING_FROM:
            await _begin_failing(context, demo, past, address)
        note, currency, amount = _WARES[number % len(_WARES)]
        is_left = number >= _PAYMENTS - _PENDING
        payment = await _create(
            context,
            demo,
            note,
            currency=currency,
            amount=amount * (1 + number % 3),
            expires_in_ms=7 * _DAY_MS if is_left else _HOUR_MS,
            order=str(1001 + number),
        )
        if not is_left:
            fate = _fate(context, demo, payment, number)
            clock.advance(_HOUR_MS if type(fate) is ExpirePayment else (1 + number * 7 % 11) * _MINUTE_MS)
            await _happen(context, past, fate)
            if number in _REFUNDED:
                clock.advance(_HOUR_MS)
                refund = RefundPayment(
                    f"rf_{context.entropy(12).hex()}",
                    payment.number,
                    payment.merchant,
                    _REFUNDED[number],
                    "Sent back by the customer",
                )
                await _happen(context, past, refund)


async def _happen(context: Context, past: PastDeliveries, command: Command[Any]) -> None:
    """With what the sender recorded of it, in the same commit: a commit each would make the start noticeably slower."""
    record = past.of_next_event(context.clock())
    _, news = await asyncio.gather(_submit(context, command), _submit(context, record))
    assert news == len(record.results), "each try is news"


async def _begin_failing(context: Context, demo: Demo, past: PastDeliveries, address: str) -> None:
    await place_endpoint(context, demo, failing(context, demo), address)
    queue = await context.store.find(Tables.webhook_queues, demo.failing_endpoint)
    assert queue is not None, "an endpoint has a queue"
    past.begin_failing(queue)


def _fate(context: Context, demo: Demo, payment: Payment, number: int) -> Command[Any]:
    if number in _EXPIRED:
        return ExpirePayment(payment.number)
    if number in _CANCELLED:
        return CancelPayment(payment.number, payment.merchant)
    payer = demo.customer2 if number % 3 else demo.customer
    macs = context.keyring.pin_macs(payer.person, payer.pin)
    return Pay(payment.number, payer.person, int(payer.account), macs)


async def _create(
    context: Context, demo: Demo, note: str, *, currency: str, amount: int, expires_in_ms: int, order: str | None = None
) -> Payment:
    metadata = "{}" if order is None else f'{{"order":"{order}","channel":"web"}}'
    command = CreatePayment(
        merchant=int(demo.shop_account),
        amount=amount,
        currency=currency,
        note=note,
        metadata=metadata,
        reference=order,
        expires_in_ms=expires_in_ms,
    )
    payment: Payment = await _submit(context, command)
    return payment


async def _submit(context: Context, command: Command[Any]) -> Any:  # noqa: ANN401 - each command has its own kind of outcome
    outcome = await context.engine.submit(command)
    assert type(outcome) is not Refused, f"the demo's own {command} was refused: {outcome}"
    return outcome
