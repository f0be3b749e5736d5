"""Finding a moment among things that are numbered without gaps and carry a time, without an index on the time."""

from collections.abc import Awaitable, Callable


async def last_before(moment: int, count: int, time_of: Callable[[int], Awaitable[int]]) -> int:
    """The number of the last of them that came before the moment; 0 if none did. As many looks as the count has bits.

    Whatever the count, it looks at the same numbers: where a clock once went back, the answer is the same each time.
    """
    found = 0
    for bit in reversed(range(count.bit_length())):
        number = found + (1 << bit)
        if number <= count and await time_of(number) < moment:
            found = number
    return found
