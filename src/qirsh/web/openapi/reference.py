"""What is served of the description: the document itself, and the page for people that is made from it."""

from typing import Final

import msgspec

from qirsh.language.catalog import DEFAULT
from qirsh.web.html.rendering import render_page
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.route import Route
from qirsh.web.openapi.document import document
from qirsh.web.openapi.problems import example
from qirsh.web.openapi.reference_view import faults, reference_sections, words

# It changes with the program only; a proxy may keep it for a while.
_HEAD: Final = head(b"application/json", cache=b"public, max-age=300")


class Reference:
    """Made at the first wish and kept: an address has one description as long as the program runs."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self._routes = routes
        self._documents: dict[str, bytes] = {}
        self._pages: dict[str, Response] = {}

    async def serve_document(self, context: Context, _request: Request) -> Response:
        """OpenAPI 3.1, for programs."""
        body = self._documents.get(context.base_url)
        if body is None:
            body = msgspec.json.encode(document(self._routes, context.base_url))
            self._documents[context.base_url] = body
        return Response(200, body, head=_HEAD)

    async def serve_page(self, context: Context, _request: Request) -> Response:
        """The reference, for people."""
        made = self._pages.get(context.base_url)
        if made is None:
            described = document(self._routes, context.base_url)
            made = render_page(
                DEFAULT,
                "openapi/reference.html",
                document=described,
                about=[words(paragraph) for paragraph in described["info"]["description"].split("\n\n")],
                chapters=reference_sections(described),
                faults=faults(),
                problem=msgspec.json.format(msgspec.json.encode(example("validation_failed", "amount"))).decode(),
                words=words,
            )
            self._pages[context.base_url] = made
        return Response(made.status, made.body, head=made.head)
