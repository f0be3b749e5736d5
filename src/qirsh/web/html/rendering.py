"""HTML pages: templates, and the headers that keep a page from loading, framing or sending anything but our own."""

import re
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import groupby
from types import CodeType
from typing import Any, Final
from zoneinfo import ZoneInfo

import jinja2
from jinja2.bccache import Bucket

from qirsh.contract.timestamps import timestamp
from qirsh.domain.challenge import LASTS_MS
from qirsh.domain.limits import SESSION_IDLE_MS
from qirsh.language import figures
from qirsh.language.audit_acts import act_text
from qirsh.language.catalog import language, translations
from qirsh.language.figures import grouped
from qirsh.language.local_time import UTC_ZONE
from qirsh.web.html.error_summary import focused, wrong_fields
from qirsh.web.html.language import choices
from qirsh.web.html.static_files import address
from qirsh.web.http.message import Headers, Request, Response, head, problem_headers
from qirsh.web.http.problems import PROBLEM_TYPES, Problem
from qirsh.web.http.site import Site

HTML: Final = b"text/html; charset=utf-8"
_POLICY: Final = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; manifest-src 'self'; form-action 'self'%b; base-uri 'none'; frame-ancestors 'none'"
)
# Each keeps its templates in its own folder; they are named by both, as `pay/receipt.html`.
_ROOMS: Final = ("html", "pay", "account", "wallet", "business", "operator", "openapi", "site", "demo")
_PLAIN: Final = re.compile(r"(?:/[A-Za-z0-9_-]+)+")  # Addresses that a page may lead back to.
_NO_PAGE: Final = frozenset({"not_found", "unknown_address"})
PAGE: Final = head(HTML, policy=_POLICY % b"")
PUBLIC_PAGE: Final = head(HTML, policy=_POLICY % b"", cache=b"no-cache")  # The same for everybody: kept, and asked for.


def render_page(
    site: Site,
    asked: Request | str,
    template: str,
    *,
    status: int = 200,
    headers: Headers | None = None,
    form_origin: str = "",
    **values: object,
) -> Response:
    """The page as it is sent, in the language of who asked, or in the one that is named.

    A form on it may lead, after a redirect, to one other origin: browsers check that too.
    """
    if isinstance(asked, str):
        code, zone, switch = asked, UTC_ZONE, []
    else:
        code, zone, switch = asked.language, asked.time_zone, choices(asked)
    body = _templates(code, zone).get_template(template).render({**values, "languages": switch, "site": site}).encode()
    return Response(status, body, headers or [], head=_head(form_origin) if form_origin else PAGE)


def see_other(location: str, headers: Headers | None = None) -> Response:
    """Go there with a GET: what was posted is not sent along, and a refresh does not post it again."""
    return Response(303, b"", [(b"location", location.encode("ascii")), *(headers or [])], head=PAGE)


def problem_page(site: Site, problem: Problem, request: Request, headers: Headers | None = None) -> Response:
    """What went wrong, for a person. The words stand in the template, by the problem's code."""
    is_payment = request.path.startswith("/pay/")
    payment_id = request.arguments.get("id", "") if is_payment else ""
    return render_page(
        site,
        request,
        "html/problem.html",
        status=PROBLEM_TYPES[problem.code].status,
        headers=[*(headers or []), *problem_headers(problem)],
        code=problem.code,
        is_payment=is_payment,
        is_operator=request.path.startswith("/operator"),
        is_business=request.path.startswith(("/business/", "/invitations/")),
        # Only the number of a payment: nothing else that stands in an address leads anywhere.
        payment_id=payment_id if payment_id.isascii() and payment_id.isdigit() else "",
        # The page of the form: an address that only takes forms leads to the one that has it.
        again=request.path if _PLAIN.fullmatch(request.path) and problem.code not in _NO_PAGE else "",
        named=problem.named,
        request_id=request.id,
        wait_s=problem.retry_after_s or PROBLEM_TYPES[problem.code].retry_after_s or 0,
    )


class _CompiledTemplates(jinja2.BytecodeCache):
    """What templates compile to: the same for every language and zone, and compiled while all others wait."""

    def __init__(self) -> None:
        self._codes: dict[str, CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get(bucket.key)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key] = bucket.code


_compiled: Final = _CompiledTemplates()


@lru_cache(maxsize=64)  # Whoever runs a business chooses its zone, and there are hundreds.
def _templates(code: str, zone: ZoneInfo) -> jinja2.Environment:
    made = jinja2.Environment(
        bytecode_cache=_compiled,
        loader=jinja2.PrefixLoader({room: jinja2.PackageLoader(f"qirsh.web.{room}") for room in _ROOMS}),
        extensions=["jinja2.ext.i18n"],
        autoescape=True,
        auto_reload=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["ext.i18n.trimmed"] = True
    made.install_gettext_translations(translations(code), newstyle=True)  # type: ignore[attr-defined]  # the extension's
    made.filters["by_day"] = _by_day
    made.globals |= {
        "static": address,
        "wrong_fields": wrong_fields,
        "focused": focused,
        "language": code,
        "direction": language(code).direction,
        "money": partial(figures.money, code=code),
        "currency_name": partial(figures.currency_name, code=code),
        "day": partial(figures.day, code=code, zone=zone),
        "day_and_time": partial(figures.day_and_time, code=code, zone=zone),
        "date_name": partial(figures.date_name, code=code),
        "month_name": partial(figures.month_name, code=code),
        "time_zone": zone.key,
        "time_zone_name": figures.time_zone_name(zone, code),
        "timestamp": timestamp,
        "whole": partial(figures.whole, code=code),
        "duration": partial(figures.duration, code=code),
        "idle_after": figures.duration(SESSION_IDLE_MS, code),
        "lasts": lambda purpose: figures.duration(LASTS_MS[purpose], code),
        "grouped": grouped,
        "act_text": partial(act_text, code),
    }
    return made


def _by_day(rows: list[Any], day: Callable[[int], str]) -> list[tuple[str, list[Any]]]:
    """Rows that say when (`at`), in their order, below the day of each as it is written."""
    return [(date, list(group)) for date, group in groupby(rows, key=lambda row: day(row.at))]


@lru_cache(maxsize=1024)
def _head(form_origin: str) -> bytes:
    return head(HTML, policy=_POLICY % f" {form_origin}".encode("ascii"))
