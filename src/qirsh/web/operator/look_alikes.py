"""What the name of a business that asks to be approved could be taken for: operators are warned."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from qirsh.language.business_name import resembles_service, skeleton
from qirsh.store.reads import people as people_queries
from qirsh.web.http.context import Context

_READ_AT_ONCE: Final = 1000
_skeleton: Final = lru_cache(maxsize=32_768)(skeleton)  # Names stay, and to take one apart takes long.
_NAMED_MAX: Final = 3  # Of each; more tell no more.


async def look_alikes(context: Context, names: Mapping[int, str]) -> dict[int, str]:
    """By account, in words; empty where it resembles nobody. Looks at every business that was approved."""
    alike: dict[int, list[str]] = {
        number: ["the name of this service"] if resembles_service(name) else [] for number, name in names.items()
    }
    wanted: dict[str, list[int]] = {}
    for number, name in names.items():
        wanted.setdefault(_skeleton(name), []).append(number)
    after = 0
    while wanted:
        rows = await context.store.search(people_queries.APPROVED_NAMES_AFTER, after, _READ_AT_ONCE)
        for other, name in rows:
            for number in wanted.get(_skeleton(name), ()):
                if number != other and len(alike[number]) < _NAMED_MAX:
                    alike[number].append(f"{other} {name}")
        if len(rows) < _READ_AT_ONCE:
            break
        after = rows[-1][0]
    return {number: "; ".join(found) for number, found in alike.items()}
