"""Letters as the commands of faces take them along."""

from qirsh.domain.mail import Letter
from qirsh.domain.tables import Tables
from qirsh.engine.mail_crypto import Envelope, letter
from qirsh.language.mail_templates import KINDS
from qirsh.store.reads.people import EMAIL_OF, OPERATOR_ADDRESSES
from qirsh.web.http.context import Context


def letters(context: Context, kind: str, *, to: str, language: str, **words: str | int) -> tuple[Letter, ...]:
    """One of a kind of `language.mail_templates`, with the words that stand in it; none where none would be sent."""
    if not context.has_mail:
        return ()
    # A code, or a link that is valid for a while: whoever asked for it waits.
    is_urgent = KINDS[kind].lasts is not None
    return (letter(context.keyring, context.entropy, Envelope(to, language, kind, words), is_urgent=is_urgent),)


async def letters_to_person(context: Context, person: int | None, kind: str, **words: str | int) -> tuple[Letter, ...]:
    """The same to the address with which a person signs in, in their language; none where there is no such person."""
    who = None if person is None else await context.store.find(Tables.people, person)
    rows = [] if who is None else await context.store.select(EMAIL_OF, who.id)
    if who is None or not rows:
        return ()
    return letters(context, kind, to=rows[0][0], language=who.language, **words)


async def letters_to_operators(context: Context, kind: str, **words: str | int) -> tuple[Letter, ...]:
    """The same to everybody who runs the service, each in their language."""
    found = await context.store.select(OPERATOR_ADDRESSES)
    return tuple(
        one for email, language in found for one in letters(context, kind, to=email, language=language, **words)
    )
