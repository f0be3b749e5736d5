"""An operator is let in again from the machine itself; every page tells of it until an admin has read it."""

import msgspec
import pytest

from qirsh.domain.commands.access import ChangeAccess
from qirsh.domain.commands.login_credentials import AddPasskey
from qirsh.domain.commands.recovery import ReadRecovery
from qirsh.domain.counter import ADMIN
from qirsh.domain.refusal import Refusal
from tests.domain.invariant import complaints
from tests.domain.market import ALL_ROLES, Market
from tests.domain.operator_cases import SECOND, recovering
from tests.domain.people_cases import LETTERS


@pytest.fixture
def market() -> Market:
    return Market()


def test_the_operator_has_new_secrets_alone_and_all_are_told(market: Market) -> None:
    market.do(AddPasskey(b"key", market.second.id, b"public", 0, "phone", ()))
    market.change("logins", SECOND, wrong_codes=10, recovery=b"codes")
    assert market.refuse(recovering(market)).why is Refusal.MOVE_NOT_ALLOWED  # One passkey was overlooked.
    recovery = market.do(msgspec.structs.replace(recovering(market), passkeys=(b"key",), letters=LETTERS))
    login = market.logins[SECOND]
    assert (login.password_hash, login.totp_sealed, login.recovery, login.wrong_codes) == (
        "new hash",
        b"new seed",
        b"",
        0,
    )
    assert market.passkeys == {}
    assert market.people[market.second.id].session_generation == 1
    assert (recovery.done_by, recovery.read_at, set(market.mails)) == ("os user root", None, {"letter"})
    entry = market.audit[-1]
    assert (entry.actor, entry.action, entry.subject) == (
        "os user root",
        "operator.recovered",
        f"person {market.second.id}",
    )
    assert complaints(market) == []


def test_whoever_it_is_becomes_an_admin_who_can_act(market: Market) -> None:
    market.change("operators", market.second.id, roles="treasury support")
    market.change("counters", ADMIN, last=1)
    market.do(ChangeAccess(SECOND, "block", "gone", market.first.id, "test"))
    market.change("accounts", market.second.account, state="suspended")
    market.do(recovering(market))
    assert market.operators[market.second.id].roles == "admin treasury support"
    assert market.counters[ADMIN].last == 2
    assert market.people[market.second.id].blocked_at is None
    assert market.accounts[market.second.account].state == "verified"
    # Another one is to know of it.
    assert market.refuse(ReadRecovery("rec_1", market.second.id, "test")).why is Refusal.OWN_REQUEST
    market.do(ReadRecovery("rec_1", market.first.id, "test"))
    assert complaints(market) == []


def test_an_admin_stays_one_and_is_counted_once(market: Market) -> None:
    market.do(recovering(market))
    assert (market.operators[market.second.id].roles, market.counters[ADMIN].last) == (ALL_ROLES, 2)


def test_nobody_else_is_let_in_by_it(market: Market) -> None:
    other = {"person": market.customer.id, "account": market.customer.account, "email": "customer@example.com"}
    assert market.refuse(msgspec.structs.replace(recovering(market), **other)).why is Refusal.NOT_FOUND
    wrong = msgspec.structs.replace(recovering(market), email="customer@example.com")
    assert market.refuse(wrong).why is Refusal.NOT_FOUND
    market.change("operators", market.second.id, ended_at=market.now)
    assert market.refuse(recovering(market)).why is Refusal.NOT_FOUND


def test_an_admin_reads_of_it_once(market: Market) -> None:
    market.do(recovering(market))
    market.change("operators", market.second.id, roles="auditor")
    assert market.refuse(ReadRecovery("rec_1", market.second.id, "test")).why is Refusal.MISSING_RIGHT
    read = market.do(ReadRecovery("rec_1", market.first.id, "operator 1"))
    assert (read.read_by, read.read_at) == (market.first.id, market.now)
    assert (market.audit[-1].actor, market.audit[-1].action) == ("operator 1", "recovery.read")
    count = len(market.audit)
    assert market.do(ReadRecovery("rec_1", market.first.id, "operator 1")) == read
    assert len(market.audit) == count
