"""The websites of a business, as they are typed: one on each line."""

from qirsh.domain.account import origin
from qirsh.domain.limits import URL_CHARACTERS_MAX


def read_origins(text: str) -> str | None:
    """As an account keeps them; None if a line is something else."""
    # A slash at the end is how browsers show an origin.
    lines = [line.strip().rstrip("/").lower() for line in text.splitlines() if line.strip()]
    origins = " ".join(dict.fromkeys(lines))
    is_good = len(origins) <= URL_CHARACTERS_MAX and all(origin(line) == line for line in lines)
    return origins if is_good else None
