"""The API's description and the reference page that is made from it."""

from typing import Final

from qirsh.web.api.routes import ROUTES as API_ROUTES
from qirsh.web.http.route import Route, page
from qirsh.web.openapi.reference import Reference

_REFERENCE: Final = Reference(API_ROUTES)

ROUTES: Final = (
    Route("GET", "/openapi.json", _REFERENCE.serve_document, token=None),
    page("GET", "/docs", _REFERENCE.serve_page),
)
