"""Who looks at what in the console, since when: a courtesy among operators, and no lock.

It is kept in the memory of one process. Where several serve, an operator sees those of the same process only.
"""

from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from qirsh.engine.batcher import Engine
from qirsh.web.operator.console_page import ConsolePage

LOOKING_MS: Final = 5 * 60 * 1000  # Without another look, nobody is thought to be there any more.


class Looker(msgspec.Struct, frozen=True):
    """An operator at a page."""

    person: int
    name: str
    since: int
    last: int


_LOOKERS: Final[WeakKeyDictionary[Engine, dict[str, dict[int, Looker]]]] = WeakKeyDictionary()


def look_at(page: ConsolePage, subject: str) -> list[Looker]:
    """From now on this operator looks at it. Who else does."""
    lookers, now, me = _present(page), page.context.clock(), page.operator.person
    there = lookers.setdefault(subject, {})
    before = there.get(me)
    since = now if before is None else before.since
    there[me] = Looker(me, page.operator.name, since, now)
    return [looker for looker in there.values() if looker.person != me]


def lookers_at(page: ConsolePage, *subjects: str) -> dict[str, list[Looker]]:
    """Who looks at each of these, but for the operator who asks."""
    lookers, me = _present(page), page.operator.person
    return {name: [one for one in lookers.get(name, {}).values() if one.person != me] for name in subjects}


def look_away(page: ConsolePage, subject: str) -> None:
    """It is decided: nobody needs to know any more who looked."""
    _present(page).pop(subject, None)


def _present(page: ConsolePage) -> dict[str, dict[int, Looker]]:
    """Those of the last minutes; the others are forgotten here."""
    lookers = _LOOKERS.setdefault(page.context.engine, {})
    too_old = page.context.clock() - LOOKING_MS
    for subject, there in [*lookers.items()]:
        for person in [person for person, looker in there.items() if looker.last <= too_old]:
            del there[person]
        if not there:
            del lookers[subject]
    return lookers
