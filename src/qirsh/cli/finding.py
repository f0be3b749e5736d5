"""What `qirsh doctor` says of one thing that it looked at."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from qirsh.settings import Settings


class Finding(NamedTuple):
    """What a check saw. Only `bad` needs doing before the service is relied on."""

    level: Literal["ok", "note", "bad"]
    words: str


Check = Callable[[Settings], Finding]
