"""Where pictures are worked on: beside the loop, one after the other, one of each person at a time."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from qirsh.domain.limits import PICTURES_OF_PERSON_MAX, PICTURES_UNDER_WAY_MAX
from qirsh.web.http.problems import Problem

T = TypeVar("T")

# One thread: a picture takes a core and up to 200 MB, for a second or two.
_POOL: Final = ThreadPoolExecutor(1, thread_name_prefix="picture")
_RETRY_AFTER_S: Final = 5
_under_way: Counter[int] = Counter()  # Pictures, by person.
_turns: dict[int, asyncio.Lock] = {}


async def in_turn(person: int, work: Callable[[], T]) -> T:
    """What the work on a person's picture gives. It waits behind one picture of each other person at most.

    An honest 503 where there is no room.
    """
    if _under_way.total() >= PICTURES_UNDER_WAY_MAX or _under_way[person] >= PICTURES_OF_PERSON_MAX:
        problem = Problem("overloaded")
        problem.retry_after_s = _RETRY_AFTER_S
        raise problem
    _under_way[person] += 1
    try:
        async with _turns.setdefault(person, asyncio.Lock()):
            return await asyncio.get_running_loop().run_in_executor(_POOL, work)
    finally:
        _under_way[person] -= 1
        if not _under_way[person]:
            del _under_way[person], _turns[person]
