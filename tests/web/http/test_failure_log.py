"""Failed sign-ins leave few entries in the audit log, which say where they came from."""

from qirsh.domain.limits import FAILURES_NOTED_PER_HOUR
from qirsh.web.http.client_address import client_address
from qirsh.web.http.failure_log import FailureLog
from tests.live import InProcess, sign_in

HOUR_MS = 3_600_000
HERE, THERE = (client_address(text, b"", ()) for text in ("192.0.2.1", "2001:db8::7"))


def noted(log: FailureLog, count: int, *, now: int = 0, address: bytes = HERE, subject: str = "person 1") -> list[str]:
    found = (log.note(now, address, subject) for _ in range(count))
    return [detail for detail in found if detail is not None]


def test_the_first_the_tenth_and_the_hundredth_are_written_down() -> None:
    log = FailureLog()
    assert noted(log, 999) == ["from 192.0.2.1", "from 192.0.2.1, 10 in this hour", "from 192.0.2.1, 100 in this hour"]
    assert noted(log, 1, address=THERE) == ["from 2001:db8::/64"]
    assert noted(log, 1, subject="person 2") == ["from 192.0.2.1"]
    assert noted(log, 1, address=b"") == ["from an unknown address"]
    assert noted(log, 1, now=HOUR_MS) == ["from 192.0.2.1"]


def test_an_address_that_tries_everybody_leaves_few() -> None:
    log = FailureLog()
    details = [detail for number in range(1000) for detail in noted(log, 1, subject=f"person {number}")]
    assert len(details) == FAILURES_NOTED_PER_HOUR
    assert "not written down" in details[-1]
    assert noted(log, 1, address=THERE)


def test_the_audit_log_says_who_was_tried_and_from_where(still: InProcess) -> None:
    customer = still.customer()
    with still.books() as books:
        [(owner,)] = books.select("SELECT owner FROM account WHERE number = ?", int(customer.account))
    still.come_from("192.0.2.77")
    for _ in range(12):
        assert still.send(sign_in(customer.email, "not the password")).status_code == 401
    still.come_from("127.0.0.1")
    with still.books() as books:
        rows = books.select(
            "SELECT actor, detail FROM audit WHERE action = 'session.refused' AND subject = ? ORDER BY id",
            f"person {owner}",
        )
    assert rows == [("somebody", "from 192.0.2.77"), ("somebody", "from 192.0.2.77, 10 in this hour")]
