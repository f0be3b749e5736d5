"""What owners and the sender ask for about webhooks, as Hypothesis strategies. `wish` mixes it with the rest."""

from typing import Any, Final

from hypothesis import strategies as st

from qirsh.domain.commands.webhook import (
    EndWebhookRest,
    ForgetDeliveries,
    RecordWebhookResults,
    RemoveWebhookEndpoint,
    ResendDeliveries,
    RotateWebhookSecret,
    StartReplay,
    TellWebhookOwner,
    TurnReplayPage,
    UpdateWebhookEndpoint,
)
from qirsh.domain.webhook import WebhookResult
from qirsh.domain.webhook_schedule import WAITS_MS
from tests.domain.market import Market
from tests.domain.proposal_wish import letters
from tests.domain.webhook_cases import creating, failure, happen, success

Wishes = st.SearchStrategy[Any]
EVENTS: Final = 3  # Both accounts have so many at least: a delivery is of an event that is there.
OF_SHOP, OF_TILL, REMOVED = "we_shop", "we_till", "we_gone"


def endpoint_id(serial: int) -> str:
    """Of the endpoint that a submission creates."""
    return f"we_of_{serial}"


def settle_webhooks(market: Market) -> None:
    """Endpoints that have sent some of their events, one that is about to rest, and one that is gone."""
    for account, name in ((market.shop, OF_SHOP), (market.till, OF_TILL), (market.shop, REMOVED)):
        market.do(creating(account, name))
    market.do(RemoveWebhookEndpoint(REMOVED, market.shop, "test"))
    happen(market, EVENTS, market.shop)
    happen(market, EVENTS, market.till)
    results = [failure(each, market.now, endpoint=OF_TILL) for each in (1, 2, 3, 4)]
    market.do(
        RecordWebhookResults((success(1, market.now, endpoint=OF_SHOP), *results), ((OF_SHOP, 2, ""), (OF_TILL, 3, "")))
    )


def about_webhooks(market: Market) -> list[Wishes]:
    """Each is drawn as often as the others."""
    endpoints = st.sampled_from([*[OF_SHOP] * 4, *[OF_TILL] * 3, REMOVED, *map(endpoint_id, range(4))])
    # Mostly of the account whose it is.
    owned = st.sampled_from([*[(OF_SHOP, market.shop)] * 4, *[(OF_TILL, market.till)] * 3, (OF_SHOP, market.till)])
    owned |= st.tuples(endpoints, st.sampled_from([market.shop, market.till]))
    sequences = st.lists(st.integers(1, EVENTS), max_size=EVENTS).map(tuple)
    places = st.integers(1, EVENTS + 1)
    times = st.sampled_from([market.now - 1, market.now, market.now + 1, *(market.now + wait for wait in WAITS_MS)])
    spreads = st.sampled_from([-200, 0, 200])
    outcomes = st.sampled_from(
        [
            *[(200, "", 0)] * 2,
            *[(500, "status", 0)] * 4,
            (None, "timeout", 0),
            (410, "status", 0),
            (503, "status", 60_000),
        ]
    )
    results = st.builds(
        lambda endpoint, sequence, at, came, spread: WebhookResult(
            endpoint=endpoint,
            sequence=sequence,
            at=at,
            took_ms=7,
            status=came[0],
            reason=came[1],
            retry_after_ms=came[2],
            spread=spread,
        ),
        endpoints,
        st.integers(1, EVENTS),
        times,
        outcomes,
        spreads,
    )
    return [
        st.builds(
            lambda account, types: creating(account, types=types),
            st.sampled_from([market.shop, market.till, market.customer.account]),
            st.sampled_from([(), ("refund.created",)]),
        ),
        st.builds(
            lambda own, url, state, resume_at: UpdateWebhookEndpoint(
                own[0], own[1], "test", url=url, state=state, resume_at=resume_at
            ),
            owned,
            st.sampled_from([None, None, "https://new.example"]),
            st.sampled_from([None, "enabled", "paused"]),
            st.sampled_from([None, 1, 3, 99]),
        ),
        st.builds(lambda own: EndWebhookRest(own[0], own[1], "test"), owned),
        st.builds(lambda own: RemoveWebhookEndpoint(own[0], own[1], "test"), owned),
        st.builds(
            lambda own, overlap_ms: RotateWebhookSecret(own[0], own[1], b"new", overlap_ms, "test"),
            owned,
            st.sampled_from([0, 1000]),
        ),
        st.builds(
            lambda own, first, until: StartReplay(own[0], own[1], first, until, "test"),
            owned,
            st.integers(1, 2),
            places,
        ),
        st.builds(lambda own, some: ResendDeliveries(own[0], own[1], some, "test"), owned, sequences),
        *[
            st.builds(
                RecordWebhookResults,
                st.lists(results, max_size=8).map(tuple),
                st.lists(st.tuples(endpoints, places, st.sampled_from(["", "refund.created"])), max_size=2).map(tuple),
            )
        ]
        * 3,
        st.builds(TurnReplayPage, endpoints, sequences, places),
        st.builds(TellWebhookOwner, endpoints, st.sampled_from(["", "failing", "stopped"]), letters),
        st.builds(
            lambda endpoint, some: ForgetDeliveries(tuple((endpoint, each) for each in some)), endpoints, sequences
        ),
    ]
