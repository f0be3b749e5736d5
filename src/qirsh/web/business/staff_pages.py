"""Who works at a business: all of them, one of them changed or removed, and one's own leaving."""

from typing import Final

from qirsh.domain.commands.staff import ChangeMember, RemoveMember, SetStaffPolicy, WithdrawInvitation
from qirsh.domain.limits import INVITATIONS_MAX, MEMBERS_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.staff import GRANTABLE, Invitation
from qirsh.domain.tables import Tables
from qirsh.store.reads.staff import NamedMember, invitations_of, members_of
from qirsh.web.auth.outgoing_mail import letters_to_person
from qirsh.web.business.role_form import CAP_FIELDS, read_role, shown_caps
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of
from qirsh.web.html.recent_proof import has_recent_proof, proof_fault
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem

_ID_DIGITS_MAX: Final = 18


async def show_staff(page: ShopPage) -> Response:
    """Everybody, and what was asked and not answered."""
    return await _staff(page)


async def _staff(page: ShopPage, *, is_without_factor: bool = False, status: int = 200) -> Response:
    shop, store = page.shop, page.context.store
    owner = await store.find(Tables.people, shop.live.owner or 0)
    assert owner is not None, "a business without its owner"
    now = page.context.clock()
    invitations = [row for row in await invitations_of(store, shop.live.number) if row.expires_at > now]
    return page.render(
        "business/staff.html",
        status=status,
        is_without_factor=is_without_factor,
        owner=owner,
        members=await members_of(store, shop.live.number),
        invitations=invitations,
        grantable=GRANTABLE.get(shop.role, ()),
        me=page.person,
        members_max=MEMBERS_MAX,
        invitations_max=INVITATIONS_MAX,
        word=page.flash_about(str(shop.live.number)),
    )


async def show_change_member(page: ShopPage) -> Response:
    """The form with what holds now."""
    named = await _member(page)
    caps = {cap.currency: cap.amount for cap in named.caps}
    typed = {"role": named.member.role, **shown_caps(caps, page.request.language)}
    return await _form(page, named, typed, {})


async def change_member(page: ShopPage) -> Response:
    """Another role, or other caps, which hold from now on."""
    named = await _member(page)
    person = named.member.person
    typed = page.form("member", "role", *CAP_FIELDS.values(), *REAUTH_FIELDS, bound=(str(person),))
    role, caps, errors = read_role(typed, GRANTABLE.get(page.shop.role, ()), page.request.language)
    if not errors and (fault := await proof_fault(page, await account_holder_of(page), typed)):
        errors = {"proof": fault}
    if errors or role is None:
        return await _form(page, named, typed, errors, status=422)
    number = page.shop.live.number
    outcome = await page.context.engine.submit(
        ChangeMember(
            account=number,
            person=person,
            role=role,
            caps=caps,
            member=page.person,
            letters=await letters_to_person(page.context, person, "role_changed", name=page.shop.live.name),
        )
    )
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(f"{page.shop.address}/staff", f"{number}.changed")


async def show_remove_member(page: ShopPage) -> Response:
    """Who it is, before they are gone."""
    return page.render("business/remove_member.html", named=await _member(page))


async def remove_member(page: ShopPage) -> Response:
    """Without a password: it takes nothing but rights away."""
    person = (await _member(page)).member.person
    page.form("remove-member", bound=(str(person),))
    await _remove(
        page, person, await letters_to_person(page.context, person, "member_removed", name=page.shop.live.name)
    )
    return page.redirect(f"{page.shop.address}/staff", f"{page.shop.live.number}.removed")


async def show_leave(page: ShopPage) -> Response:
    """What it means, before it is done."""
    if page.shop.role == "owner":
        raise Problem("not_found")
    return page.render("business/leave.html")


async def leave(page: ShopPage) -> Response:
    """They work there no longer, and may be invited again."""
    page.form("leave", bound=(str(page.shop.live.number),))
    await _remove(page, page.person, ())
    return page.redirect("/business", "business.left")


async def withdraw_invitation(page: ShopPage) -> Response:
    """Nobody can accept it any more. What was accepted a moment ago shows on the page."""
    invitation_id, number = page.request.arguments["id"], page.shop.live.number
    page.form("withdraw", bound=(invitation_id,))
    outcome = await page.context.engine.submit(WithdrawInvitation(invitation_id, number, page.person))
    if type(outcome) is Refused and outcome.why is not Refusal.NOT_FOUND:
        raise to_problem(outcome)
    word = "withdrawn" if type(outcome) is Invitation else "too-late"
    return page.redirect(f"{page.shop.address}/staff", f"{number}.{word}")


async def set_staff_policy(page: ShopPage) -> Response:
    """Whether two-step verification is required of everybody who works there."""
    number = page.shop.live.number
    typed = page.form("staff-policy", "two_step", bound=(str(number),))
    needs_two_step = bool(typed["two_step"])
    # Who asks it of others goes first.
    if needs_two_step and not (await account_holder_of(page)).has_factor:
        return await _staff(page, is_without_factor=True, status=422)
    outcome = await page.context.engine.submit(SetStaffPolicy(number, needs_two_step, page.person))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(f"{page.shop.address}/staff", f"{number}.policy")


async def _remove(page: ShopPage, person: int, letters: tuple[Letter, ...]) -> None:
    outcome = await page.context.engine.submit(RemoveMember(page.shop.live.number, person, page.person, letters))
    if type(outcome) is Refused:
        raise to_problem(outcome)


async def _member(page: ShopPage) -> NamedMember:
    """The member whom the address names, if who is signed in may change them."""
    text = page.request.arguments["id"]
    person = int(text) if text.isascii() and text.isdigit() and len(text) <= _ID_DIGITS_MAX else 0
    found = await members_of(page.context.store, page.shop.live.number)
    named = next((each for each in found if each.member.person == person), None)
    if named is None or named.member.role not in GRANTABLE.get(page.shop.role, ()):
        raise Problem("not_found")
    return named


async def _form(
    page: ShopPage, named: NamedMember, typed: dict[str, str], errors: dict[str, str], status: int = 200
) -> Response:
    holder = await account_holder_of(page)
    return page.render(
        "business/change_member.html",
        status=status,
        named=named,
        typed=typed,
        errors=errors,
        roles=GRANTABLE.get(page.shop.role, ()),
        cap_fields=CAP_FIELDS,
        currencies=CURRENCIES,
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
    )
