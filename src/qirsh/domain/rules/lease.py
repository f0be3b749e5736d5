"""A process takes a role, keeps it, or leaves it to the one who has it."""

from qirsh.domain.command import HoldLease
from qirsh.domain.lease import Lease
from qirsh.domain.state import Needs, State


def hold_needs(command: HoldLease, _state: State, needs: Needs) -> None:
    needs.leases.add(command.role)


def hold(command: HoldLease, state: State) -> bool:
    lease = state.leases.get(command.role)
    if lease is not None and lease.holder != command.holder and state.now < lease.until:
        return False
    state.leases.put(command.role, Lease(command.role, command.holder, state.now + command.for_ms))
    return True
