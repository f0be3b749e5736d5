"""People are told of money that came or went: each once, in their language, whatever dies in between."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import pytest

from qirsh.domain import seal
from qirsh.domain.commands.identity import ErasePerson
from qirsh.domain.commands.mail import Notify
from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.commands.person import ChangeProfile
from qirsh.domain.commands.seal import SealEntries
from qirsh.domain.counter import NOTIFIED
from qirsh.domain.limits import NOTICE_LATE_MS
from qirsh.domain.person import Person
from qirsh.domain.refusal import granted
from qirsh.domain.seal import NOTHING
from qirsh.domain.tables import Tables
from qirsh.store.integrity import hash_chain
from qirsh.store.interface import Query
from qirsh.workers import notifier as notifier_module
from qirsh.workers.notifier import Notifier
from qirsh.workers.sealer import Sealer
from tests.live import Customer, InProcess, create, in_process, refund, trial
from tests.mailbox import mails
from tests.postgres import PostgresServer

BASE_URL: Final = "https://pay.example"
_LAST_SEAL: Final = Query("SELECT max(number) FROM seal")
Told = tuple[str, str, str, dict[str, str | int]]


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    """One shop and two customers, of whose deposits everybody has heard already."""
    with in_process(engine, shops=1, people=2) as made:
        made.run(_as_if_told(made))
        yield made


async def _as_if_told(world: InProcess) -> None:
    await sealed(world)
    [(last,)] = await world.context.store.select(_LAST_SEAL)
    assert await world.context.engine.submit(Notify(0, last, ()))


def of(world: InProcess, digest_ms: int = 0) -> Notifier:
    context = world.context
    return Notifier(
        context.store,
        context.engine,
        context.clock,
        keyring=context.keyring,
        entropy=context.entropy,
        identifiers=context.identifiers,
        base_url=BASE_URL,
        digest_ms=digest_ms,
    )


async def sealed(world: InProcess) -> None:
    """All that is there."""
    sealer = Sealer(world.context.store, world.context.engine, world.context.clock)
    await sealer.seal_settled()
    await sealer.seal_settled()


async def tell(world: InProcess) -> None:
    """Until there is nothing more to tell."""
    await sealed(world)
    worker = of(world)
    while await worker.tell():
        pass


def new_letters(world: InProcess) -> list[Told]:
    """About money, since the world was settled. They lie in no order within a commit."""
    told = [(one.to, one.language, one.kind, one.words) for one in mails(world) if "amount" in one.words]
    return sorted(told, key=str)


def kinds(world: InProcess) -> list[str]:
    return sorted(kind for _, _, kind, _ in new_letters(world))


def wish(world: InProcess, who: Customer, language: str, *, has_notices: bool) -> int:
    """The person's id."""

    async def wished() -> int:
        login = await world.context.store.find(Tables.logins, who.email)
        assert login is not None
        await world.context.engine.submit(ChangeProfile(login.person, "", language, has_notices=has_notices))
        return login.person

    return world.run(wished())


@pytest.mark.both_engines
def test_the_payer_hears_of_paying_and_of_what_comes_back_in_their_language(world: InProcess) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    wish(world, customer, "ar", has_notices=True)
    world.clock.advance(1)
    at = {"at": world.now_ms()}
    payment = world.paid(merchant, customer, amount=10098, currency="SYP", note="n")
    world.data(refund(merchant.key, payment, amount=98))
    world.deposit(customer.account, 500, "EUR")
    world.withdraw(customer.account, 300, "EUR")
    # Told later, they still name the moment when the money moved.
    world.clock.advance(60_000)
    world.run(tell(world))
    told = {kind: (to, language, words) for to, language, kind, words in new_letters(world)}
    assert len(new_letters(world)) == 4
    address = f"{BASE_URL}/pay/{payment}"
    payee = {"payee": "Shop", "payment": payment, "receipt_url": address}
    assert told["paid"] == (customer.email, "ar", {"amount": 10098, "currency": "SYP", **at, **payee})
    assert told["refunded"] == (customer.email, "ar", {"amount": 98, "currency": "SYP", **at, **payee})
    assert told["deposited"] == (customer.email, "ar", {"amount": 500, "currency": "EUR", **at})
    assert told["payout_paid"][2].items() >= {"amount": 300, "currency": "EUR"}.items()


def test_whose_balance_is_reversed_or_corrected_hears_which_way_it_went(world: InProcess) -> None:
    customer = world.customers[0]
    wish(world, customer, "tr", has_notices=True)
    world.clock.advance(1)
    slip: dict[str, Any] = {"account": customer.account, "currency": "USD", "amount": "5.00"}
    world.agree("deposit ask", **slip, reference="came")
    world.agree("withdraw ask", **slip, reference="went")
    world.agree("reverse ask", reverses="went", reference="came back")
    world.agree("reverse ask", reverses="came", reference="went back")
    world.agree("adjust ask", **slip, direction="add", reference="one")
    world.agree("adjust ask", **slip, direction="take", reference="two")
    world.run(tell(world))
    told = {kind: words["reference"] for _, _, kind, words in new_letters(world) if kind != "deposited"}
    assert told == {
        "payout_paid": "went",
        "payout_returned": "came back",
        "deposit_reversed": "went back",
        "correction_added": "one",
        "correction_taken": "two",
    }


