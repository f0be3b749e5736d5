"""HTML pages: templates, and the headers that keep a page from loading, framing or sending anything but our own."""

from functools import lru_cache
from typing import Final

import jinja2

from qirsh.web.http import Headers, Request, Response, head, problem_headers
from qirsh.web.refusals import KINDS, Problem
from qirsh.web.static_files import address

HTML: Final = b"text/html; charset=utf-8"
_POLICY: Final = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; form-action 'self'%b; base-uri 'none'; frame-ancestors 'none'"
)
PAGE: Final = head(HTML, policy=_POLICY % b"")

_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.PackageLoader("qirsh.web"),
    autoescape=True,
    auto_reload=False,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
# One language until there are three: templates ask for nothing else to know theirs.
_TEMPLATES.globals |= {"static": address, "language": "en", "direction": "ltr"}


def page(
    template: str, *, status: int = 200, headers: Headers | None = None, form_origin: str = "", **values: object
) -> Response:
    """The page as it is sent. A form on it may lead, after a redirect, to one other origin: browsers check that too."""
    body = _TEMPLATES.get_template(template).render(values).encode()
    return Response(status, body, headers or [], _head(form_origin) if form_origin else PAGE)


def see_other(location: str, headers: Headers | None = None) -> Response:
    """Go there with a GET: what was posted is not sent along, and a refresh does not post it again."""
    return Response(303, b"", [(b"location", location.encode("ascii")), *(headers or [])], PAGE)


def problem_page(problem: Problem, request: Request, headers: Headers | None = None) -> Response:
    """What went wrong, for a person. The words stand in the template, by the problem's code."""
    kind = KINDS[problem.code]
    return page(
        "problem.html",
        status=kind.status,
        headers=[*(headers or []), *problem_headers(problem)],
        code=problem.code,
        title=kind.title,
        detail=problem.detail or kind.detail,
        # Only the number of a payment: nothing else that stands in an address leads anywhere.
        payment_id=request.argument if request.argument.isascii() and request.argument.isdigit() else "",
        request_id=request.id,
    )


@lru_cache(maxsize=1024)
def _head(form_origin: str) -> bytes:
    return head(HTML, policy=_POLICY % f" {form_origin}".encode("ascii"))
