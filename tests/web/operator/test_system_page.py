"""How the service does, in the console: nothing of it is secret, and nothing of it hangs the page."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from qirsh.doctor.doctor_check import Finding
from qirsh.doctor.examination import Examination
from qirsh.domain.commands.lease import HoldLease
from qirsh.domain.limits import LEASE_MS
from qirsh.settings import Settings, read_settings
from qirsh.store.reads.system import standing
from qirsh.web.operator.system_view import system_view
from qirsh.workers.payment_indexer import PaymentIndexer
from qirsh.workers.sealer import Sealer
from qirsh.workers.totaler import Totaler
from tests.live import InProcess, in_process
from tests.postgres import PostgresServer
from tests.waiting import SkippingLoop, wait_until
from tests.web.operator.console import console, operator_with

SYSTEM = "/operator/system"


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        yield held


@pytest.mark.both_engines
def test_the_page_has_versions_settings_queues_and_what_doctor_says(
    world: InProcess, engine: PostgresServer | None
) -> None:
    guest = console(world)
    wait_until(lambda: "Data directory" in guest.read(SYSTEM))  # What doctor says may come with the next look.
    text = guest.read(SYSTEM)
    name = "SQLite 3." if engine is None else "PostgreSQL 1"
    for words in (name, "None recorded", "GiB free", "QIRSH_DATA_DIR", "Data directory", "E-mails to be sent"):
        assert words in text, words
    secret = world.settings.secret_file
    if secret.exists():
        assert secret.read_text().strip() not in guest.page
    if engine is not None:
        assert "password" not in world.context.installation.settings["QIRSH_DATABASE_URL"]


def test_it_is_for_those_who_may_see_it(world: InProcess) -> None:
    guest = console(world, operator_with(world, "compliance"))
    assert guest.open(SYSTEM).status_code == 403


def behind(world: InProcess) -> dict[str, int]:
    context = world.context
    stands = world.run(standing(context.store, context.installation.engine, has_mail=True))
    return {one.worker: one.count for one in stands.waiting}


@pytest.mark.both_engines
def test_what_waits_for_each_worker_is_counted_until_it_is_done(world: InProcess) -> None:
    context = world.context

    async def seal() -> None:
        await Sealer(context.store, context.engine, context.clock).seal_all()

    async def settle() -> None:
        await seal()
        indexer, totaler = PaymentIndexer(context.store, context.engine), Totaler(context.store, context.engine)
        while await indexer.look():
            pass
        while await totaler.count():
            pass

    world.run(settle())
    assert (behind(world)["payment indexer"], behind(world)["totaler"]) == (0, 0)
    view = world.run(system_view(context))
    [unsealed] = [one for one in view.waiting if one.worker == "sealer"]
    assert (unsealed.count, unsealed.oldest_at) == (0, None)
    world.paid(world.merchants[0], world.customers[0])
    view = world.run(system_view(context))
    [unsealed] = [one for one in view.waiting if one.worker == "sealer"]
    assert (unsealed.count, unsealed.oldest_at) == (1, world.now_ms())
    assert behind(world)["payment indexer"] == 1
    world.run(seal())
    assert behind(world)["totaler"] == 1
    world.run(settle())
    assert (behind(world)["payment indexer"], behind(world)["totaler"]) == (0, 0)


def test_of_payments_the_index_waits_for_those_of_every_process(postgres: PostgresServer) -> None:
    with in_process(postgres) as world:
        before = behind(world)["payment indexer"]
        with InProcess(world.settings, world.clock) as another:  # It gives out numbers of a block of its own.
            for one in (world, another, world, another):
                one.payment(world.merchants[0])
        assert behind(world)["payment indexer"] == before + 4


def test_nothing_waits_to_be_told_by_mail_where_none_is_sent(world: InProcess) -> None:
    for has_mail in (False, True):
        world.change(has_mail=has_mail)
        view = world.run(system_view(world.context))
        assert ("notifier" in {one.worker for one in view.waiting}) == has_mail


def test_of_mail_the_page_tells_the_setting_and_not_that_it_is_sent(world: InProcess) -> None:
    guest = console(world)
    assert "Is not sent: no server is set" in guest.read("/operator/system")
    world.change(has_mail=True)
    assert "A mail server is set" in guest.read("/operator/system")
    assert "Is sent" not in guest.text


def test_roles_stand_beside_the_process_that_plays_them(postgres: PostgresServer) -> None:
    with in_process(postgres, shops=0, people=0) as world:
        own = world.context.store.name
        for role, holder, for_ms in (("sealer", own, LEASE_MS), ("totaler", "another", LEASE_MS), ("sweeper", own, 0)):
            world.run(world.context.engine.submit(HoldLease(role, holder, for_ms)))
        view = world.run(system_view(world.context))
        found = {process.name: (process.is_this, process.roles) for process in view.processes}
        assert found == {own: (True, ["sealer"]), "another": (False, ["totaler"])}
        assert view.vacant == ["sweeper"]
        text = console(world).read(SYSTEM)  # It is half a minute later.
        assert "Nobody plays at this moment: sealer, sweeper, totaler" in text


def settings(folder: Path) -> Settings:
    return read_settings({"QIRSH_DATA_DIR": str(folder)})


def test_an_examination_that_takes_too_long_is_waited_for_no_longer_and_made_once(tmp_path: Path) -> None:
    begun: list[Settings] = []
    goes_on = threading.Event()

    def slow(of: Settings) -> dict[str, Finding]:
        begun.append(of)
        goes_on.wait()
        return {"Clock": Finding("ok", "plausible")}

    loop = SkippingLoop()

    async def scene() -> None:
        examination = Examination(settings(tmp_path), examine=slow, seconds_max=600)
        asked = [asyncio.create_task(examination.findings()) for _ in range(2)]
        await asyncio.sleep(0)  # Both wait now.
        loop.skip(600)
        assert await asyncio.gather(*asked) == [None, None]
        later = asyncio.create_task(examination.findings())
        await asyncio.sleep(0)
        goes_on.set()
        found = await later
        assert found is not None
        assert [tuple(one) for one in found] == [("Clock", "ok", "plausible")]
        assert len(begun) == 1

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(scene())


def test_an_examination_that_fails_is_told_of_and_tried_again(tmp_path: Path) -> None:
    def bad(_settings: Settings) -> dict[str, Finding]:
        raise RuntimeError("a check has a fault")

    async def scene() -> None:
        examination = Examination(settings(tmp_path), examine=bad)
        found = await examination.findings()
        assert found is not None
        assert [tuple(one) for one in found] == [("Doctor", "bad", "RuntimeError('a check has a fault')")]

    asyncio.run(scene())
