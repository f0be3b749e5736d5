"""Proposals in the console: what waits, one of them, and what another operator says to it."""

from typing import Final

from qirsh.domain.commands.bank_order import BankOrderCommand
from qirsh.domain.commands.proposal import decoded
from qirsh.domain.commands.refund import RefundForShop
from qirsh.domain.ledger import Balance
from qirsh.domain.operator_role import ROLES, OperatorRight
from qirsh.domain.proposal import Proposal, authors
from qirsh.domain.proposal_change import read_sum
from qirsh.domain.rules.proposal import PROPOSED
from qirsh.domain.tables import Tables
from qirsh.store.reads.proposals import open_proposals, who_asked
from qirsh.web.html.page_query import with_query
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem
from qirsh.web.operator.action import ActionRefused, Params
from qirsh.web.operator.console_form import console_form, field_faults, refused_status
from qirsh.web.operator.console_page import ConsolePage, console_page
from qirsh.web.operator.operator_pages import joined_roles
from qirsh.web.operator.own_interest import Part, is_concerned
from qirsh.web.operator.proposal_actions import proposal_words, undecided
from qirsh.web.operator.proposal_facts import facts_of

_LISTED: Final = 50


async def show_proposals(page: ConsolePage) -> Response:
    """Oldest first."""
    more = await open_proposals(page.context.store, _LISTED + 1, page.place())
    found = more[:_LISTED]
    newer = ""
    if len(more) > _LISTED:
        newer = with_query(page.request.path, {"at": str(found[-1].asked_at), "after": found[-1].id})
    return page.render(
        "operator/proposals.html",
        proposals=found,
        names=await who_asked(page.context.store),
        people={
            one.id: (await facts_of(page.context, one, sees_contacts=False)).person
            for one in found
            if _is_of_person(one)
        },
        sums={one.id: _sum(one) for one in found},
        newer=newer,
    )


async def show_proposal(page: ConsolePage) -> Response:
    """What is asked for, with what it would change."""
    return await _page(page, page.request.arguments["id"])


async def proposal_again(page: ConsolePage, params: Params, refused: ActionRefused) -> Response:
    """The same page, with why not, and what was typed."""
    return await _page(page, params["id"], typed=params, refused=refused)


def proposal_address(_page: ConsolePage, result: Params) -> str:
    """Of the one that was decided."""
    return f"/operator/proposals/{result['id']}"


PROPOSAL_ROUTES: Final = (
    console_page("GET", "/proposals", show_proposals, right=OperatorRight.LOOK),
    console_page("GET", "/proposals/{id}", show_proposal, right=OperatorRight.LOOK),
    console_form(
        "/proposals/{id}/confirm",
        "proposal confirm",
        ("digest",),
        again=proposal_again,
        done=proposal_address,
        takes_code=True,
        first=undecided,
    ),
    console_form(
        "/proposals/{id}/edit",
        "proposal edit",
        ("digest", "reason", "amount", "reference", *ROLES),
        again=proposal_again,
        done=proposal_address,
        shaped=joined_roles,
    ),
    *(
        console_form(
            f"/proposals/{{id}}/{how}",
            f"proposal {how}",
            ("digest", "reason"),
            again=proposal_again,
            done=proposal_address,
        )
        for how in ("refuse", "withdraw")
    ),
)


async def _page(
    page: ConsolePage, proposal_id: str, *, typed: Params | None = None, refused: ActionRefused | None = None
) -> Response:
    proposal = await page.context.store.find(Tables.proposals, proposal_id)
    if proposal is None:
        raise Problem("not_found")
    me, command = page.operator.person, decoded(proposal)
    rule = None if command is None else PROPOSED[type(command)]
    is_own = command is not None and await is_concerned(page, command)
    part: Part = (
        "asked" if me == proposal.asked_by else "own" if is_own else "edited" if me in authors(proposal) else ""
    )
    is_open = proposal.state == "open"
    return page.render(
        "operator/proposal.html",
        status=200 if refused is None else refused_status(refused),
        proposal=proposal,
        words=proposal_words(proposal),
        sum=_sum(proposal),
        sum_in=read_sum,
        facts=await facts_of(page.context, proposal, sees_contacts=page.may("see_contacts")),
        subject_address=_subject_address(proposal),
        balance=await _balance(page, proposal),
        goes_in=getattr(command, "kind", "") == "deposit",
        holder=await _account_name(page, getattr(command, "account", None)),
        house=await _account_name(page, getattr(command, "house", None)),
        asked_by=await page.name_of(proposal.asked_by),
        decided_by=await page.name_of(proposal.decided_by),
        is_own=me == proposal.asked_by,
        part=part if is_open else "",
        takes_third=is_open and len(authors(proposal)) > 1,
        may_confirm=is_open and rule is not None and part == "" and page.may(rule.confirm),
        may_edit=is_open and rule is not None and not is_own and page.may(rule.ask),
        may_end=is_open and rule is not None and (part == "asked" or (part != "own" and page.may(rule.confirm))),
        roles=getattr(command, "roles", "").split(),
        all_roles=ROLES,
        typed=typed or {},
        faults=field_faults(page, refused),
    )


def _is_of_person(proposal: Proposal) -> bool:
    return proposal.subject.startswith(("person ", "appointment"))


def _sum(proposal: Proposal) -> tuple[int, str] | None:
    """The money that it would move, and its currency."""
    command = decoded(proposal)
    return (command.amount, command.currency) if isinstance(command, BankOrderCommand | RefundForShop) else None


def _subject_address(proposal: Proposal) -> str:
    """The page of what it is about; empty where there is none."""
    kind, _, name = proposal.subject.partition(" ")
    pages = {"person": "people", "account": "accounts"}
    return f"/operator/{pages[kind]}/{name}" if kind in pages and name.isdigit() else ""


async def _balance(page: ConsolePage, proposal: Proposal) -> tuple[Balance, int] | None:
    """What the account holds, and what it would hold afterwards."""
    command = decoded(proposal)
    if not isinstance(command, BankOrderCommand) or proposal.state != "open":
        return None
    held = await page.context.store.find(Tables.balances, (command.account, command.currency))
    before = held or Balance(command.account, command.currency, 0, 0, is_house=False)
    change = command.amount if command.kind == "deposit" else -command.amount
    return before, before.amount + change


async def _account_name(page: ConsolePage, number: int | None) -> str:
    found = None if number is None else await page.context.store.find(Tables.accounts, number)
    return "" if found is None else found.name
