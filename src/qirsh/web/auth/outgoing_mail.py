"""Letters as the commands of faces take them along."""

from qirsh.domain.mail import Letter
from qirsh.engine.mail_crypto import Envelope, letter
from qirsh.store.reads.people import OPERATOR_ADDRESSES
from qirsh.web.http.context import Context


def letters(context: Context, kind: str, *, to: str, language: str, **words: str | int) -> tuple[Letter, ...]:
    """One of a kind of `language.mail_templates`, with the words that stand in it; none where none would be sent."""
    if not context.has_mail:
        return ()
    return (letter(context.keyring, context.entropy, Envelope(to, language, kind, words)),)


async def letters_to_operators(context: Context, kind: str, **words: str | int) -> tuple[Letter, ...]:
    """The same to everybody who runs the service, each in their language."""
    found = await context.store.select(OPERATOR_ADDRESSES)
    return tuple(
        one for email, language in found for one in letters(context, kind, to=email, language=language, **words)
    )