def test_refunds_that_come_one_after_the_other_are_told_in_one_letter(world: InProcess) -> None:
    [merchant], [customer, other] = world.merchants, world.customers
    first, second = (world.paid(merchant, customer, amount=100) for _ in range(2))
    theirs = world.paid(merchant, other, amount=100)
    world.run(tell(world))
    assert kinds(world) == ["paid", "paid", "paid"]
    worker = of(world, digest_ms=15_000)
    for payment in (first, second, first):
        world.clock.advance(2000)
        world.data(refund(merchant.key, payment, amount=7))
        world.run(sealed(world))
        assert world.run(worker.tell()) is False
    world.data(refund(merchant.key, theirs, amount=5))
    last_at = world.now_ms()
    world.run(sealed(world))
    world.run(worker.tell())
    assert kinds(world) == ["paid", "paid", "paid"]
    world.clock.advance(11_000)  # Since the first of them.
    world.run(worker.tell())
    assert kinds(world) == ["paid", "paid", "paid", "refunded", "refunded_several"]
    [(to, words)] = [(to, words) for to, _, kind, words in new_letters(world) if kind == "refunded_several"]
    assert (to, words) == (
        customer.email,
        {
            "amount": 21,
            "currency": "USD",
            "at": last_at,
            "payee": "Shop",
            "count": 3,
            "history_url": f"{BASE_URL}/wallet/history",
        },
    )


def test_whoever_paid_hears_it_at_once_while_no_refund_waits(world: InProcess) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    world.paid(merchant, customer, amount=100)
    world.run(sealed(world))
    world.run(of(world, digest_ms=15_000).tell())
    assert kinds(world) == ["paid"]


def test_who_does_not_want_letters_and_tests_and_shops_get_none(world: InProcess) -> None:
    [merchant], [quiet, loud] = world.merchants, world.customers
    wish(world, quiet, "en", has_notices=False)
    world.clock.advance(1)
    world.paid(merchant, quiet)
    world.data(trial(merchant.test_key, "pay", world.data(create(merchant.test_key))["id"]))
    world.deposit(merchant.account, 500)
    world.run(tell(world))
    assert new_letters(world) == []
    world.paid(merchant, loud)
    world.run(tell(world))
    assert [told[0] for told in new_letters(world)] == [loud.email]


@pytest.mark.both_engines
def test_a_payout_is_told_once_by_the_commit_that_pays_it(world: InProcess) -> None:
    customer = world.customers[0]
    world.change(has_mail=True)
    person = wish(world, customer, "tr", has_notices=True)
    macs = world.context.keyring.pin_macs(person, customer.pin)
    world.clock.advance(1)
    ask = RequestPayout("po_1", int(customer.account), person, "USD", 700, b"sealed", macs)
    assert granted(world.run(world.context.engine.submit(ask))).state == "asked"
    world.act("payout order", id="po_1", reference="ft 1")
    world.act("withdraw confirm", operator=1, reference="ft 1")
    world.run(tell(world))
    told = [(to, language, kind) for to, language, kind, _ in new_letters(world)]
    assert told == [(customer.email, "tr", "payout_paid")]


@pytest.mark.both_engines
def test_nobody_is_told_twice_or_never_whoever_looks_and_how_often(world: InProcess) -> None:
    [merchant], customers = world.merchants, world.customers
    for number in range(6):
        world.clock.advance(1)
        for customer in customers:
            world.paid(merchant, customer, amount=number + 1)
        world.run(sealed(world))

        async def several() -> None:
            await asyncio.gather(*(of(world).tell() for _ in range(3)))

        world.run(several())
    world.run(tell(world))
    amounts = sorted(words["amount"] for _, _, _, words in new_letters(world))
    assert amounts == sorted([1, 2, 3, 4, 5, 6] * 2)


