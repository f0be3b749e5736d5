"""What who wants a payout is told by mail."""

from qirsh.domain.mail import Letter
from qirsh.domain.payout import Payout
from qirsh.domain.tables import Tables
from qirsh.store.reads import people
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.http.context import Context


async def letters_on_payout(context: Context, payout_id: str | None, reference: str) -> tuple[Letter, ...]:
    """Once the money has moved; none if no payout is paid."""
    payout = None if payout_id is None else await context.store.find(Tables.payouts, payout_id)
    return () if payout is None else await payout_letters(context, payout, "payout_paid", reference=reference)


async def payout_letters(context: Context, payout: Payout, kind: str, **params: str) -> tuple[Letter, ...]:
    """To the owner of its account."""
    account = await context.store.find(Tables.accounts, payout.account)
    if account is None or account.owner is None:
        return ()
    person = await context.store.find(Tables.people, account.owner)
    emails = await context.store.select(people.EMAIL_OF, account.owner)
    if person is None or not emails:
        return ()
    facts: dict[str, str | int] = {"amount": payout.amount, "currency": payout.currency, **params}
    return letters(context, kind, to=emails[0][0], language=person.language, **facts)
