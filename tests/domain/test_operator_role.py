"""The table of rights is the one that was decided on, and roles have one spelling."""

from typing import Final

from qirsh.domain.operator_role import ROLES, OperatorRight, Role, may, read_roles, written_roles
from tests.each import each

# admin, compliance, treasury, support, auditor.
RIGHTS: Final = {
    "look": "+++++",
    "write_to_shops": "++++-",
    "see_contacts": "++-+-",
    "see_papers": "-+---",
    "decide": "-+---",
    "restrict": "++-+-",
    "resume": "-+---",
    "ask_close": "-+---",
    "confirm_close": "++---",
    "ask_money": "--+--",
    "confirm_money": "--+--",
    "ask_help": "---+-",
    "confirm_help": "-++--",
    "match_bank": "--+--",
    "see_bank": "--+-+",
    "check_ledger": "+-+-+",
    "ask_lift": "--+--",
    "confirm_lift": "+----",
    "see_audit_log": "++--+",
    "see_system": "+-+-+",
    "ask_setup": "+----",
    "confirm_setup": "+----",
}


def test_the_roles_are_these() -> None:
    assert ROLES == ("admin", "compliance", "treasury", "support", "auditor")


def test_each_role_has_the_rights_of_the_table_and_no_others() -> None:
    granted = {right.value: "".join("-+"[may(role, right)] for role in ROLES) for right in OperatorRight}
    assert granted == RIGHTS


@each("right", OperatorRight)
def test_several_roles_have_the_rights_of_each(right: OperatorRight) -> None:
    for one in ROLES:
        for other in ROLES:
            assert may(f"{one} {other}", right) == (may(one, right) or may(other, right))


@each("roles", ["", " ", "Admin", "administrator", "adm", "admin,auditor"])
def test_who_has_no_role_that_there_is_has_no_right(roles: str) -> None:
    assert not any(may(roles, right) for right in OperatorRight)


@each(
    ("typed", "read"),
    [
        ("admin", "admin"),
        (" auditor, admin ", "admin auditor"),
        ("support,treasury", "treasury support"),
        ("admin admin", "admin"),
        ("auditor support treasury compliance admin", "admin compliance treasury support auditor"),
        ("", None),
        (" , ", None),
        ("root", None),
        ("admin root", None),
        ("Admin", None),
    ],
)
def test_roles_that_are_typed_have_one_spelling_or_are_none(typed: str, read: str | None) -> None:
    assert read_roles(typed) == read


@each("role", ROLES)
def test_what_is_written_is_read_as_the_same(role: Role) -> None:
    roles: set[Role] = {role, "auditor"}
    assert read_roles(written_roles(roles)) == written_roles(roles)
    assert set(written_roles(roles).split()) == roles
