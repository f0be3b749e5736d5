"""A line between the service and its database that breaks when it is told to."""

import asyncio
import contextlib
import threading
from typing import Final, Literal, Self

_COMMIT: Final = b"Q\0\0\0\x0bCOMMIT\0"  # As the wire protocol has it.


class LineToDatabase:
    """Passes on what it reads, in both directions. Entered, it is the address to use instead of the database's."""

    def __init__(self, url: str) -> None:
        place, self.database = url.rsplit("@", 1)[1].split("/")
        self._target = place.split(":")
        self._user = url.rsplit("@", 1)[0]
        # At the next COMMIT: before it arrives, while it is done, or after.
        self.cut: Literal["before", "during", "after"] | None = None
        self.cuts = 0
        self.commits = 0  # That were passed on.
        self.was_cut = asyncio.Event()
        self.is_down = False  # Whoever connects is hung up on.
        self.is_down_when_cut = False
        # What is sent vanishes, and nobody is told. A connection that has lost something so stays silent for ever.
        self.is_silent = False
        self.silent_at: bytes | None = None  # So does one that sends these.
        self._server: asyncio.Server
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return f"{self._user}@127.0.0.1:{port}/{self.database}"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.drop_all()

    def drop_all(self) -> None:
        """Both ends of every connection hear of it at once."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.is_down:
                raise ConnectionError
            there_reader, there_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, there_writer}
        silenced = asyncio.Event()
        answers = asyncio.create_task(self._pass(there_reader, writer, silenced))
        try:
            while data := await reader.read(65536):
                if self._is_lost(silenced, data):
                    continue
                if self.cut is not None and data.endswith(_COMMIT):
                    await self._cut(data, there_reader, there_writer, answers)
                    self.is_down = self.is_down or self.is_down_when_cut
                    self.was_cut.set()
                    break
                self.commits += data.endswith(_COMMIT)
                there_writer.write(data)
        except ConnectionError:
            pass
        finally:
            answers.cancel()
            for end in (writer, there_writer):
                end.transport.abort()
                self._writers.discard(end)

    async def _cut(
        self, commit: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: asyncio.Task[None]
    ) -> None:
        how, self.cut = self.cut, None
        self.cuts += 1
        if how == "before":
            return
        answers.cancel()
        await asyncio.gather(answers, return_exceptions=True)  # Only one may read.
        writer.write(commit)
        await writer.drain()
        if how == "after":
            assert b"COMMIT" in await reader.read(65536)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silenced: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if not self._is_lost(silenced):
                    writer.write(data)
        if not self._is_lost(silenced):
            writer.transport.abort()

    def _is_lost(self, silenced: asyncio.Event, data: bytes = b"") -> bool:
        if self.is_silent or (self.silent_at is not None and self.silent_at in data):
            silenced.set()
        return silenced.is_set()


class LineBeside:
    """The same in a thread of its own, for services in other processes."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.address = ""
        self._line = LineToDatabase(url)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        self.address = asyncio.run_coroutine_threadsafe(self._line.__aenter__(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def goes_down(self) -> None:
        """Connections break, and new ones are refused."""
        self._line.is_down = True
        self._loop.call_soon_threadsafe(self._line.drop_all)

    def breaks_at_commit(self, how: Literal["before", "during", "after"], *, stays_down: bool = False) -> None:
        """At the next one of anybody; for good, or until whoever has lost it connects again."""
        self._line.is_down_when_cut = stays_down
        self._line.cut = how

    @property
    def breaks(self) -> int:
        """How often it did."""
        return self._line.cuts

    @property
    def commits(self) -> int:
        """How many it has passed on."""
        return self._line.commits

    def falls_silent(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        self._line.is_silent = True

    def comes_back(self) -> None:
        """For new connections."""
        self._line.is_down = self._line.is_silent = False

    async def _close(self) -> None:
        await self._line.__aexit__()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
