"""What is served of the description: the document itself, and the page for people that is made from it."""

from typing import Final

import msgspec

from qirsh.language.catalog import DEFAULT
from qirsh.web.html.rendering import page
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.route import Route
from qirsh.web.openapi.document import document
from qirsh.web.openapi.problems import example
from qirsh.web.openapi.reference_view import chapters_of, faults, words

# It changes with the program only; a proxy may keep it for a while.
_HEAD: Final = head(b"application/json", cache=b"public, max-age=300")


class Reference:
    """Made at the first wish and kept: an address has one description as long as the program runs."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self._routes = routes
        self._documents: dict[str, bytes] = {}
        self._pages: dict[str, Response] = {}

    async def serve_document(self, parts: Parts, _request: Request) -> Response:
        """OpenAPI 3.1, for programs."""
        body = self._documents.get(parts.base_url)
        if body is None:
            body = msgspec.json.encode(document(self._routes, parts.base_url))
            self._documents[parts.base_url] = body
        return Response(200, body, head=_HEAD)

    async def serve_page(self, parts: Parts, _request: Request) -> Response:
        """The reference, for people."""
        made = self._pages.get(parts.base_url)
        if made is None:
            described = document(self._routes, parts.base_url)
            made = page(
                DEFAULT,
                "openapi/reference.html",
                document=described,
                about=[words(paragraph) for paragraph in described["info"]["description"].split("\n\n")],
                chapters=chapters_of(described),
                faults=faults(),
                problem=msgspec.json.format(msgspec.json.encode(example("validation_failed", "amount"))).decode(),
                words=words,
            )
            self._pages[parts.base_url] = made
        return Response(made.status, made.body, head=made.head)
