"""The chain grows at its end, one link at a time, whoever seals."""

import pytest

from qirsh.domain.commands.seal import SealEntries
from qirsh.domain.seal import NOTHING, Cover, Seal, read
from tests.domain.world import START, World

COVERS = (Cover("audit", 1, 1, 1, (), (), ("ab" * 32,)),)


@pytest.fixture
def world() -> World:
    return World()


def test_the_first_seal_follows_nothing_and_says_when_it_was_made(world: World) -> None:
    made: Seal = world.do(SealEntries(1, NOTHING, COVERS))
    assert world.seals == {1: made}
    link = read(made.content)
    assert link is not None
    assert (made.number, made.at, link.at, link.previous, link.covers) == (1, START, START, NOTHING, COVERS)


def test_the_next_one_names_the_hash_of_the_one_before(world: World) -> None:
    first = world.do(SealEntries(1, NOTHING, COVERS))
    second = world.do(SealEntries(2, first.hash, COVERS))
    link = read(second.content)
    assert link is not None
    assert link.previous == first.hash


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_number_that_is_not_the_next_is_not_sealed(world: World, number: int) -> None:
    first = world.do(SealEntries(1, NOTHING, COVERS))
    assert world.do(SealEntries(number, first.hash, COVERS)) is None
    assert list(world.seals) == [1]


def test_a_seal_on_another_hash_than_the_last_is_not_made(world: World) -> None:
    assert world.do(SealEntries(1, bytes(31) + b"\1", COVERS)) is None
    world.do(SealEntries(1, NOTHING, COVERS))
    assert world.do(SealEntries(2, NOTHING, COVERS)) is None
    assert list(world.seals) == [1]


def test_of_two_who_seal_at_once_one_does(world: World) -> None:
    first, second = world.together(SealEntries(1, NOTHING, COVERS), SealEntries(1, NOTHING, ()))
    assert world.seals == {1: first}
    assert second is None
