"""People are asked by mail to work at a business. Whoever signs in with that address says yes or no.

The link is no proof of anything: it leads there, and is mailed to addresses that may be unknown here.
"""

import re
from typing import Final

from qirsh.domain.account import Account
from qirsh.domain.commands.staff import AcceptInvitation, DeclineInvitation, InviteMember
from qirsh.domain.limits import INVITATIONS_MAX, MEMBERS_MAX
from qirsh.domain.money import CURRENCIES
from qirsh.domain.person import normal_email
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.staff import GRANTABLE, Invitation, read_caps, role_of
from qirsh.domain.tables import Tables
from qirsh.store.reads.staff import invitations_of
from qirsh.web.auth.outgoing_mail import letters, letters_to_person
from qirsh.web.business.once_form import new_nonce, once_form
from qirsh.web.business.role_form import CAP_FIELDS, read_role
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.page_context import PageContext, page_context_of, signed_in
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of
from qirsh.web.html.recent_proof import has_recent_proof, proof_fault
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import to_problem

_ID: Final = re.compile(r"inv_[0-9a-f]{18}")
_FIELDS: Final = ("email", "role", *CAP_FIELDS.values())


async def show_invite(page: ShopPage) -> Response:
    """The form."""
    return await _form(page, dict.fromkeys(_FIELDS, ""), {})


async def invite_member(page: ShopPage) -> Response:
    """A link is mailed. The answer is the same whether the address is known here or not."""
    shop, context = page.shop, page.context
    typed = once_form(page, "invite", *_FIELDS, *REAUTH_FIELDS, bound=(str(shop.live.number),))
    role, caps, errors = read_role(typed, GRANTABLE.get(shop.role, ()), page.request.language)
    email = normal_email(typed["email"])
    if email is None:
        errors["email"] = "email"
    elif await _works_here(page, email):
        errors["email"] = "works_here"
    if not errors and (fault := await proof_fault(page, await account_holder_of(page), typed)):
        errors = {"proof": fault}
    if errors or role is None or email is None:
        return await _form(page, typed, errors, status=422)
    if context.limits is not None:
        # As a stranger is counted: a business must not be a way to write to everybody.
        context.limits.count_mail(page.request, "invitation", email)
    invitation_id = f"inv_{typed['nonce']}"
    now = context.clock()
    stale = [row.id for row in await invitations_of(context.store, shop.live.number) if _is_stale(row, email, now)]
    outcome = await context.engine.submit(
        InviteMember(
            id=invitation_id,
            account=shop.live.number,
            email=email,
            role=role,
            caps=caps,
            member=page.person,
            stale=tuple(stale),
            letters=letters(
                context,
                "invitation",
                to=email,
                language=page.request.language,
                name=shop.live.name,
                url=f"{context.base_url}/invitations/{invitation_id}",
            ),
        )
    )
    if type(outcome) is Refused:
        if outcome.why is Refusal.TOO_MANY:
            return await _form(page, typed, {"email": "too_many"}, status=422)
        raise to_problem(outcome)
    return page.redirect(f"{shop.address}/staff", f"{shop.live.number}.invited")


async def show_invitation(context: Context, request: Request) -> Response:
    """Where to and as what. Opening it uses nothing up: programs that check mails open links too."""
    page = await page_context_of(context, request)
    invitation, shop = await _invitation(context, request)
    if invitation is None or shop is None:
        return page.render("html/dead_link.html", status=404, kind="invitation")
    return page.render(
        "business/invitation.html",
        invitation=invitation,
        shop_name=shop.name,
        caps=read_caps(invitation.caps),
        is_theirs=page.caller is not None and await _is_theirs(page, invitation),
    )


@signed_in
async def answer_invitation(page: PageContext) -> Response:
    """Yes or no, of who is signed in with the address that it was mailed to."""
    context = page.context
    invitation, shop = await _invitation(context, page.request)
    if invitation is None or shop is None or not await _is_theirs(page, invitation):
        return page.render("html/dead_link.html", status=404, kind="invitation")
    typed = page.form("invitation", "answer", bound=(invitation.id,))
    if typed["answer"] != "accept":
        declined = await context.engine.submit(DeclineInvitation(invitation.id, page.person))
        if type(declined) is Refused:
            raise to_problem(declined)
        return page.redirect("/business", "business.declined")
    person = await context.store.find(Tables.people, page.person)
    mail = await letters_to_person(
        context,
        shop.owner,
        "member_joined",
        name=shop.name,
        who=person.name if person else "",
        url=f"{context.base_url}/business/{shop.number}/staff",
    )
    outcome = await context.engine.submit(AcceptInvitation(invitation.id, page.person, mail))
    if type(outcome) is Refused:
        if outcome.why in {Refusal.NOT_FOUND, Refusal.MOVE_NOT_ALLOWED}:
            return page.render("html/dead_link.html", status=404, kind="invitation")
        raise to_problem(outcome)
    return page.redirect(f"/business/{shop.number}", "business.joined")


async def _works_here(page: ShopPage, email: str) -> bool:
    """Whoever may invite sees the staff: of anybody else they learn nothing."""
    store, live = page.context.store, page.shop.live
    login = await store.find(Tables.logins, email)
    if login is None:
        return False
    return role_of(login.person, live, await store.find(Tables.members, (live.number, login.person))) is not None


def _is_stale(invitation: Invitation, email: str, now: int) -> bool:
    return invitation.expires_at <= now or invitation.email == email


async def _invitation(context: Context, request: Request) -> tuple[Invitation | None, Account | None]:
    """What the address names, while it can be answered, and the business."""
    invitation_id = request.arguments["id"]
    found = await context.store.find(Tables.invitations, invitation_id) if _ID.fullmatch(invitation_id) else None
    if found is None or found.expires_at <= context.clock():
        return None, None
    return found, await context.store.find(Tables.accounts, found.account)


async def _is_theirs(page: PageContext, invitation: Invitation) -> bool:
    login = await page.context.store.find(Tables.logins, invitation.email)
    return login is not None and login.person == page.person


async def _form(page: ShopPage, typed: dict[str, str], errors: dict[str, str], status: int = 200) -> Response:
    holder = await account_holder_of(page)
    return page.render(
        "business/invite.html",
        status=status,
        typed=typed,
        errors=errors,
        roles=GRANTABLE.get(page.shop.role, ()),
        cap_fields=CAP_FIELDS,
        currencies=CURRENCIES,
        nonce=new_nonce(page),
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
        members_max=MEMBERS_MAX,
        invitations_max=INVITATIONS_MAX,
    )
