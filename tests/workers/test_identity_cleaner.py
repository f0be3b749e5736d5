"""Pictures of documents, unanswered challenges and what is left of erased people go in time, and not before."""

from collections.abc import Iterator

import pytest

from qirsh.domain.challenge import LASTS_MS
from qirsh.domain.commands.identity import ErasePerson, SubmitIdentity
from qirsh.domain.commands.login_credentials import StartChallenge
from qirsh.workers import identity_cleaner
from qirsh.workers.identity_cleaner import IdentityCleaner
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer

DAY_MS = 24 * 3_600_000


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=0, people=0) as held:
        yield held


def cleaned(world: InProcess) -> tuple[int, int]:
    """How many pictures and challenges are left after a look."""
    context = world.context
    world.run(IdentityCleaner(context.store, context.engine, days=30).clean())
    with world.books() as books:
        [(images,)] = books.select("SELECT count(*) FROM identity_image")
        [(challenges,)] = books.select("SELECT count(*) FROM challenge")
    return images, challenges


def shown(world: InProcess) -> str:
    account = world.person(verified=False).account
    with world.books() as books:
        [(person,)] = books.select("SELECT owner FROM account WHERE number = ?", int(account))
    command = SubmitIdentity(person, int(account), b"facts", (("front", b"one"), ("back", b"two")))
    world.run(world.context.engine.submit(command))
    return account


@pytest.mark.both_engines
def test_pictures_go_some_days_after_the_decision_and_the_facts_stay(world: InProcess) -> None:
    accepted, rejected, waiting = shown(world), shown(world), shown(world)
    world.clock.advance(100 * DAY_MS)
    assert cleaned(world) == (6, 0)
    world.act("account verify", account=accepted)
    world.act("identity reject", account=rejected, reason="blurred")
    world.clock.advance(30 * DAY_MS - 1)
    assert cleaned(world) == (6, 0)
    world.clock.advance(1)
    assert cleaned(world) == (2, 0)
    with world.books() as books:
        assert books.select("SELECT count(*) FROM identity") == [(3,)]
        assert books.select("SELECT count(*) FROM audit WHERE action = 'identity.forgotten'") == [(2,)]
        kept = books.select("SELECT a.number FROM identity_image i JOIN account a ON a.owner = i.person")
    assert {str(number) for (number,) in kept} == {waiting}
    assert cleaned(world) == (2, 0)


def test_a_challenge_goes_when_it_is_over_and_its_successor_stays(world: InProcess) -> None:
    def start(email: str, token: bytes) -> None:
        world.run(world.context.engine.submit(StartChallenge("reset", email, None, token * 32, b"", ())))

    start("one@x.example", b"1")
    start("two@x.example", b"2")
    world.clock.advance(LASTS_MS["reset"] - 1)
    assert cleaned(world) == (0, 2)
    start("two@x.example", b"3")
    world.clock.advance(1)
    assert cleaned(world) == (0, 1)
    with world.books() as books:
        assert books.select("SELECT email FROM challenge") == [("two@x.example",)]


def test_what_may_not_go_yet_is_not_looked_at_without_rest(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time may seem over to the one that looks, and not to the one that decides."""

    async def ahead() -> int:
        return world.clock() + DAY_MS

    context = world.context
    world.run(context.engine.submit(StartChallenge("reset", "one@x.example", None, b"1" * 32, b"", ())))
    monkeypatch.setattr(context.store, "now", ahead)
    assert world.run(IdentityCleaner(context.store, context.engine, days=30).clean()) == 0


@pytest.mark.both_engines
def test_sessions_that_an_erased_person_left_behind_go_and_no_others(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity_cleaner, "SESSIONS_FORGOTTEN_AT_ONCE", 3)
    leaver, other = world.person(verified=False), world.person(verified=False)
    with world.books() as books:
        [(person,)] = books.select("SELECT person FROM login WHERE email = ?", leaver.email)
        [(stays,)] = books.select("SELECT person FROM login WHERE email = ?", other.email)

    def sessions() -> dict[int, int]:
        with world.books() as books:
            return dict(books.select("SELECT person, count(*) FROM session GROUP BY person"))

    for _ in range(3):
        world.anew(leaver)
    assert sessions() == {person: 4, stays: 1}
    cleaned(world)
    assert sessions() == {person: 4, stays: 1}
    # As by an erasure that has looked for sessions before the last of them began.
    world.run(world.context.engine.submit(ErasePerson(person, int(leaver.account), leaver.email, (), (), "test")))
    assert sessions() == {person: 4, stays: 1}
    cleaned(world)
    assert sessions() == {person: 1, stays: 1}
    cleaned(world)
    assert sessions() == {stays: 1}
    assert world.violations() == []
    with world.books() as books:
        noted = books.select("SELECT count(*) FROM audit WHERE action = 'sessions.forgotten'")
    assert noted == [(2,)]
    cleaned(world)
    assert sessions() == {stays: 1}


def test_notes_about_an_erased_person_go_also_when_they_were_written_at_the_last_moment(world: InProcess) -> None:
    leaver, other = world.person(verified=False), world.person(verified=False)
    with world.books() as books:
        [(person,)] = books.select("SELECT person FROM login WHERE email = ?", leaver.email)
        [(stays,)] = books.select("SELECT person FROM login WHERE email = ?", other.email)
    for about in (person, stays):
        world.act("note add", about="person", id=str(about), text="Left-handed")

    def written() -> list[tuple[str]]:
        with world.books() as books:
            return books.select("SELECT subject FROM note WHERE length(text_sealed) > 0 ORDER BY subject")

    cleaned(world)
    assert written() == [(f"person {about}",) for about in sorted((person, stays), key=str)]
    world.run(world.context.engine.submit(ErasePerson(person, int(leaver.account), leaver.email, (), (), "test")))
    assert len(written()) == 2
    cleaned(world)
    assert written() == [(f"person {stays}",)]
    assert world.violations() == []
