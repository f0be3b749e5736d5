"""What each role may do at the desk: every act by every role, asked of the socket and once more of the commit."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from qirsh.domain.command import Command
from qirsh.domain.commands.brand import RequestBrandChange
from qirsh.domain.commands.identity import SubmitIdentity
from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.commands.shop_message import WriteToOperators
from qirsh.domain.commands.stop import StopMoney
from qirsh.domain.limits import OPERATOR_NEW_MS
from qirsh.domain.operator_role import ROLES, OperatorRight, Role, may
from qirsh.domain.refusal import granted
from qirsh.domain.rules.proposal import PROPOSED
from qirsh.web.operator.action import ActionRefused, Actor
from qirsh.web.operator.actions import ACTIONS
from tests.live import PASSWORD, PIN, InProcess, Operator, in_process
from tests.operators import appointed
from tests.postgres import PostgresServer
from tests.web.operator.bank import bank_words
from tests.web.tenant import login_of

# Typed from the table of roles, and not taken from the code. An act that is not here fails.
RIGHTS: Final = {
    "person add": "decide",
    "account request": "decide",
    "account verify": "decide",
    "account approve": "decide",
    "account reject": "decide",
    "account suspend": "restrict",
    "account resume": "resume",
    "account close": "ask_close",
    "account list": "look",
    "account show": "look",
    "key issue": "decide",
    "key revoke": "restrict",
    "key list": "look",
    "deposit ask": "ask_money",
    "deposit confirm": "confirm_money",
    "withdraw ask": "ask_money",
    "withdraw confirm": "confirm_money",
    "payout list": "ask_money",
    "payout order": "ask_money",
    "payout refuse": "ask_money",
    "audit run": "check_ledger",
    "audit lift": "ask_lift",
    "proposal list": "look",
    "proposal show": "look",
    "proposal confirm": "look",  # And that of what it does:
    "proposal edit": "look",
    "proposal refuse": "look",  # see below.
    "proposal withdraw": "look",
    "operator create": "ask_setup",
    "operator roles": "ask_setup",
    "operator end": "ask_setup",
    "operator list": "ask_setup",
    "access sign-out": "restrict",
    "access block": "restrict",
    "access unblock": "resume",
    "access remove-factors": "ask_help",
    "identity list": "decide",
    "identity show": "see_papers",
    "identity reject": "decide",
    "brand list": "decide",
    "brand show": "decide",
    "brand approve": "decide",
    "brand refuse": "decide",
    "message list": "look",
    "message show": "write_to_shops",
    "message send": "write_to_shops",
    "adjust ask": "ask_money",
    "reverse ask": "ask_money",
    "house list": "look",
    "house open": "ask_setup",
    "audit list": "see_audit_log",
    "audit export": "see_audit_log",
    "ledger show": "check_ledger",
    "system show": "see_system",
    "bank format": "match_bank",
    "bank import": "match_bank",
    "bank undo": "match_bank",
    "bank match": "match_bank",
    "bank unmatch": "match_bank",
    "bank list": "see_bank",
    "bank reconcile": "see_bank",
    "search": "look",
    "note add": "write_to_shops",
    "note list": "write_to_shops",
    "access reset-pin": "ask_help",
    "access keep": "restrict",
    "access resets": "look",
    "operator remove-factors": "ask_setup",
    "refund ask": "ask_help",
    "recovery list": "ask_setup",
    "recovery read": "ask_setup",
}
# Nothing is written for these, not even that somebody has looked.
READS: Final = frozenset(
    {
        *("account list", "account show", "key list", "payout list", "proposal list", "proposal show"),
        *("operator list", "identity list", "brand list", "brand show", "message list", "house list"),
        *("audit list", "ledger show", "system show"),
        *("bank list", "bank reconcile"),
        *("search", "note list"),
        *("access resets", "recovery list"),
    }
)
# What each proposal is confirmed or refused with.
CONFIRMED: Final = {
    "deposit": "confirm_money",
    "account close": "confirm_close",
    "operator create": "confirm_setup",
    "operator roles": "confirm_setup",
    "operator end": "confirm_setup",
    "remove-factors": "confirm_help",
    "audit lift": "confirm_lift",
    "correction": "confirm_money",
    "reversal": "confirm_money",
    "house open": "confirm_setup",
    "reset-pin": "confirm_help",
    "operator remove-factors": "confirm_setup",
    "refund": "confirm_help",
}
FIRST: Final = 2  # Of the operators with one role each: two with all of them stand before.


@pytest.fixture(scope="module")
def desk(engine: PostgresServer | None) -> Iterator[InProcess]:
    """With one more operator for each role, who has no other, and all of them long enough."""
    with in_process(engine, shops=1, people=3) as world:
        world.change(has_mail=True)
        with world.books() as books:
            (first,), (second,) = books.select("SELECT person FROM operator ORDER BY person")
        for role in ROLES:
            email = f"{role}@bank.example"
            made = appointed(world.context, email, PASSWORD, by=first, agrees=second, roles=role)
            world.operators.append(Operator(email, world.run(made)[1]))
        world.clock.advance(OPERATOR_NEW_MS)
        yield world
        assert world.violations() == []


def submit(desk: InProcess, command: Command[Any]) -> None:
    granted(desk.run(desk.context.engine.submit(command)))


def lacking(right: str) -> list[Role]:
    return [role for role in ROLES if not may(role, OperatorRight(right))]


def number_of(role: Role) -> int:
    return FIRST + ROLES.index(role)


# The socket.


def test_every_act_is_in_the_table_with_the_right_that_it_takes() -> None:
    assert {name: str(action.right) for name, action in ACTIONS.items()} == RIGHTS


def test_a_role_without_the_right_is_told_which_it_takes(desk: InProcess, subtests: pytest.Subtests) -> None:
    for role in ROLES:
        with subtests.test(role):
            for act, right in RIGHTS.items():
                reply = desk.run(desk.tried(act, {}, number_of(role)))
                if may(role, OperatorRight(right)):
                    assert reply.code != "missing_right", act
                else:
                    assert (reply.code, f"`{right}`" in reply.detail) == ("missing_right", True), act
                    assert reply.done is None


# The commit. Whoever was let in by the socket may have lost the role since.


@pytest.fixture(scope="module")
def words(desk: InProcess) -> dict[str, dict[str, Any]]:
    """For each act that writes, what brings it as far as its commit."""
    [shop], [customer, saver, _] = desk.merchants, desk.customers
    stranger, owner = desk.person(verified=False), login_of(desk, shop.email).person
    person = login_of(desk, stranger.email).person
    submit(desk, SubmitIdentity(person, int(stranger.account), b"facts", (("front", b"one"), ("back", b"two"))))
    person = login_of(desk, saver.email).person
    pins = desk.context.keyring.pin_macs(person, PIN)
    submit(desk, RequestPayout("po_1", int(saver.account), person, "USD", 700, b"sealed", pins))
    submit(desk, RequestBrandChange(int(shop.account), "bc_1", "Other name", "", None, "", owner))
    submit(desk, WriteToOperators("msg_1", int(shop.account), "Hello", owner))
    about, reason = {"account": shop.account}, {"reason": "because"}
    slip: dict[str, Any] = {"account": customer.account, "currency": "USD", "amount": "5.00", **reason}
    for kind in ("deposit", "withdraw"):
        desk.act(f"{kind} ask", **slip, reference=f"{kind} open")
    desk.agree("deposit ask", **slip, reference="booked")
    someone, colleague = {"email": customer.email, **reason}, {"email": desk.operators[1].email, **reason}
    desk.agree("access reset-pin", email=saver.email)
    added = {"email": "new@home.example", "name": "New", "password": PASSWORD, "pin": PIN}
    moves = ("verify", "approve", "reject", "suspend", "resume", "close")
    return {
        "person add": added,
        "account request": {"account": customer.account, "name": "Another"},
        **{f"account {move}": {**about, **reason} for move in moves},
        "key issue": about,
        "key revoke": {"id": shop.key_id},
        "deposit ask": {**slip, "reference": "new"},
        "deposit confirm": {"reference": "deposit open"},
        "withdraw ask": {**slip, "reference": "new"},
        "withdraw confirm": {"reference": "withdraw open"},
        "payout order": {"id": "po_1", "reference": "ft 1"},
        "payout refuse": {"id": "po_1", **reason},
        "audit run": {},
        "audit export": {},
        "operator create": {"email": "hala@bank.example", "name": "Hala", **reason},
        "operator roles": {**colleague, "roles": "support"},
        "operator end": colleague,
        **{f"access {change}": someone for change in ("sign-out", "block", "unblock", "remove-factors")},
        "identity show": {"account": stranger.account},
        "identity reject": {"account": stranger.account, **reason},
        "brand approve": {**about, "id": "bc_1"},
        "brand refuse": {**about, "id": "bc_1", **reason},
        "message show": about,
        "message send": {**about, "text": "Hello"},
        "adjust ask": {**slip, "direction": "add"},
        "reverse ask": {"reverses": "booked", "reference": "back", **reason},
        "house open": {"name": "Second bank", **reason},
        **bank_words(desk),
        "note add": {"about": "account", "id": shop.account, "text": "Hello"},
        "access reset-pin": someone,
        "access keep": {"email": saver.email, **reason},
        "operator remove-factors": colleague,
        "refund ask": {"payment": desk.payment(shop), **reason},
        "recovery read": {"id": "rec_1"},
    }


# What is decided on proposals, and on a stop, is asked further below.
ELSEWHERE: Final = frozenset(
    {"proposal confirm", "proposal edit", "proposal refuse", "proposal withdraw", "audit lift"}
)


def test_the_commit_asks_again(desk: InProcess, words: dict[str, dict[str, Any]], subtests: pytest.Subtests) -> None:
    actors = {role: Actor(login_of(desk, f"{role}@bank.example").person) for role in ROLES}
    before = desk.counts()
    for act in sorted(RIGHTS.keys() - READS - ELSEWHERE):
        with subtests.test(act):
            assert lacking(RIGHTS[act])
            for role in lacking(RIGHTS[act]):
                with pytest.raises(ActionRefused) as refused:
                    desk.run(run(desk, act, actors[role], words[act]))
                assert refused.value.code == "missing_right", (act, role)
            assert desk.counts() == before


async def run(desk: InProcess, act: str, actor: Actor, words: dict[str, Any]) -> dict[str, Any]:
    """Past the socket."""
    return await ACTIONS[act].run(desk.context, actor, dict(words))


# Proposals.


def ask_each(desk: InProcess) -> Iterator[tuple[str, dict[str, Any]]]:
    """One of each kind, which the first operator asks for."""
    [shop], customer = desk.merchants, desk.customers[2]
    reason: dict[str, Any] = {"reason": "because"}
    colleague = {"email": "auditor@bank.example"}
    slip = {"account": customer.account, "currency": "USD", "amount": "5.00", "reference": "one of each"}
    acts: dict[str, dict[str, Any]] = {
        "deposit ask": slip,
        "account close": {"account": shop.account},
        "operator create": {"email": "hala@bank.example", "name": "Hala"},
        "operator roles": {**colleague, "roles": "support"},
        "operator end": colleague,
        "access remove-factors": {"email": customer.email},
        "adjust ask": {**slip, "direction": "add"},
        "reverse ask": {"reverses": "one to take back", "reference": "back again"},
        "house open": {"name": "Second bank"},
        "access reset-pin": {"email": customer.email},
        "operator remove-factors": colleague,
    }
    booked: dict[str, Any] = slip | {"reference": "one to take back"}
    desk.agree("deposit ask", **booked)
    for act, words in acts.items():
        asked = desk.act(act, **words, **reason)
        yield asked["action"], asked
    paid = desk.paid(shop, desk.anew(desk.customers[0]))
    desk.act("account suspend", account=shop.account)
    yield "refund", desk.act("refund ask", payment=paid, **reason)
    desk.act("account resume", account=shop.account)
    submit(desk, StopMoney(1, "a rule is broken", "test"))  # From here on no deposit is confirmed.
    yield "audit lift", desk.act("audit lift", **reason)


def test_a_proposal_is_decided_by_roles_that_may_what_it_does(desk: InProcess) -> None:
    """With a wrong digest, so that whoever may is told that it has changed, and nothing is done."""
    met: list[str] = []
    asked: dict[str, Any] = {}
    for action, asked in ask_each(desk):
        met.append(action)
        right = CONFIRMED[action]
        for role in ROLES:
            given = {"id": asked["id"], "digest": "0" * 16, "reason": "because"}
            for act in ("proposal confirm", "proposal refuse"):
                reply = desk.run(desk.tried(act, given, number_of(role)))
                if may(role, OperatorRight(right)):
                    assert reply.code == "changed_meanwhile", (action, act, role)
                else:
                    assert (reply.code, f"`{right}`" in reply.detail) == ("missing_right", True), (action, act, role)
    assert len(met) == len(CONFIRMED) == len(PROPOSED)
    done = desk.act("proposal confirm", number_of("admin"), id=asked["id"], digest=asked["digest"])
    assert (done["action"], done["state"]) == ("audit lift", "done")


def test_what_was_asked_for_in_a_role_that_is_lost_is_not_confirmed_and_can_be_refused(desk: InProcess) -> None:
    slip: dict[str, Any] = {
        "account": desk.customers[2].account,
        "currency": "USD",
        "amount": "5.00",
        "reason": "because",
    }
    asks, confirms = number_of("treasury"), 1
    asked = desk.act("deposit ask", asks, **slip, reference="of before")
    desk.agree("operator roles", email="treasury@bank.example", roles="support")
    given = {"id": asked["id"], "digest": asked["digest"]}
    withdrawn = desk.run(desk.tried("proposal withdraw", {**given, "reason": "because"}, asks))
    assert (withdrawn.code, "`ask_money`" in withdrawn.detail) == ("missing_right", True)
    assert desk.run(desk.tried("proposal confirm", given, confirms)).code == "asker_not_operator"
    assert desk.act("proposal refuse", confirms, **given, reason="because")["state"] == "refused"
    desk.agree("operator roles", email="treasury@bank.example", roles="treasury")
