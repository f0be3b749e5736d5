"""What was said first counts."""

from qirsh.domain.commands.constant import FixConstant
from qirsh.domain.constant import Constant
from tests.domain.world import World


def test_the_first_value_counts_for_all_who_ask_later() -> None:
    world = World()
    assert world.do(FixConstant("colour", b"blue")) == b"blue"
    assert world.do(FixConstant("colour", b"red")) == b"blue"
    assert world.constants == {"colour": Constant("colour", b"blue")}


def test_of_two_who_ask_at_once_the_first_counts_for_both() -> None:
    world = World()
    assert world.together(FixConstant("colour", b"red"), FixConstant("colour", b"blue")) == [b"red", b"red"]
