"""Payments come first: how many webhooks begin while the process is busy with them, by properties."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.identifier import Identifiers
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.workers.webhook_brake import BUSY, LEAST, LOOK_S, SHARE, Brake
from tests.domain.market import Market

PAYMENT = Market().create()
WANTED = 20_000  # More than any look allows here.


class Clocks:
    """The wall's, and that of the process, which stands still while it waits."""

    def __init__(self) -> None:
        self.wall = 1000.0
        self.worked = 7.0
        self.brake = Brake(wall=lambda: self.wall, worked=lambda: self.worked)

    def pass_by(self, seconds: float, *, busy: float, payments: int) -> None:
        """Up to the next look."""
        self.wall += seconds
        self.worked += seconds * busy
        self.brake.hear(commit(0))
        self.brake.hear(commit(payments // 3))
        self.brake.hear(commit(payments - payments // 3))
        self.brake.look()

    def begun(self, wanted: int = WANTED) -> int:
        """How many tries of so many begin now."""
        for number in range(wanted):
            if not self.brake.has_room:
                return number
            self.brake.take()
        return wanted


def commit(payments: int) -> UnitOfWork:
    """Of these, half are new and half are changed."""
    work = UnitOfWork(now=1, epoch=1, identifiers=Identifiers(bytes(32)), payment_numbers=iter(()))
    for number in range(payments):
        if number % 2:
            work.payments.add(number, PAYMENT)
        else:
            work.payments.changed[number] = PAYMENT
    return work


class Stretch(NamedTuple):
    """What happens between two looks."""

    seconds: float
    busy: float
    payments: int

    @property
    def is_braked(self) -> bool:
        return self.busy > BUSY and self.payments > 0


# Not so near to the limit that it is a matter of rounding. Several threads may take more than a core.
FRACTIONS = st.one_of(st.floats(0, BUSY - 0.01), st.floats(BUSY + 0.01, 2))
STRETCHES = st.builds(Stretch, st.floats(0.001, 3), FRACTIONS, st.integers(0, 300))


def test_before_the_first_look_everything_may_begin() -> None:
    assert Clocks().begun() == WANTED


@given(st.lists(STRETCHES, min_size=1, max_size=20), st.integers(0, 300))
def test_it_holds_only_while_the_process_is_busy_and_payments_are_committed(
    stretches: list[Stretch], first: int
) -> None:
    clocks = Clocks()
    for stretch in stretches:
        clocks.pass_by(stretch.seconds, busy=stretch.busy, payments=stretch.payments)
        if stretch.is_braked:
            # In one go or in several, they are the same room.
            assert clocks.begun(first) + clocks.begun() == max(LEAST, int(SHARE * stretch.payments))
            assert clocks.begun() == 0
        else:
            assert clocks.begun() == WANTED


def test_what_one_look_left_is_not_saved_for_the_next() -> None:
    clocks = Clocks()
    for _ in range(10):
        clocks.pass_by(LOOK_S, busy=1.0, payments=1000)
    assert clocks.begun() == SHARE * 1000


def test_a_clock_that_stands_still_changes_nothing() -> None:
    clocks = Clocks()
    clocks.pass_by(LOOK_S, busy=1.0, payments=1000)
    assert clocks.begun() == SHARE * 1000
    clocks.brake.look()
    assert clocks.begun() == 0
