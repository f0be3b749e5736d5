"""Views of payments that somebody has saved, as SQL that both engines speak."""

from typing import Final

from qirsh.domain.account import Mode
from qirsh.domain.limits import SAVED_VIEWS_MAX
from qirsh.domain.saved_view import SavedView
from qirsh.store.interface import Query, Store

_VIEWS: Final = Query(
    f"SELECT {', '.join(SavedView.__struct_fields__)} FROM saved_view"  # noqa: S608 - our own names
    " WHERE account = $1 AND person = $2 AND mode = $3 ORDER BY created_at, place LIMIT $4"
)


async def saved_views_of(store: Store, account: int, person: int, mode: Mode) -> list[SavedView]:
    """One person's own at a business, by its live account, in the order in which they were saved."""
    return [SavedView(*row) for row in await store.select(_VIEWS, account, person, mode, SAVED_VIEWS_MAX)]
