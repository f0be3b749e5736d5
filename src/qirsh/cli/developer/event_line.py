"""How events and what became of them are shown: colour on a terminal, plain lines elsewhere, never broken."""

import time
from typing import Final

from rich.console import Console
from rich.text import Text

from qirsh.cli.developer.event_list import ListedEvent
from qirsh.cli.developer.local_receiver import in_words
from qirsh.cli.log import one_line
from qirsh.domain.event import TYPES
from qirsh.outbound.post import Outcome

_TYPE_WIDTH: Final = max(map(len, TYPES))


def make_console(*, is_stderr: bool = False) -> Console:
    """Lines can be copied and piped."""
    return Console(highlight=False, soft_wrap=True, stderr=is_stderr)


def event_line(when: str, event: ListedEvent) -> Text:
    """When, what, which payment, and the id that it can be sent again by."""
    return Text(
        "  ".join(
            (one_line(when), f"{one_line(event.type):<{_TYPE_WIDTH}}", one_line(event.payment), one_line(event.id))
        )
    )


def sent_line(event: ListedEvent, outcome: Outcome) -> Text:
    """The same at the developer's own time, and what the receiver said."""
    style = "green" if outcome.is_delivered else "bold red"
    line = event_line(time.strftime("%H:%M:%S"), event)
    return line.append("  ").append(in_words(outcome), style).append(f"  {outcome.took_ms} ms")
