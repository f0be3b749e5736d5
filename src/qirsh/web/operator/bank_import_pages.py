"""How a bank writes its files, and what was understood of one before it is imported, in the console."""

from typing import Any, Final

from qirsh.domain import limits
from qirsh.domain.bank_format import COLUMNS, DATE_FORMS, DECIMAL_SIGNS, ENCODINGS, SEPARATORS, read_format
from qirsh.domain.money import CURRENCIES
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.tables import Tables
from qirsh.language.local_time import zone_names
from qirsh.web.html.page_query import with_query
from qirsh.web.http.message import Response
from qirsh.web.operator.action import ActionRefused, Params
from qirsh.web.operator.bank_actions import BANK_ACTIONS, CLOSING, FORMAT_FIELDS
from qirsh.web.operator.bank_pages import house_of
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page

_RIGHT: Final = OperatorRight.MATCH_BANK
_FORM_AIR: Final = 65_536  # The other fields.


async def show_format(page: ConsolePage) -> Response:
    """As it was chosen, to be changed."""
    house = await house_of(page, page.request.arguments["house"])
    kept = await page.context.store.find(Tables.bank_formats, house.number)
    chosen = None if kept is None else read_format(kept.format)
    typed = {} if chosen is None else {name: str(getattr(chosen, name)) for name in FORMAT_FIELDS}
    return await _format_page(page, typed, None)


async def show_import(page: ConsolePage) -> Response:
    """The form that takes a file."""
    return await _import_page(page, {}, None)


async def lead_to_import(page: ConsolePage) -> Response:
    """A preview answers a form. Who opens its address, as the switch of languages does, chooses a file again."""
    return page.redirect(f"/operator/bank/{page.request.arguments['house']}/import")


async def _format_page(page: ConsolePage, typed: Params, refused: ActionRefused | None) -> Response:
    house = await house_of(page, page.request.arguments["house"])
    return page.render(
        "operator/bank_format.html",
        status=200 if refused is None else refused_status(refused),
        house=house,
        typed=typed,
        columns=COLUMNS,
        encodings=ENCODINGS,
        separators=SEPARATORS,
        decimals=DECIMAL_SIGNS,
        date_forms=DATE_FORMS,
        currencies=tuple(CURRENCIES),
        zones=sorted(zone_names()),
        faults=field_faults(page, refused),
    )


async def _import_page(
    page: ConsolePage, typed: Params, refused: ActionRefused | None, seen: dict[str, Any] | None = None
) -> Response:
    house = await house_of(page, page.request.arguments["house"])
    return page.render(
        "operator/bank_import.html",
        status=200 if refused is None else refused_status(refused),
        house=house,
        has_format=await page.context.store.find(Tables.bank_formats, house.number) is not None,
        size_mib=limits.BANK_FILE_BYTES_MAX // 1024 // 1024,
        lines_max=limits.BANK_LINES_MAX,
        faults_max=limits.BANK_FAULTS_TOLD_MAX,
        typed=typed,
        seen=seen,
        closing=CLOSING,
        faults=field_faults(page, refused),
    )


async def _show_preview(page: ConsolePage, params: Params, result: Params) -> Response:
    """What was understood. The file goes along, to be sent again with the word that imports it."""
    return await _import_page(page, params, None, result)


async def _import_again(page: ConsolePage, params: Params, refused: ActionRefused) -> Response:
    """What was shown is shown again, if it can be."""
    if refused.code == "invalid" and refused.field in CLOSING.values():
        looked = {name: params[name] for name in ("house", "file", "name")}
        seen = await BANK_ACTIONS["bank import"].run(page.context, page.actor, looked)
        return await _import_page(page, params, refused, seen)
    return await _import_page(page, params, refused)


def _to_statement(page: ConsolePage, result: Params) -> str:
    return f"/operator/bank/{page.request.arguments['house']}/statements/{result['id']}"


def _to_bank(page: ConsolePage, _result: Params) -> str:
    return with_query("/operator/bank", {"house": page.request.arguments["house"]})


BANK_IMPORT_ROUTES: Final = (
    console_page("GET", "/bank/{house}/format", show_format, right=_RIGHT),
    console_page("GET", "/bank/{house}/import", show_import, right=_RIGHT),
    console_page("GET", "/bank/{house}/preview", lead_to_import, right=_RIGHT),
    console_form("/bank/{house}/format", "bank format", FORMAT_FIELDS, again=_format_page, done=_to_bank),
    console_form(
        "/bank/{house}/preview",
        "bank import",
        (),
        again=_import_page,
        done=_to_bank,
        file="file",
        shows=_show_preview,
        bytes_max=limits.BANK_FILE_BYTES_MAX + _FORM_AIR,
    ),
    console_form(
        "/bank/{house}/import",
        "bank import",
        ("file", "name", "digest", *CLOSING.values()),
        again=_import_again,
        done=_to_statement,
        bytes_max=limits.BANK_FILE_BYTES_MAX * 4 // 3 + _FORM_AIR,
    ),
)