def test_one_that_dies_between_reading_and_committing_has_told_nothing_and_the_next_tells_all(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    world.clock.advance(1)
    world.paid(merchant, customer)
    world.run(sealed(world))
    engine = world.context.engine
    submit = type(engine).submit

    async def dies(self: Any, command: Any, **more: Any) -> Any:  # noqa: ANN401 - as the engine has it
        if isinstance(command, Notify):
            assert command.letters
            raise asyncio.CancelledError
        return await submit(self, command, **more)

    monkeypatch.setattr(type(engine), "submit", dies)
    with pytest.raises(asyncio.CancelledError):
        world.run(_told_of_what_is_sealed(world))
    monkeypatch.undo()
    assert new_letters(world) == []
    world.run(tell(world))
    world.run(tell(world))
    assert kinds(world) == ["paid"]


def test_one_that_is_behind_writes_nothing(world: InProcess) -> None:
    [merchant], [customer, _] = world.merchants, world.customers
    counter = world.run(world.context.store.find(Tables.counters, NOTIFIED))
    assert counter is not None
    world.clock.advance(1)
    world.paid(merchant, customer)
    world.run(tell(world))
    late = world.run(world.context.engine.submit(Notify(counter.last, counter.last + 1, ())))
    assert late is False
    assert kinds(world) == ["paid"]


def test_a_transfer_that_comes_late_into_a_gap_is_told_by_the_seal_that_covers_it(world: InProcess) -> None:
    """The gap is made by sealing as if two rows were not there yet, as when their transaction commits late."""
    [merchant], [customer, _] = world.merchants, world.customers
    world.run(sealed(world))
    first = _top(world) + 1
    for amount in (1, 2, 3, 4, 5):
        world.clock.advance(1)
        world.paid(merchant, customer, amount=amount)
    world.run(_sealed_without(world, first, missing=(first + 1, first + 3)))
    world.run(_told_of_what_is_sealed(world))
    assert sorted(words["amount"] for _, _, _, words in new_letters(world)) == [1, 3, 5]
    world.run(tell(world))
    assert sorted(words["amount"] for _, _, _, words in new_letters(world)) == [1, 2, 3, 4, 5]


def _top(world: InProcess) -> int:
    [(_, top, _)] = world.run(world.context.store.select(hash_chain.TOPS))
    assert isinstance(top, int)
    return top


async def _told_of_what_is_sealed(world: InProcess) -> None:
    while await of(world).tell():
        pass


async def _sealed_without(world: InProcess, first: int, *, missing: tuple[int, ...]) -> None:
    store, engine = world.context.store, world.context.engine
    pieces = []
    for one in range(first, first + 5):
        if one not in missing:
            pieces += await store.search(hash_chain.pieces_query(hash_chain.TRANSFERS), one, one)
    [last] = (await store.search(hash_chain.SEALS_BACKWARDS, 2**62))[:1]
    audit_first = await _audit_next(world)
    covers = (
        hash_chain.cover(hash_chain.AUDIT_ENTRIES, first=audit_first, late=[], pieces=[]),
        hash_chain.cover(hash_chain.TRANSFERS, first=first, late=[], pieces=pieces),
    )
    assert covers[1].missing == tuple((one, one) for one in missing)
    assert last[3] != NOTHING
    assert await engine.submit(SealEntries(last[0] + 1, last[3], covers)) is not None


async def _audit_next(world: InProcess) -> int:
    [last] = (await world.context.store.search(hash_chain.SEALS_BACKWARDS, 2**62))[:1]
    found = seal.read(last[2])
    assert found is not None
    return next(cover.last + 1 for cover in found.covers if cover.table == "audit")


def test_what_is_sealed_a_day_late_is_no_news(world: InProcess) -> None:
    customer = world.customers[0]
    world.clock.advance(1)
    world.deposit(customer.account, 1)
    world.clock.advance(NOTICE_LATE_MS)
    world.deposit(customer.account, 2)
    world.clock.advance(1)
    world.run(tell(world))
    assert [words["amount"] for _, _, _, words in new_letters(world)] == [2]


def test_what_is_older_than_a_day_is_stepped_over_at_once(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    person = world.person(verified=True)
    monkeypatch.setattr(notifier_module, "NOTICE_SEALS_AT_ONCE", 2)
    for _ in range(9):
        world.clock.advance(1000)
        world.deposit(person.account, 1)
        world.run(sealed(world))
    world.clock.advance(NOTICE_LATE_MS + 1)
    world.deposit(person.account, 77)
    world.run(sealed(world))
    worker = of(world)
    looks = 0
    while world.run(worker.tell()):
        looks += 1
    assert looks <= 3
    assert [words["amount"] for _, _, _, words in new_letters(world)] == [77]


def test_many_letters_are_written_in_several_commits(world: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier_module, "NOTICES_AT_ONCE", 2)
    person = world.person(verified=True)
    for amount in range(1, 6):
        world.clock.advance(1)
        world.deposit(person.account, amount)
        world.run(sealed(world))
    worker = of(world)
    assert world.run(worker.tell())
    assert len(new_letters(world)) == 2
    world.run(tell(world))
    assert [words["amount"] for _, _, _, words in new_letters(world)] == [1, 2, 3, 4, 5]


def test_who_was_forgotten_is_not_written_to(world: InProcess) -> None:
    person = world.person(verified=True)
    world.clock.advance(1)
    world.deposit(person.account, 5)
    world.withdraw(person.account, 5)

    async def erased() -> object:
        login = await world.context.store.find(Tables.logins, person.email)
        assert login is not None
        command = ErasePerson(login.person, int(person.account), person.email, (), (), "test")
        return await world.context.engine.submit(command)

    assert type(world.run(erased())) is Person
    world.run(tell(world))
    assert new_letters(world) == []
