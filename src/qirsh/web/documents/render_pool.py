"""Where documents are made: beside the loop, a few at a time, and no more waiting than is worth it."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from qirsh.domain.limits import DOCUMENTS_AT_ONCE, DOCUMENTS_WAITING_MAX
from qirsh.web.http.problems import Problem

_POOL = ThreadPoolExecutor(DOCUMENTS_AT_ONCE, thread_name_prefix="document")
_under_way: set[object] = set()


@contextmanager
def slot() -> Iterator[None]:
    """Room for one more, from the reading of what stands in it to its last byte; an honest 503 where there is none."""
    if len(_under_way) >= DOCUMENTS_WAITING_MAX:
        raise Problem("overloaded")
    one = object()
    _under_way.add(one)
    try:
        yield
    finally:
        _under_way.discard(one)


async def made(make: Callable[[], bytes]) -> bytes:
    """The document, by the first free thread."""
    return await asyncio.get_running_loop().run_in_executor(_POOL, make)
