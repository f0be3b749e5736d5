"""Randomness that can be repeated, and randomness that cannot."""

from qirsh.engine.entropy import SeededEntropy, system_entropy


def test_the_same_seed_gives_the_same_bytes_and_never_the_same_twice() -> None:
    one, same, other = SeededEntropy(1), SeededEntropy(1), SeededEntropy(2)
    stream = [one(32) for _ in range(100)]
    assert stream == [same(32) for _ in range(100)]
    assert len(set(stream)) == 100
    assert not set(stream) & {other(32) for _ in range(100)}


def test_as_many_bytes_come_as_were_asked_for() -> None:
    assert [len(SeededEntropy(1)(count)) for count in (0, 1, 12, 100)] == [0, 1, 12, 100]
    assert len(system_entropy(32)) == 32


def test_the_systems_randomness_does_not_repeat() -> None:
    assert len({system_entropy(32) for _ in range(1000)}) == 1000
