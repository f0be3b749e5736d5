"""How a person is told that the mailed code they typed is wrong."""

from qirsh.language.catalog import mark as _
from qirsh.language.catalog import plural, text


def code_fault(tries_left: int, language: str) -> str:
    """With the tries that are left, or that it is dead."""
    if not tries_left:
        message = _(
            "This code no longer works: it has expired, was already used, or was entered incorrectly"
            " too often. Request a new one."
        )
        return text(language, message)
    return plural(
        language,
        "Incorrect code. You can try %(n)d more time.",
        "Incorrect code. You can try %(n)d more times.",
        tries_left,
    )
