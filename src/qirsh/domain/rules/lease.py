"""A process takes a role, keeps it, or leaves it to the one who has it."""

from typing import Final

from qirsh.domain.commands.lease import HoldLease
from qirsh.domain.lease import Lease
from qirsh.domain.rule import Rule, Rules
from qirsh.domain.unit_of_work import RowKeys, UnitOfWork


def hold_locks(command: HoldLease, _work: UnitOfWork, keys: RowKeys) -> None:
    keys.leases.add(command.role)


def hold(command: HoldLease, work: UnitOfWork) -> bool:
    lease = work.leases.get(command.role)
    if lease is not None and lease.holder != command.holder and work.now < lease.until:
        return False
    work.leases.put(command.role, Lease(command.role, command.holder, work.now + command.for_ms))
    return True


RULES: Final[Rules] = {
    HoldLease: Rule(hold, lock=hold_locks),
}
