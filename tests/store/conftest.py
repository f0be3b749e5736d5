"""Databases that the store's tests share: made once, copied for each test."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from qirsh.store.integrity.invariant import Violation
from qirsh.store.verify import verify
from tests.postgres import PostgresServer, installations, shared_server
from tests.store.filled import Hand, PostgresHand, SqliteHand, disarmed_on, fill, filled_on, hand_on_a_copy


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed database with something of everything in it. Copy it before you write."""
    path = tmp_path_factory.mktemp("filled") / "qirsh.db"
    fill(path)
    return path


@pytest.fixture
def hand(filled: Path, tmp_path: Path) -> Iterator[SqliteHand]:
    """A stranger with a shell, on a copy of the filled database."""
    with hand_on_a_copy(filled, tmp_path) as hand:
        yield hand


@pytest.fixture(scope="module")
def running() -> PostgresServer:
    """A PostgreSQL server; a file whose tests do what others would feel has its own."""
    return shared_server()


@pytest.fixture(scope="module")
def template(running: PostgresServer) -> str:
    """The name of a filled database; a file may put more into it."""
    return running.create_database(filled_on(running))


@pytest.fixture
def url(running: PostgresServer, template: str) -> Iterator[str]:
    """A copy of it, for this test alone."""
    with running.database(template) as address:
        yield address


class Engine:
    """A filled database of one engine, for hands to spoil copies of."""

    def hand(self, folder: Path) -> AbstractContextManager[Hand]:
        """For statements whose effect the hand itself looks at."""
        raise NotImplementedError

    def kept(self, folder: Path) -> AbstractContextManager[tuple[Hand, Callable[[], list[Violation]]]]:
        """A hand, and what verify says of what it has typed."""
        raise NotImplementedError


class SqliteEngine(Engine):
    def __init__(self, original: Path) -> None:
        self._original = original

    def hand(self, folder: Path) -> AbstractContextManager[Hand]:
        return hand_on_a_copy(self._original, folder)

    @contextmanager
    def kept(self, folder: Path) -> Iterator[tuple[Hand, Callable[[], list[Violation]]]]:
        with hand_on_a_copy(self._original, folder) as hand:
            yield hand, lambda: verify(hand.path, lambda _: None)


class PostgresEngine(Engine):
    def __init__(self, running: PostgresServer) -> None:
        self._server = running
        self.template: Final = filled_on(running)
        # On copies, for one test after the other: to connect takes longer than most of them, and nobody copies a
        # database to which somebody is connected.
        own, disarmed = (running.create_database(of) for of in (self.template, disarmed_on(running)))
        self._hand: Final = PostgresHand(running.url(own), is_kept=False, disarmed=running.url(disarmed))

    @contextmanager
    def hand(self, _folder: Path) -> Iterator[Hand]:
        try:
            yield self._hand
        finally:
            self._hand.take_back()

    def close(self) -> None:
        self._hand.close()

    @contextmanager
    def copy(self) -> Iterator[str]:
        """The address of a copy."""
        with self._server.database(self.template) as url:
            yield url

    @contextmanager
    def kept(self, _folder: Path) -> Iterator[tuple[Hand, Callable[[], list[Violation]]]]:
        with self.copy() as url, closing(PostgresHand(url, is_kept=True)) as hand:
            yield hand, lambda: verify(url, lambda _: None)


@pytest.fixture(scope="session", params=["sqlite", *installations()])
def any_engine(request: pytest.FixtureRequest, filled: Path) -> Iterator[Engine]:
    """Each engine in turn, PostgreSQL in each version that is at hand."""
    if request.param == "sqlite":
        yield SqliteEngine(filled)
        return
    with closing(PostgresEngine(shared_server(request.param))) as made:
        yield made


# That nothing but its guard refuses a row is a test of the tests, and of good rows verify says the same on each engine:
# for each change on SQLite, and on the others in the long run.
ON_SQLITE_FIRST: Final = pytest.mark.parametrize(
    "any_engine",
    ["sqlite", *(pytest.param(name, marks=pytest.mark.slow) for name in installations())],
    indirect=True,
    scope="session",
)


@pytest.fixture
def any_hand(any_engine: Engine, tmp_path: Path) -> Iterator[Hand]:
    """A stranger with a shell, on each engine in turn."""
    with any_engine.hand(tmp_path) as hand:
        yield hand


@pytest.fixture(scope="session")
def postgres_engine() -> Iterator[PostgresEngine]:
    """The newest PostgreSQL, filled."""
    with closing(PostgresEngine(shared_server())) as made:
        yield made


# Rule by rule on one PostgreSQL is enough for each change; other versions have their turn in the long run. Until then
# these hold them to what the rules decide, with batches of everything.
_ON_EVERY_VERSION: Final = frozenset({"test_random_batches.py"})
_HERE: Final = Path(__file__).parent


@pytest.hookimpl(optionalhook=True)
def pytest_before_fork(items: list[pytest.Item]) -> None:
    """Filled databases, on each PostgreSQL that is asked for."""
    asked = [name for name in installations() if any(f"[{name}" in i.name and _HERE in i.path.parents for i in items)]
    for name in asked:
        disarmed_on(shared_server(name))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before those that are slow are left out."""
    for item in items:
        is_of_debian = "debian-" in item.name.partition("[")[2] and _HERE in item.path.parents
        if is_of_debian and item.path.name not in _ON_EVERY_VERSION:
            item.add_marker(pytest.mark.slow)
