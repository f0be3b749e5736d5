"""A process takes a role, keeps it, or leaves it to the one who has it."""

from typing import Final

from qirsh.domain.commands.lease import HoldLease
from qirsh.domain.lease import Lease
from qirsh.domain.limits import LEASE_MS
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def hold_locks(command: HoldLease, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.leases.add(command.role)


def hold(command: HoldLease, work: UnitOfWork) -> bool:
    assert command.for_ms <= LEASE_MS
    lease = work.leases.get(command.role)
    # One that reaches further ahead than any is given is nobody's: nobody renews it, or the clock was set back.
    if lease is not None and lease.holder != command.holder and work.now < lease.until <= work.now + LEASE_MS:
        return False
    work.leases.put(command.role, Lease(command.role, command.holder, work.now + command.for_ms))
    return True


RULES: Final[Rules] = {
    HoldLease: Rule(hold, lock=hold_locks),
}
