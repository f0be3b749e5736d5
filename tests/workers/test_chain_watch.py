"""A database that is set back while it is served is noticed: money stands still, and it is told since when."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import pytest

from qirsh.domain.commands.payment import CreatePayment
from qirsh.engine.batcher import Engine, Overloaded
from qirsh.engine.chain_memory import ChainMemory, SeenHead
from qirsh.engine.clock import ManualClock
from qirsh.store.interface import UnusableDatabase
from qirsh.workers.chain_watch import ChainWatch
from qirsh.workers.sealer import Sealer
from tests.live import Call, InProcess, in_process, pay, refused
from tests.postgres import PostgresServer
from tests.store.filled import FILLED, open_store
from tests.waiting import until
from tests.workers.broken_books import copy_filled

READY: Final = Call("GET", "/readyz")
CUT: Final = "DELETE FROM seal WHERE number = (SELECT max(number) FROM seal)"
NO_STOPS: Final = {
    "sqlite": "CREATE TRIGGER spoiled BEFORE INSERT ON stop BEGIN SELECT RAISE(ABORT, 'spoiled by a test'); END",
    "postgres": "CREATE TRIGGER spoiled BEFORE INSERT ON stop FOR EACH ROW EXECUTE FUNCTION refused('spoiled')",
}
STOPS_AGAIN: Final = {"sqlite": "DROP TRIGGER spoiled", "postgres": "DROP TRIGGER spoiled ON stop"}


class Watched:
    """A world whose chain is looked at when a test says so."""

    def __init__(self, world: InProcess, engine: str) -> None:
        self.world = world
        self.engine = engine
        self.memory = ChainMemory(world.settings.data_dir)
        self.watch = self.another()
        # Made before anything is lost: afterwards nobody makes any.
        self._payments = [world.payment(world.merchants[0]) for _ in range(9)]

    def another(self) -> ChainWatch:
        context = self.world.context
        return ChainWatch(context.store, context.engine, context.clock, self.memory)

    def seal(self) -> None:
        context = self.world.context
        self.world.run(Sealer(context.store, context.engine, context.clock).seal_all())

    def look(self) -> None:
        self.world.run(self.watch.look())
        self.world.poll()

    def seen(self) -> SeenHead:
        [head] = self.memory.heads()
        return head

    def stops(self) -> list[tuple[Any, ...]]:
        with self.world.books() as books:
            return books.select("SELECT id, reason, lifted_at FROM stop ORDER BY id")

    def meddle(self, table: str, sql: str) -> None:
        self.world.database.meddle(table, sql)

    def pay(self) -> str:
        """The code of the answer; empty when it is paid."""
        answer = self.world.send(pay(self.world.customers[0], self._payments.pop()))
        return "" if answer.status_code == 200 else str(refused(answer, 503, "money_stopped")["code"])


@pytest.fixture
def watched(engine: PostgresServer | None) -> Iterator[Watched]:
    with in_process(engine, shops=1, people=1) as world:
        made = Watched(world, "sqlite" if engine is None else "postgres")
        made.seal()
        made.look()
        yield made


@pytest.mark.both_engines
def test_each_look_remembers_how_far_the_chain_goes(watched: Watched) -> None:
    first = watched.seen()
    with watched.world.books() as books:
        [head] = books.select("SELECT number, hash FROM seal ORDER BY number DESC LIMIT 1")
    assert (first.number, bytes.fromhex(first.hash), first.epoch) == (head[0], bytes(head[1]), 0)
    assert watched.pay() == ""
    watched.seal()
    watched.look()
    assert watched.seen().number == first.number + 1
    watched.memory.path.unlink()
    watched.look()
    assert watched.seen().number == first.number + 1


@pytest.mark.both_engines
def test_a_chain_that_is_shorter_than_it_was_stops_money_once_and_says_since_when(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    head = watched.seen()
    watched.meddle("seal", CUT)
    for _ in range(3):
        watched.look()
    reason = (
        f"the database was set back: on 2027-01-15 08:00:00 UTC its chain had seal {head.number},"
        f" and now it ends at seal {head.number - 1}: an older copy was put back, or a failover lost commits"
    )
    [(number, told, lifted_at)] = watched.stops()
    assert (number, told, lifted_at) == (1, reason, None)
    [critical] = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
    assert critical.startswith(f"{told}; money stands still: put the right database back")
    assert watched.pay() == "money_stopped"
    assert watched.world.send(READY).json()["causes"] == [f"money movement is stopped: {told}"]
    assert watched.world.act("ledger show")["stops"][0]["reason"] == told
    assert watched.seen() == head  # What was seen was seen.


def test_a_seal_that_is_another_than_it_was_stops_money(watched: Watched) -> None:
    changed = "UPDATE seal SET hash = " + (
        "x'" + "ab" * 32 + "'" if watched.engine == "sqlite" else "'\\x" + "ab" * 32 + "'"
    )
    watched.meddle("seal", changed)
    watched.look()
    assert "its chain had another seal" in watched.stops()[0][1]
    assert watched.pay() == "money_stopped"


def test_money_stands_still_also_while_the_stop_cannot_be_written(watched: Watched) -> None:
    watched.meddle("stop", NO_STOPS[watched.engine])
    watched.meddle("seal", CUT)
    for _ in range(2):
        with pytest.raises(Exception, match="spoiled"):
            watched.look()
        watched.world.poll()
        assert watched.pay() == "money_stopped"
    assert watched.stops() == []
    [cause] = watched.world.send(READY).json()["causes"]
    assert cause.startswith("money movement is stopped: the database was set back")
    watched.meddle("seal", STOPS_AGAIN[watched.engine])
    watched.look()
    assert len(watched.stops()) == 1


def test_a_stop_of_another_reason_is_followed_by_one_of_this_once_it_is_lifted(watched: Watched) -> None:
    watched.meddle("stop", "INSERT INTO stop (id, at, reason) VALUES (1, 1, 'the books are wrong')")
    watched.meddle("seal", CUT)
    watched.look()
    assert [reason for _, reason, _ in watched.stops()] == ["the books are wrong"]
    watched.meddle("stop", "UPDATE stop SET lifted_at = 2, lifted_by = 'operator 1'")
    watched.world.poll()
    assert watched.pay() == "money_stopped"
    watched.look()
    assert [reason.partition(":")[0] for _, reason, _ in watched.stops()] == [
        "the books are wrong",
        "the database was set back",
    ]


@pytest.mark.both_engines
def test_what_another_process_has_stopped_for_the_same_is_not_stopped_twice(watched: Watched) -> None:
    watched.meddle("seal", CUT)
    watched.look()
    watched.meddle("stop", "UPDATE stop SET lifted_at = 2, lifted_by = 'operator 1'")
    watched.look()
    assert len(watched.stops()) == 1
    assert watched.pay() == "money_stopped"  # Its ids could be given out twice until the epoch is raised.


def test_operators_cannot_lift_the_stop_of_a_database_that_was_set_back(watched: Watched) -> None:
    watched.meddle("seal", CUT)
    watched.look()
    reply = watched.world.run(watched.world.tried("audit lift", {"reason": "we know"}))
    assert reply.code == "move_not_allowed"
    assert "the database was set back" in reply.detail
    assert "`qirsh restored --taken-at TIME`" in reply.detail


def test_a_start_on_a_database_that_was_set_back_is_refused_unless_its_epoch_was_raised(
    postgres: PostgresServer,
) -> None:
    """SQLite, which serves one process, is started by the tests of the program."""
    with in_process(postgres, shops=1, people=1) as world:
        watched = Watched(world, "postgres")
        watched.seal()
        watched.look()
        head = watched.seen()
        watched.meddle("seal", CUT)

        def start() -> None:
            with InProcess(world.settings, world.now_ms):
                pass

        with pytest.raises(UnusableDatabase, match=f"its chain had seal {head.number}, and now it ends at seal"):
            start()
        assert watched.seen() == head
        watched.meddle("constant", "UPDATE constant SET value = '1'::bytea WHERE name = 'epoch'")
        start()
        assert watched.seen().epoch == 1


def test_a_memory_that_cannot_be_read_is_kept_aside_and_begun_anew(caplog: pytest.LogCaptureFixture) -> None:
    with in_process(None, shops=1, people=1) as world:
        watched = Watched(world, "")
        watched.memory.path.write_bytes(b"nonsense")
        watched.seal()
        for _ in range(3):
            watched.look()
        [told] = [record.getMessage() for record in caplog.records if "cannot be read" in record.getMessage()]
        assert "it is kept as chain-head.json.unreadable and begun anew" in told
        assert watched.memory.path_aside.read_bytes() == b"nonsense"
        assert watched.seen().number


def test_a_memory_that_cannot_be_written_is_told_once_and_keeps_nobody_from_paying(
    engine: PostgresServer | None, caplog: pytest.LogCaptureFixture
) -> None:
    with in_process(engine, shops=1, people=1) as world:
        watched = Watched(world, "")
        watched.memory.path.unlink(missing_ok=True)
        in_the_way = watched.memory.path.with_name("chain-head.json.new")
        in_the_way.mkdir()
        watched.seal()
        for _ in range(3):
            watched.look()
            assert watched.pay() == ""
        told = [record.getMessage() for record in caplog.records if "cannot be written" in record.getMessage()]
        assert len(told) == 1
        assert "the next start would not notice that the database was set back" in told[0]
        assert world.send(READY).status_code == 200
        in_the_way.rmdir()
        watched.look()
        assert watched.seen().number >= 1


def test_a_head_that_another_process_of_the_machine_has_seen_counts(watched: Watched) -> None:
    """As after a failover that this process has not noticed: the other was served by more."""
    head = watched.seen()
    watched.memory.keep(SeenHead(head.database, head.epoch, head.number + 5, "ab" * 32, head.seen_at))
    watched.look()
    assert f"its chain had seal {head.number + 5}, and now it ends at seal {head.number}" in watched.stops()[0][1]


def by_hand(path: Path, sql: str) -> None:
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute(sql)


def replaced(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


ENDS: Final[dict[str, Callable[[Path], object]]] = {
    "restored": lambda path: by_hand(path, "UPDATE constant SET value = CAST('2' AS BLOB) WHERE name = 'epoch'"),
    "deleted": Path.unlink,
    "replaced": replaced,
}


@pytest.mark.parametrize("way", ENDS)
def test_a_process_whose_database_was_replaced_takes_nothing_more_and_ends_without_a_commit(
    tmp_path: Path, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, deaths = tmp_path / "qirsh.db", list[str]()

    async def play() -> None:
        store = open_store(path)
        died = asyncio.Event()

        def die() -> None:
            deaths.append(way)
            died.set()

        engine = Engine(store, on_fatal=die)
        engine.start()
        memory = ChainMemory(tmp_path)
        looking = asyncio.create_task(ChainWatch(store, engine, ManualClock(FILLED.now), memory).run())
        await until(memory.path.exists)
        assert deaths == []
        ENDS[way](path)
        await died.wait()
        with pytest.raises(Overloaded):
            await engine.submit(CreatePayment(FILLED.shop, 100, "USD", "late"))
        looking.cancel()
        await engine.close()
        with contextlib.suppress(Exception):
            await store.close()

    copy_filled(path)
    asyncio.run(play())
    assert deaths == [way]
    assert len([record for record in caplog.records if record.levelname == "CRITICAL"]) == 1
