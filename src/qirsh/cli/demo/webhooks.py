"""The shop's two webhook endpoints: the receiver of one is a page of the demo, that of the other fails on purpose."""

from ipaddress import IPv4Address, ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from qirsh.cli.demo.credentials_file import Demo
from qirsh.domain.commands.webhook import CreateWebhookEndpoint, UpdateWebhookEndpoint
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import endpoint_id
from qirsh.outbound.signature import make_secret
from qirsh.settings import Settings
from qirsh.web.http.context import Context
from qirsh.web.http.demo_inbox import DemoInbox

PAGE: Final = "/demo/webhooks"
_FAILING: Final = f"{PAGE}/failing"


class _Own(NamedTuple):
    """One of the two, as it is to be."""

    id: str
    path: str
    description: str
    secret: str


def working(demo: Demo) -> _Own:
    """The one whose secret its receiver knows."""
    return _Own(demo.webhook_endpoint, PAGE, "The receiver inside this demo", demo.webhook_secret)


def failing(context: Context, demo: Demo) -> _Own:
    """Its secret is known to nobody, since nobody there looks at signatures."""
    return _Own(demo.failing_endpoint, _FAILING, "Fails on purpose", make_secret(context.entropy))


def name_endpoints(context: Context, demo: Demo) -> None:
    """Ids and secret are chosen and kept before the endpoints are made: whenever it is ended, there are never more."""
    demo.webhook_endpoint = demo.webhook_endpoint or endpoint_id(context.entropy(12))
    demo.failing_endpoint = demo.failing_endpoint or endpoint_id(context.entropy(12))
    demo.webhook_secret = demo.webhook_secret or make_secret(context.entropy)


async def learn_rotated_secret(context: Context, demo: Demo) -> None:
    """The owner may have rotated it since, and was shown it once."""
    endpoint = await context.store.find(Tables.webhook_endpoints, demo.webhook_endpoint)
    secrets = None if endpoint is None else context.webhook_secrets.opened(endpoint, now=context.clock())
    if secrets:
        demo.webhook_secret = secrets[0]


def make_inbox(demo: Demo) -> DemoInbox:
    """An empty one."""
    return DemoInbox(
        secret=demo.webhook_secret,
        account=int(demo.shop_account),
        endpoint=demo.webhook_endpoint,
        failing=demo.failing_endpoint,
        payment=demo.payment,
    )


async def place_endpoints(context: Context, demo: Demo, address: str) -> None:
    """Both lead to where the demo listens now."""
    for own in (working(demo), failing(context, demo)):
        await place_endpoint(context, demo, own, address)


async def place_endpoint(context: Context, demo: Demo, own: _Own, address: str) -> None:
    """Made if it never was, and led to this address; but what its owner has removed or led elsewhere stays so.

    A refusal changes nothing: of a shop that is suspended or closed nothing is sent anyway.
    """
    account, url = int(demo.shop_account), f"{address}{own.path}"
    endpoint = await context.store.find(Tables.webhook_endpoints, own.id)
    if endpoint is None:
        create = CreateWebhookEndpoint(
            id=own.id,
            account=account,
            url=url,
            types=(),
            description=own.description,
            secret_sealed=context.webhook_secrets.sealed(own.secret, own.id),
            actor=f"person {demo.merchant.person}",
        )
        await context.engine.submit(create)
    elif endpoint.state != "removed" and endpoint.url != url and urlsplit(endpoint.url).path == own.path:
        await context.engine.submit(UpdateWebhookEndpoint(endpoint=own.id, account=account, actor="service", url=url))


def planned_address(settings: Settings) -> str:
    """Where the demo will be reached from this machine, as far as its settings tell."""
    return own_address(f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{settings.port}")


def own_address(address: str) -> str:
    """How this machine reaches what listens there: whoever listens everywhere listens on loopback too."""
    parts = urlsplit(address)
    try:
        host = ip_address(parts.hostname or "")
    except ValueError:  # A name.
        return address
    if not host.is_unspecified:
        return address
    return f"http://{'127.0.0.1' if isinstance(host, IPv4Address) else '[::1]'}:{parts.port}"
