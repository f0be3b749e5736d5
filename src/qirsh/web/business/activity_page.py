"""The activity log of a business: who did what and when, by person, kind of act and days; and as CSV."""

import re
from typing import Final

import msgspec

from qirsh.domain.limits import ACTIVITY_LINES_MAX, LIST_ITEMS_DEFAULT
from qirsh.domain.money import format_amount
from qirsh.domain.tables import Tables
from qirsh.language.local_time import local_timestamp
from qirsh.store.reads.activity import Act, ActFilter, Place, has_joined, read_activity
from qirsh.store.reads.staff import invitations_of, members_of
from qirsh.web.business.activity_detail import StaffDetail, plain_detail, read_staff_detail
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
_NUMBER: Final = re.compile(r"[1-9]\d{0,17}", re.ASCII)
_CURSOR: Final = "act"
_CSV: Final = head(b"text/csv; charset=utf-8")


class Row(msgspec.Struct, frozen=True):
    """A line of the list."""

    act: Act
    who: str
    payment_id: str
    about: str  # What else the shop may read of it,
    staff: StaffDetail | None  # or what it says of staff,
    whom: str | None  # and of whom: empty for somebody who has no name any more.
    at: int
    is_erased: bool  # Whoever did it has no name any more.


async def show_activity(page: ShopPage) -> Response:
    """One page, newest first."""
    asked = read_query(page.request, *_FIELDS, "after")
    people = await _people(page, asked["person"])
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
    people = await _people(page, asked["person"])
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
        cells = (local_timestamp(row.at, page.shop.time_zone), row.who, row.act.action, row.payment_id, _about(row))
        lines.append(",".join(f'"{harmless(cell).replace(chr(34), chr(34) * 2)}"' for cell in cells) + "\r\n")
    named = (b"content-disposition", f'attachment; filename="activity-{page.shop.account.number}.csv"'.encode())
    return Response(200, "".join(lines).encode(), [named], head=_CSV)


async def _people(page: ShopPage, asked: str) -> dict[str, str]:
    """Who works there now, and the former colleague who is asked for, by how the log names them."""
    live, store = page.shop.live, page.context.store
    owner = await store.find(Tables.people, live.owner or 0)
    found = {f"person {owner.id}": owner.name} if owner else {}
    found |= {f"person {each.member.person}": each.name for each in await members_of(store, live.number)}
    if f"person {asked}" not in found and _NUMBER.fullmatch(asked) and await has_joined(store, live.number, int(asked)):
        former = await store.find(Tables.people, int(asked))
        found |= {f"person {former.id}": former.name} if former else {}
    return found


async def _rows(page: ShopPage, acts: list[Act], people: dict[str, str]) -> list[Row]:
    store, identifiers = page.context.store, page.context.identifiers
    names: dict[str, str | None] = dict(people)  # None: they are not of the staff.
    invited = {each.id: each.email for each in await invitations_of(store, page.shop.live.number)}
    rows: list[Row] = []
    for act in acts:
        who = await _name(page, act.actor, names)
        may_read = who is not None or act.action in _TOLD  # The reasons of operators and of the service are their own.
        staff = read_staff_detail(act.action, act.detail) if may_read else None
        whom = None
        if staff is not None and staff.person:
            whom = await _name(page, f"person {staff.person}", names)
        elif staff is not None and staff.invitation:
            whom = invited.get(staff.invitation)
        rows.append(
            Row(
                act=act,
                who=who or "",
                payment_id="" if act.payment is None else identifiers.payment_id(act.payment),
                about=act.thing or (act.detail if may_read and staff is None else ""),
                staff=staff,
                # Who leaves is named already.
                whom=None if staff is not None and act.actor == f"person {staff.person}" else whom,
                at=act.at,
                is_erased=who == "",
            )
        )
    return rows


async def _name(page: ShopPage, actor: str, names: dict[str, str | None]) -> str | None:
    """Of somebody of the staff, empty if they are erased; None for operators, who are the service here."""
    if actor not in names:
        kind, _, number = actor.partition(" ")
        store = page.context.store
        known = kind == "person" and number.isdigit()
        person = await store.find(Tables.people, int(number)) if known else None
        operator = None if person is None else await store.find(Tables.operators, person.id)
        names[actor] = None if person is None or operator is not None else person.name
    return names[actor]


def _about(row: Row) -> str:
    """For a file, whose words are those of the API."""
    if row.act.currency:
        return f"{format_amount(row.act.amount, row.act.currency)} {row.act.currency}"
    return row.about if row.staff is None else plain_detail(row.staff, row.whom or "")


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
    # Who was removed stays in the filter of a page that has entries of theirs.
    people = {row.act.actor: row.who for row in rows if row.who or row.is_erased} | people
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
