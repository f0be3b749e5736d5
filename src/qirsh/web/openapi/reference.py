"""What is served of the description: the document itself, and the page for people that is made from it."""

import json
from collections.abc import Iterator
from typing import Final

import msgspec

from qirsh.contract.examples import Json
from qirsh.domain import limits
from qirsh.language.catalog import DEFAULT
from qirsh.web.html.rendering import PUBLIC_PAGE, render_page
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response, head
from qirsh.web.http.prepared import Prepared, prepare, respond
from qirsh.web.http.route import Route
from qirsh.web.openapi.document import document
from qirsh.web.openapi.policies import POLICIES
from qirsh.web.openapi.problems import PROBLEM_TYPE
from qirsh.web.openapi.reference_view import faults, preambles, reference_sections, words

# It changes with the program only; a proxy may keep it for a while.
_HEAD: Final = head(b"application/json", cache=b"public, max-age=300")


def _problems(document: Json) -> Iterator[Json]:
    """What the first call says when a field is wrong."""
    for operation in next(iter(document["paths"].values())).values():
        content = operation["responses"]["422"]["content"][PROBLEM_TYPE]
        yield content["examples"]["validation_failed"]["value"]


class Reference:
    """Made at the first wish and kept: an address has one description as long as the program runs."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self._routes = routes
        self._documents: dict[str, Prepared] = {}
        self._pages: dict[str, Prepared] = {}

    async def serve_document(self, context: Context, request: Request) -> Response:
        """OpenAPI 3.1, for programs."""
        made = self._documents.get(context.base_url)
        if made is None:
            made = prepare(msgspec.json.encode(document(self._routes, context.base_url)), _HEAD)
            self._documents[context.base_url] = made
        return respond(request, made)

    async def serve_page(self, context: Context, request: Request) -> Response:
        """The reference, for people."""
        made = self._pages.get(context.base_url)
        if made is None:
            described = document(self._routes, context.base_url)
            page = render_page(
                context.site,
                DEFAULT,
                "openapi/reference.html",
                document=described,
                about=[words(paragraph) for paragraph in described["info"]["description"].split("\n\n")],
                chapters=reference_sections(described),
                faults=faults(),
                problem=json.dumps(next(_problems(described)), indent=2),
                preambles=preambles(context.base_url),
                limits=limits,
                policies=POLICIES,
                words=words,
            )
            made = self._pages[context.base_url] = prepare(page.body, PUBLIC_PAGE)
        return respond(request, made)
