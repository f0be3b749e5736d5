"""Bodies that are larger than usual: pictures and files that a signed-in person posts to one of the few pages for them.

Each takes memory while it is under way, so there are only a few at a time. Connections ask here before a body arrives.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from qirsh.domain.api_key import OPERATOR_SESSION_KIND, PAGE_SESSION_KIND, is_token
from qirsh.domain.limits import BODY_BYTES_MAX, UPLOAD_BYTES_AT_ONCE, UPLOADS_AT_ONCE, UPLOADS_OF_SESSION_MAX
from qirsh.store.interface import StoreUnavailable
from qirsh.web.http.message import Request
from qirsh.web.http.problems import Problem
from qirsh.web.http.route import Route

_RETRY_AFTER_S: Final = 5  # Most pictures have arrived by then.
_KINDS: Final = tuple(f"{kind}_".encode() for kind in (PAGE_SESSION_KIND, OPERATOR_SESSION_KIND))


class Upload:
    """One that is under way."""

    def __init__(self, session: bytes, size: int, until: float, on_end: Callable[["Upload"], None]) -> None:
        self.session = session
        self.size = size
        self._until = until  # When it must have arrived, by the loop's clock.
        self._on_end = on_end
        self._arrived = 0
        self.is_arriving = True
        self.check: asyncio.Task[None] | None = None

    def keeps_pace(self, arrived: int, now: float) -> bool:
        """Asked after each time that a usual body has: whether as much has come since, and all its time is not over.

        So who sends little by little holds the room of an upload no longer than anybody's.
        """
        came, self._arrived = arrived - self._arrived, arrived
        return came >= BODY_BYTES_MAX and now < self._until

    def hand_over(self, task: asyncio.Task[None]) -> None:
        """It has arrived. It is in memory until it is answered, even when the client leaves before."""
        self.is_arriving = False
        task.add_done_callback(lambda _: self._on_end(self))

    def drop(self) -> None:
        """It will not arrive."""
        self.is_arriving = False
        self._on_end(self)


class Uploads:
    """Those of a process."""

    def __init__(
        self,
        routes: Iterable[Route],
        session_of: Callable[[dict[bytes, bytes], bytes], bytes],
        find: Callable[[bytes], Awaitable[object | None]],
    ) -> None:
        large = [route for route in routes if route.body_bytes_max > BODY_BYTES_MAX]
        assert all(route.is_page for route in large)
        self._sizes = [
            (route.method.encode(), route.path.encode().split(b"/"), route.body_bytes_max) for route in large
        ]
        self._session_of = session_of
        self._find = find
        self._under_way: list[Upload] = []

    def begin(
        self,
        method: bytes,
        url: bytes,
        headers: dict[bytes, bytes],
        size: int,
        *,
        until: float,
        refuse: Callable[[Problem], None],
    ) -> Upload:
        """Room for it, until it is dropped or answered. Raises why there is none, or refuses it while it arrives."""
        path = _path(url)
        if not any(size <= most for known, pattern, most in self._sizes if known == method and _fits(pattern, path)):
            raise Problem("body_too_large")
        session = self._session_of(headers, path)
        if not is_token(session.decode("latin-1")) or not session.startswith(_KINDS):
            raise _nobody()
        of_session = [upload for upload in self._under_way if upload.session == session]
        size_of_all = size + sum(upload.size for upload in self._under_way)
        if (
            len(self._under_way) >= UPLOADS_AT_ONCE
            or size_of_all > UPLOAD_BYTES_AT_ONCE
            or len(of_session) >= UPLOADS_OF_SESSION_MAX
        ):
            problem = Problem("overloaded")
            problem.retry_after_s = _RETRY_AFTER_S
            raise problem
        upload = Upload(session, size, until, self._under_way.remove)
        self._under_way.append(upload)
        upload.check = asyncio.create_task(self._check(upload, refuse))
        return upload

    def refused(
        self, problem: Problem, request_id: str, method: bytes, url: bytes, headers: dict[bytes, bytes]
    ) -> Request | None:
        """What a page answers in place of the connection: where a person has sent a picture or a form, or wanted to."""
        path = _path(url)
        is_form = problem.code == "body_too_large" and b"text/html" in headers.get(b"accept", b"")
        takes_pictures = any(_fits(pattern, path) for _, pattern, _ in self._sizes)
        if problem.code == "internal_error" or not (takes_pictures or (is_form and not path.startswith(b"/api/"))):
            return None
        return Request(
            id=request_id,
            method=method.decode(),
            path=path.decode("latin-1"),
            query=b"",
            headers=headers,
            body=b"",
            refused=problem,
        )

    async def _check(self, upload: Upload, refuse: Callable[[Problem], None]) -> None:
        """A token that is well typed is not yet one that was issued. The handler will look for itself.

        But until then a stranger would take the room.
        """
        try:
            problem = _nobody() if await self._find(upload.session) is None else None
        except StoreUnavailable:
            problem = Problem("unavailable")
        if problem is not None and upload.is_arriving:
            refuse(problem)


def _path(url: bytes) -> bytes:
    return url.partition(b"?")[0]


def _fits(pattern: list[bytes], path: bytes) -> bool:
    """Whether the path is that of a route, whose parameters are whole segments."""
    segments = path.split(b"/")
    return len(segments) == len(pattern) and all(
        segment == known or (bool(segment) and known.startswith(b"{"))
        for known, segment in zip(pattern, segments, strict=True)
    )


def _nobody() -> Problem:
    return Problem("body_too_large", detail="Only somebody who is signed in may send as much. Sign in and try again.")
