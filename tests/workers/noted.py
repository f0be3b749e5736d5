"""What a process has noted, and a worker that writes it down behind, whose commands a test may let fail."""

from typing import Any, Generic, TypeVar

from qirsh.domain.command import Command
from tests.live import InProcess

N = TypeVar("N")


class Noted(Generic[N]):
    """All that such a worker asks of an engine, and of those who note."""

    def __init__(self, world: InProcess) -> None:
        self.world = world
        self.noted: list[N] = []
        self.failures: list[Exception] = []
        self.is_lost = False  # Whether a command that fails was carried out all the same.

    def take(self) -> tuple[N, ...]:
        taken, self.noted = tuple(self.noted), []
        return taken

    async def submit(self, command: Command[Any]) -> Any:  # noqa: ANN401 - as the engine has it
        if self.failures and not self.is_lost:
            raise self.failures.pop()
        outcome = await self.world.context.engine.submit(command)
        if self.failures:
            raise self.failures.pop()
        return outcome
