"""Who of the operators may do what: the one table of rights, for pages, menus, the command line and rules."""

from enum import StrEnum
from typing import Final, Literal, get_args

Role = Literal["admin", "compliance", "treasury", "support", "auditor"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)


class OperatorRight(StrEnum):
    """What a page, an action or a command of operators asks for."""

    LOOK = "look"  # Home, search, accounts, payments.
    WRITE_TO_SHOPS = "write_to_shops"  # Notes and messages.
    SEE_CONTACTS = "see_contacts"  # E-mail addresses and phone numbers.
    SEE_PAPERS = "see_papers"  # Identity papers. Each look is logged.
    DECIDE = "decide"  # On identities, businesses, names, logos.
    RESTRICT = "restrict"  # Suspend, end sessions, revoke keys.
    RESUME = "resume"
    ASK_CLOSE = "ask_close"
    CONFIRM_CLOSE = "confirm_close"
    ASK_MONEY = "ask_money"  # Payouts, money in and out, corrections, reversals.
    CONFIRM_MONEY = "confirm_money"
    ASK_HELP = "ask_help"  # PIN and factors of a person, a refund for a suspended shop.
    CONFIRM_HELP = "confirm_help"
    MATCH_BANK = "match_bank"  # Import statements of the bank, and match their lines.
    SEE_BANK = "see_bank"
    CHECK_LEDGER = "check_ledger"
    ASK_LIFT = "ask_lift"  # Of a stop of all money.
    CONFIRM_LIFT = "confirm_lift"
    SEE_AUDIT_LOG = "see_audit_log"
    SEE_SYSTEM = "see_system"
    ASK_SETUP = "ask_setup"  # Operators, house accounts, settings.
    CONFIRM_SETUP = "confirm_setup"


# A column for each role, in their order.
_GRANTS: Final[dict[OperatorRight, str]] = {
    OperatorRight.LOOK: "+++++",
    OperatorRight.WRITE_TO_SHOPS: "++++-",
    OperatorRight.SEE_CONTACTS: "++-+-",
    OperatorRight.SEE_PAPERS: "-+---",
    OperatorRight.DECIDE: "-+---",
    OperatorRight.RESTRICT: "++-+-",
    OperatorRight.RESUME: "-+---",
    OperatorRight.ASK_CLOSE: "-+---",
    OperatorRight.CONFIRM_CLOSE: "++---",
    OperatorRight.ASK_MONEY: "--+--",
    OperatorRight.CONFIRM_MONEY: "--+--",
    OperatorRight.ASK_HELP: "---+-",
    OperatorRight.CONFIRM_HELP: "-++--",
    OperatorRight.MATCH_BANK: "--+--",
    OperatorRight.SEE_BANK: "--+-+",
    OperatorRight.CHECK_LEDGER: "+-+-+",
    OperatorRight.ASK_LIFT: "--+--",
    OperatorRight.CONFIRM_LIFT: "+----",
    OperatorRight.SEE_AUDIT_LOG: "++--+",
    OperatorRight.SEE_SYSTEM: "+-+-+",
    OperatorRight.ASK_SETUP: "+----",
    OperatorRight.CONFIRM_SETUP: "+----",
}


def may(roles: str, right: OperatorRight) -> bool:
    """Whether one of these roles, as an operator's row keeps them, has the right."""
    held = roles.split()
    return any(grant == "+" and role in held for role, grant in zip(ROLES, _GRANTS[right], strict=True))


def written_roles(roles: set[Role]) -> str:
    """As an operator's row keeps them: in their order, each once."""
    return " ".join(role for role in ROLES if role in roles)


def read_roles(text: str) -> str | None:
    """Roles as somebody has typed them, in their one spelling; None if one is unknown, or there is none."""
    given = set(text.replace(",", " ").split())
    known = {role for role in ROLES if role in given}
    return written_roles(known) if known and known == given else None
