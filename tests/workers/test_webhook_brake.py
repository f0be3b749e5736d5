"""Payments come first: how many webhooks begin while the loop is busy with them, by properties."""

import math
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.identifier import Identifiers
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.workers.webhook_brake import BUSY, DELIVERY_S, LOOK_S, SHARE, Brake
from tests.domain.market import Market

PAYMENT = Market().create()
WANTED = 20_000  # More than fit into any stretch.


class Clocks:
    """The wall's, and that of the loop's thread, which stands still while the loop waits."""

    def __init__(self) -> None:
        self.wall = 1000.0
        self.worked = 7.0
        self.brake = Brake(wall=lambda: self.wall, worked=lambda: self.worked)

    def pass_by(self, seconds: float, *, busy: float, has_payments: bool) -> None:
        """Up to the next look."""
        self.wall += seconds
        self.worked += seconds * busy
        self.brake.hear(commit(has_payments=False))
        if has_payments:
            self.brake.hear(commit(has_payments=True))
            self.brake.hear(commit(has_payments=False))
        self.brake.look()

    def begun(self, wanted: int = WANTED) -> int:
        """How many tries of so many begin now."""
        for number in range(wanted):
            if not self.brake.has_room:
                return number
            self.brake.take()
        return wanted


def commit(*, has_payments: bool) -> UnitOfWork:
    work = UnitOfWork(now=1, epoch=1, identifiers=Identifiers(bytes(32)), payment_numbers=iter(()))
    if has_payments:
        work.payments.add(PAYMENT.number, PAYMENT)
    return work


class Stretch(NamedTuple):
    """What happens between two looks."""

    seconds: float
    busy: float
    has_payments: bool

    @property
    def is_braked(self) -> bool:
        return self.busy > BUSY and self.has_payments


# Not so near to the limit that it is a matter of rounding.
FRACTIONS = st.one_of(st.floats(0, BUSY - 0.01), st.floats(BUSY + 0.01, 1))
STRETCHES = st.builds(Stretch, st.floats(0.001, 3), FRACTIONS, st.booleans())


def test_before_the_first_look_everything_may_begin() -> None:
    assert Clocks().begun() == WANTED


def test_a_quarter_of_a_core_is_some_two_hundred_in_a_look() -> None:
    clocks = Clocks()
    clocks.pass_by(LOOK_S, busy=1.0, has_payments=True)
    assert clocks.begun() == 208


@given(st.lists(STRETCHES, min_size=1, max_size=30))
def test_it_holds_only_while_the_loop_is_busy_and_payments_are_committed(stretches: list[Stretch]) -> None:
    clocks = Clocks()
    for stretch in stretches:
        clocks.pass_by(stretch.seconds, busy=stretch.busy, has_payments=stretch.has_payments)
        begun = clocks.begun()
        if stretch.is_braked:
            assert 1 <= begun <= max(1, SHARE * min(stretch.seconds, 1) / DELIVERY_S)
        else:
            assert begun == WANTED


@given(st.lists(st.floats(DELIVERY_S / SHARE, 3), min_size=1, max_size=50), st.data())
def test_over_a_busy_time_all_tries_fit_their_share(lengths: list[float], data: st.DataObject) -> None:
    clocks = Clocks()
    total = 0
    for seconds in lengths:
        clocks.pass_by(seconds, busy=1.0, has_payments=True)
        # In one go or in several, they are the same room.
        total += clocks.begun(data.draw(st.integers(0, 300))) + clocks.begun()
        assert clocks.begun() == 0
    # What was allowed by the last look has not had its time yet: as much as the stretch before it took.
    assert total * DELIVERY_S <= math.fsum(lengths) * SHARE + DELIVERY_S


def test_what_one_look_left_is_not_saved_for_the_next() -> None:
    clocks = Clocks()
    for _ in range(10):
        clocks.pass_by(LOOK_S, busy=1.0, has_payments=True)
    assert clocks.begun() == 208


def test_a_clock_that_stands_still_changes_nothing() -> None:
    clocks = Clocks()
    clocks.pass_by(LOOK_S, busy=1.0, has_payments=True)
    assert clocks.begun() == 208
    clocks.brake.look()
    assert clocks.begun() == 0
