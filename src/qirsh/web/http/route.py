"""What a line of the table of URLs says: who may call it, and what the API's description tells of it."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from qirsh.domain.limits import BODY_BYTES_MAX
from qirsh.web.http.authentication import TokenKind
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response

Handler = Callable[[Context, Request], Awaitable[Response]]
# What pages ask for that are not of one business: to be signed in, to hold a link that was mailed, or a proof.
SIGNED_IN: Final = "signed_in"
BY_LINK: Final = "by_link"
BY_PROOF: Final = "by_proof"  # The door itself.


class OperationDoc(msgspec.Struct, frozen=True):
    """A call of the API, as its description tells it. The shapes are those that the code reads and writes."""

    summary: str
    answer: type[msgspec.Struct]  # What stands under `data`.
    status: int = 200
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] | None = None
    problems: tuple[str, ...] = ()  # Codes beyond those that every call of its kind may answer.
    takes_key: bool = False  # An Idempotency-Key.
    description: str = ""  # Beyond the summary. Who may call, and with which scope, is said by itself.
    headers: tuple[str, ...] = ()  # Of the answer, beyond those that every answer of its kind has.
    example: dict[str, Any] | None = None  # Fields of the answer that differ from the usual example.


class Route(msgspec.Struct, frozen=True):
    """One method of one address."""

    method: str
    path: str  # With any number of `{parameters}`, each a whole segment.
    handler: Handler
    token: TokenKind | None  # None: anyone.
    scope: str | None = None
    doc: OperationDoc | None = None  # None: a page or a probe, not a call of the API.
    is_counted: bool = True  # False: rate limits do not apply.
    is_page: bool = False  # What goes wrong is told in HTML, to a person.
    body_bytes_max: int = BODY_BYTES_MAX  # Larger: for pictures, from who is signed in.
    on_refused: Handler | None = None  # Shows the form again when the connection did not take what was posted.
    right: str | None = None  # Which a page of a business or of operators asks for; there is none without.
    is_there: Callable[[Context], bool] | None = None  # Where it says no, the address is unknown; None: everywhere.


def page(
    method: str,
    path: str,
    handler: Handler,
    *,
    body_bytes_max: int = BODY_BYTES_MAX,
    on_refused: Handler | None = None,
    right: str | None = None,
) -> Route:
    """A page that anybody may open; whether it shows them anything, its handler decides by their session."""
    return Route(
        method,
        path,
        handler,
        token=None,
        is_page=True,
        body_bytes_max=body_bytes_max,
        on_refused=on_refused,
        right=right,
    )
