"""The activity log of a business: who did what and when, by person, kind of act and days; and as CSV."""

from typing import Final

import msgspec

from qirsh.domain.limits import ACTIVITY_LINES_MAX, LIST_ITEMS_DEFAULT
from qirsh.domain.tables import Tables
from qirsh.language.local_time import local_timestamp
from qirsh.store.reads.activity import Act, ActFilter, Place, read_activity
from qirsh.store.reads.staff import members_of
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.documents.statement_csv import harmless
from qirsh.web.html.page_query import read_query, unreadable, with_query
from qirsh.web.html.period import read_period
from qirsh.web.http.cursor import encode_cursor, numbers_of
from qirsh.web.http.message import Response, head

_FIELDS: Final = ("person", "act", "from", "to")
ACTS: Final = (
    "payment",
    "till",
    "payout",
    "bank_account",
    "staff",
    "key",
    "webhook_endpoint",
    "account",
    "export",
    "view",
    "message",
)
# What operators decide and the shop is told in so many words: it may read the detail here too.
_TOLD: Final = frozenset({"account.rejected", "account.brand_approved", "account.brand_refused", "payout.refused"})
_CURSOR: Final = "act"
_CSV: Final = head(b"text/csv; charset=utf-8")


class Row(msgspec.Struct, frozen=True):
    """A line of the list."""

    act: Act
    who: str
    payment_id: str
    about: str  # What else the shop may read of it.
    at: int
    is_erased: bool  # Whoever did it has no name any more.


async def show_activity(page: ShopPage) -> Response:
    """One page, newest first."""
    asked = read_query(page.request, *_FIELDS, "after")
    people = await _people(page)
    wanted, errors = _wanted(page, asked, people)
    if errors:
        return _page(page, asked, errors, people, [], older="", status=422)
    place = Place(*numbers_of(asked["after"], _CURSOR, 4)) if asked["after"] else Place()
    acts, after = await read_activity(page.context.store, page.shop.account.number, wanted, place, LIST_ITEMS_DEFAULT)
    older = ""
    if after is not None:
        older = _address(page, {**asked, "after": encode_cursor(_CURSOR, *msgspec.structs.astuple(after))})
    return _page(page, asked, {}, people, await _rows(page, acts, people), older=older)


async def download_activity(page: ShopPage) -> Response:
    """The newest lines that fit, as a file."""
    asked = read_query(page.request, *_FIELDS)
    people = await _people(page)
    wanted, errors = _wanted(page, asked, people)
    if errors:
        return _page(page, asked | {"after": ""}, errors, people, [], older="", status=422)
    acts: list[Act] = []
    place: Place | None = Place()
    while place is not None and len(acts) < ACTIVITY_LINES_MAX:
        some, place = await read_activity(
            page.context.store, page.shop.account.number, wanted, place, ACTIVITY_LINES_MAX - len(acts)
        )
        acts += some
    lines = ["\ufeffat,who,action,payment,about\r\n"]
    for row in await _rows(page, acts, people):
        cells = (local_timestamp(row.at, page.shop.time_zone), row.who, row.act.action, row.payment_id, row.about)
        lines.append(",".join(f'"{harmless(cell).replace(chr(34), chr(34) * 2)}"' for cell in cells) + "\r\n")
    named = (b"content-disposition", f'attachment; filename="activity-{page.shop.account.number}.csv"'.encode())
    return Response(200, "".join(lines).encode(), [named], head=_CSV)


async def _people(page: ShopPage) -> dict[str, str]:
    """Who works there now, by how the log names them."""
    live, store = page.shop.live, page.context.store
    owner = await store.find(Tables.people, live.owner or 0)
    found = {f"person {owner.id}": owner.name} if owner else {}
    return found | {f"person {each.member.person}": each.name for each in await members_of(store, live.number)}


async def _rows(page: ShopPage, acts: list[Act], people: dict[str, str]) -> list[Row]:
    context = page.context
    names, erased, staff = dict(people), set[str](), set(people)
    for act in acts:
        kind, _, number = act.actor.partition(" ")
        if act.actor not in names:
            known = kind == "person" and number.isdigit()
            # Operators have no name here: they are the service.
            person = await context.store.find(Tables.people, int(number)) if known else None
            operator = None if person is None else await context.store.find(Tables.operators, person.id)
            names[act.actor] = person.name if person is not None and operator is None else ""
            if person is not None and operator is None:
                staff.add(act.actor)
            if person is not None and person.erased_at is not None:
                erased.add(act.actor)
    return [
        Row(
            act=act,
            who=names[act.actor],
            payment_id="" if act.payment is None else context.identifiers.payment_id(act.payment),
            # The reasons of operators and of the service are their own.
            about=act.thing or (act.detail if act.actor in staff or act.action in _TOLD else ""),
            at=act.at,
            is_erased=act.actor in erased,
        )
        for act in acts
    ]


def _wanted(page: ShopPage, asked: dict[str, str], people: dict[str, str]) -> tuple[ActFilter, dict[str, str]]:
    actor = f"person {asked['person']}" if asked["person"] else ""
    if actor and actor not in people:
        raise unreadable("person")
    if asked["act"] not in {"", *ACTS}:
        raise unreadable("act")
    days, errors = read_period(asked["from"], asked["to"])
    wanted = ActFilter(actor=actor, action=asked["act"])
    if days is not None:
        zone = page.shop.time_zone
        wanted = msgspec.structs.replace(wanted, begin=days.begin_ms(zone), end=days.end_ms(zone))
    return wanted, errors


def _page(
    page: ShopPage,
    asked: dict[str, str],
    errors: dict[str, str],
    people: dict[str, str],
    rows: list[Row],
    *,
    older: str,
    status: int = 200,
) -> Response:
    fields = {name: asked[name] for name in _FIELDS}
    return page.render(
        "business/activity.html",
        status=status,
        fields=fields,
        errors=errors,
        people=[(actor.partition(" ")[2], name) for actor, name in people.items()],
        acts=ACTS,
        rows=rows,
        older=older,
        is_first=not asked["after"],
        is_filtered=any(fields.values()),
        csv=_address(page, fields).replace("/activity", "/activity.csv", 1),
    )


def _address(page: ShopPage, fields: dict[str, str]) -> str:
    return with_query(f"{page.shop.address}/activity", fields)
