"""HTML pages: templates, and the headers that keep a page from loading, framing or sending anything but our own."""

from functools import cache, lru_cache, partial
from typing import Final

import jinja2

from qirsh.language import figures
from qirsh.language.catalog import language, translations
from qirsh.language.figures import grouped
from qirsh.web.html.language import choices
from qirsh.web.html.static_files import address
from qirsh.web.http.message import Headers, Request, Response, head, problem_headers
from qirsh.web.http.problems import PROBLEM_TYPES, Problem

HTML: Final = b"text/html; charset=utf-8"
_POLICY: Final = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; form-action 'self'%b; base-uri 'none'; frame-ancestors 'none'"
)
# Each keeps its templates in its own folder; they are named by both, as `pay/receipt.html`.
_ROOMS: Final = ("html", "pay", "account", "wallet", "business", "operator", "openapi")
PAGE: Final = head(HTML, policy=_POLICY % b"")
PUBLIC_PAGE: Final = head(HTML, policy=_POLICY % b"", cache=b"no-cache")  # The same for everybody: kept, and asked for.


def render_page(
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
    code, switch = (asked, []) if isinstance(asked, str) else (asked.language, choices(asked))
    body = _templates(code).get_template(template).render({**values, "languages": switch}).encode()
    return Response(status, body, headers or [], _head(form_origin) if form_origin else PAGE)


def see_other(location: str, headers: Headers | None = None) -> Response:
    """Go there with a GET: what was posted is not sent along, and a refresh does not post it again."""
    return Response(303, b"", [(b"location", location.encode("ascii")), *(headers or [])], PAGE)


def problem_page(problem: Problem, request: Request, headers: Headers | None = None) -> Response:
    """What went wrong, for a person. The words stand in the template, by the problem's code."""
    is_payment = request.path.startswith("/pay/")
    payment_id = request.arguments.get("id", "") if is_payment else ""
    return render_page(
        request,
        "html/problem.html",
        status=PROBLEM_TYPES[problem.code].status,
        headers=[*(headers or []), *problem_headers(problem)],
        code=problem.code,
        is_payment=is_payment,
        # Only the number of a payment: nothing else that stands in an address leads anywhere.
        payment_id=payment_id if payment_id.isascii() and payment_id.isdigit() else "",
        request_id=request.id,
        wait_ms=1000 * (problem.retry_after_s or PROBLEM_TYPES[problem.code].retry_after_s or 0),
    )


@cache
def _templates(code: str) -> jinja2.Environment:
    made = jinja2.Environment(
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
    made.globals |= {
        "static": address,
        "language": code,
        "direction": language(code).direction,
        "money": partial(figures.money, code=code),
        "currency_name": partial(figures.currency_name, code=code),
        "day": partial(figures.day, code=code),
        "day_and_time": partial(figures.day_and_time, code=code),
        "month_name": partial(figures.month, code=code),
        "whole": partial(figures.whole, code=code),
        "duration": partial(figures.duration, code=code),
        "grouped": grouped,
    }
    return made


@lru_cache(maxsize=1024)
def _head(form_origin: str) -> bytes:
    return head(HTML, policy=_POLICY % f" {form_origin}".encode("ascii"))
