"""What goes with a command that two operators agree to: letters, links, and checks that no commit can make."""

import msgspec

from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.access import RemoveFactors, RemoveOperatorFactors, ResetPin
from qirsh.domain.commands.bank_order import BookBankTransfer
from qirsh.domain.commands.operator import AppointOperator, ChangeRoles, EndOperator
from qirsh.domain.commands.proposal import Mailed, ProposedCommand
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.commands.stop import LiftStop
from qirsh.domain.mail import Letter
from qirsh.domain.pending_reset import RESET_AFTER_MS
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.store.reads import people as people_queries
from qirsh.web.auth.email_challenge import new_link_token
from qirsh.web.auth.outgoing_mail import letters, letters_to_operators, letters_to_person
from qirsh.web.http.context import Context
from qirsh.web.operator.action import ActionRefused, Actor
from qirsh.web.operator.full_check import check_before_lifting
from qirsh.web.operator.payout_mail import letters_on_payout


class Effects(msgspec.Struct, frozen=True):
    """What is found and made beforehand."""

    mailed: Mailed = Mailed()
    passkeys: tuple[bytes, ...] = ()


async def check_before(context: Context, command: ProposedCommand) -> None:
    """What takes longer than a commit may."""
    if isinstance(command, LiftStop):
        await check_before_lifting(context)
    if isinstance(command, AppointOperator) and not context.has_mail:
        raise ActionRefused(
            "no_mail",
            _(
                "A new operator gets a link by mail, and this service sends none: set QIRSH_SMTP_URL and"
                " QIRSH_MAIL_FROM."
            ),
        )


async def effects_of(context: Context, actor: Actor, command: ProposedCommand) -> Effects:
    """For one who confirms, or asks where nobody has to confirm."""
    match command:
        case AppointOperator():
            return Effects(await _link(context, actor, command.email))
        case ChangeRoles():
            person, email = await _person(context, command.person)
            told = await letters_to_operators(
                context, "operator_roles_changed", name=person, new_email=email, roles=command.roles
            )
            return Effects(Mailed(told))
        case EndOperator():
            person, email = await _person(context, command.person)
            return Effects(Mailed(await letters_to_operators(context, "operator_ended", name=person, new_email=email)))
        case BookBankTransfer():
            return Effects(Mailed(await letters_on_payout(context, command.payout, command.reference)))
        case RemoveFactors() | ResetPin():
            return Effects(Mailed(await _letters_on_reset(context, command)))
        case RemoveOperatorFactors():
            found = await context.store.select(people_queries.PASSKEYS_OF_PERSON, command.person)
            person, email = await _person(context, command.person)
            told = await letters_to_operators(context, "operator_factors_removed", name=person, new_email=email)
            return Effects(Mailed(told), tuple(bytes(key) for key, _name, _at in found))
        case RefundForShop():
            return Effects(Mailed(await _letters_on_refund(context, command)))
    return Effects()


async def letters_on_asking(context: Context, actor: Actor, command: ProposedCommand) -> tuple[Letter, ...]:
    """Whatever is to become of operators, all of them are told at once."""
    by = await context.store.find(Tables.people, actor.id)
    who = "" if by is None else by.name
    match command:
        case AppointOperator():
            return await letters_to_operators(
                context, "operator_asked", by=who, name=command.name, new_email=command.email
            )
        case EndOperator():
            _, email = await _person(context, command.person)
            return await letters_to_operators(context, "operator_end_asked", by=who, new_email=email)
    return ()


async def _letters_on_reset(context: Context, command: RemoveFactors | ResetPin) -> tuple[Letter, ...]:
    """The person has a day, in which they can stop it where the link leads."""
    kind = "pin_reset_agreed" if isinstance(command, ResetPin) else "factors_reset_agreed"
    due_at = await context.store.now() + RESET_AFTER_MS
    return await letters_to_person(context, command.person, kind, at=due_at, url=f"{context.base_url}/wallet/security")


async def _letters_on_refund(context: Context, command: RefundForShop) -> tuple[Letter, ...]:
    """To the owner, whose balance it came from. The payer hears as of any refund."""
    shop = await context.store.find(Tables.accounts, command.merchant)
    paid = await context.store.find(Tables.payments, command.payment)
    if shop is None or paid is None:
        return ()
    facts: dict[str, str | int] = {"amount": command.amount, "currency": paid.currency, "name": shop.name}
    facts["payment"] = context.identifiers.payment_id(paid.number)
    return await letters_to_person(context, shop.owner, "refund_for_shop", **facts)


async def _link(context: Context, actor: Actor, email: str) -> Mailed:
    """What the new one will open. Nobody else is told of it: the token is in the sealed letter alone."""
    token = new_link_token(context, "operator", email, None)
    person = await context.store.find(Tables.people, actor.id)
    assert person is not None, "an operator who is nobody"
    url = f"{context.base_url}/operator/appointments/{token}"
    # Their own language is not known yet; most likely it is that of the operator who asks them.
    link = letters(context, "operator_link", to=email, language=person.language, by=person.name, url=url)
    return Mailed(link, token_hash(token.encode()))


async def _person(context: Context, number: int) -> tuple[str, str]:
    """Their name and address."""
    person = await context.store.find(Tables.people, number)
    emails = await context.store.select(people_queries.EMAIL_OF, number)
    return "" if person is None else person.name, emails[0][0] if emails else ""
