"""HTML pages: templates, and the headers that keep a page from loading, framing or sending anything but our own."""

from typing import Final

import jinja2

from qirsh.web.http import Headers, Response, head
from qirsh.web.static_files import address

HTML: Final = b"text/html; charset=utf-8"
_POLICY: Final = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE: Final = head(HTML, policy=_POLICY)

_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.PackageLoader("qirsh.web"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.globals["static"] = address


def page(template: str, *, status: int = 200, headers: Headers | None = None, **values: object) -> Response:
    """The page as it is sent."""
    body = _TEMPLATES.get_template(template).render(values).encode()
    return Response(status, body, headers or [], PAGE)
