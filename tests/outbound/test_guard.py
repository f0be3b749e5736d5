"""The guard: all addresses of a name or none, just those to dial, and name servers that hang."""

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Final

import pytest

from qirsh.domain.limits import LOOKUPS_WAITING_MAX
from qirsh.outbound.guard import CheckedAddress, Guard, resolve_name
from qirsh.outbound.target import Target, read_target
from tests.waiting import NEVER_S, until

OWN = (IPv4Network("10.0.0.0/8"), IPv6Network("fd00::/8"))
PUBLIC = "93.184.215.14"


def target_of(url: str) -> Target:
    target = read_target(url, networks=OWN)
    assert isinstance(target, Target), target
    return target


SHOP = target_of("https://shop.example/")


class NameServer:
    """What a name leads to, and a gate for each name that shall hang."""

    def __init__(self, **names: list[str]) -> None:
        self.names = {name.replace("_", "."): found for name, found in names.items()}
        self.asked: list[str] = []
        self.gates: dict[str, threading.Event] = {}

    def __call__(self, name: str) -> list[str]:
        self.asked.append(name)
        if name in self.gates:
            self.gates[name].wait()
        if name not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return self.names[name]

    def hang(self, name: str) -> None:
        self.gates[name] = threading.Event()

    def let_go(self) -> None:
        for gate in self.gates.values():
            gate.set()


@pytest.fixture
def names() -> Iterator[NameServer]:
    server = NameServer(shop_example=[PUBLIC])
    yield server
    server.let_go()
    for thread in threads():
        thread.join()


async def until_found(guard: Guard) -> None:
    """However short its time: on a busy machine a thread may need more than one try."""
    while not await guard.addresses(SHOP):  # noqa: ASYNC110 - the same
        await asyncio.sleep(0)


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "qirsh-lookup"]


def run(play: Coroutine[Any, Any, None]) -> None:
    asyncio.run(play)


DIALLED: Final[tuple[tuple[str, list[str], list[str]], ...]] = (
    ("https://shop.example/", [PUBLIC, "2606:4700::1111"], [PUBLIC, "2606:4700::1111"]),
    ("https://shop.example/", [PUBLIC, PUBLIC], [PUBLIC]),
    ("https://shop.example/", [PUBLIC, "127.0.0.1"], []),
    ("https://shop.example/", ["2606:4700::1111", "::1"], []),
    ("https://shop.example/", ["::ffff:10.0.0.1"], []),
    ("https://shop.example/", ["169.254.169.254"], []),
    ("https://shop.example/", ["2606:4700::1111%2"], []),
    ("https://shop.example/", ["nonsense"], []),
    ("https://shop.example/", [], []),
    ("https://shop.example/", ["10.0.0.1", PUBLIC], ["10.0.0.1", PUBLIC]),
    ("http://shop.example/", ["10.0.0.1", "fd00::1"], ["10.0.0.1", "fd00::1"]),
    ("http://shop.example/", [PUBLIC], []),
    ("http://shop.example/", ["10.0.0.1", PUBLIC], []),
    ("https://shop.example:9000/", [PUBLIC], []),
    ("https://shop.example:9000/", ["10.0.0.1"], ["10.0.0.1"]),
)


def test_all_addresses_of_a_name_may_be_dialled_or_none(subtests: pytest.Subtests) -> None:
    async def play(url: str, found: list[str], dialled: list[str]) -> None:
        guard = Guard(networks=OWN, resolve=NameServer(shop_example=found), lookup_s=NEVER_S)
        assert [address.text for address in await guard.addresses(target_of(url))] == dialled

    for url, found, dialled in DIALLED:
        with subtests.test(f"{url} {found}"):
            run(play(url, found, dialled))


def test_without_networks_of_the_operator_no_inner_address_is_dialled() -> None:
    async def play() -> None:
        guard = Guard(resolve=NameServer(shop_example=["10.0.0.1"]), lookup_s=NEVER_S)
        assert await guard.addresses(SHOP) == ()
        # A target that was read when the network was still open.
        assert await guard.addresses(target_of("http://10.0.0.1/")) == ()

    run(play())


def test_an_address_as_host_is_checked_and_never_looked_up(names: NameServer) -> None:
    async def play() -> None:
        guard = Guard(networks=OWN, resolve=names, lookup_s=NEVER_S)
        assert await guard.addresses(target_of("https://8.8.8.8/")) == (CheckedAddress("8.8.8.8", socket.AF_INET),)
        assert await guard.addresses(target_of("https://[fd00::1]/")) == (CheckedAddress("fd00::1", socket.AF_INET6),)
        assert names.asked == []

    run(play())


def test_an_unknown_name_and_an_inner_one_cannot_be_told_apart(names: NameServer) -> None:
    async def play() -> None:
        guard = Guard(resolve=names, lookup_s=NEVER_S)
        names.names["inner.example"] = ["10.0.0.1"]
        inner, unknown = target_of("https://inner.example/"), target_of("https://unknown.example/")
        assert await guard.addresses(inner) == await guard.addresses(unknown) == ()

    run(play())


def test_a_name_is_looked_up_once_for_all_who_ask_and_kept_for_a_while(names: NameServer) -> None:
    async def play() -> None:
        guard = Guard(resolve=names, kept_s=NEVER_S, lookup_s=NEVER_S)
        names.hang("shop.example")
        tries = [asyncio.create_task(guard.addresses(SHOP)) for _ in range(10)]
        await until(lambda: names.asked == ["shop.example"])
        tries.pop().cancel()  # One who goes away takes nothing from the others.
        names.let_go()
        assert {len(found) for found in await asyncio.gather(*tries)} == {1}
        names.names["shop.example"] = ["127.0.0.1"]
        assert len(await guard.addresses(SHOP)) == 1
        assert names.asked == ["shop.example"]

    run(play())


def test_what_was_found_is_forgotten_and_checked_again(names: NameServer) -> None:
    async def play() -> None:
        guard = Guard(resolve=names, kept_s=0, lookup_s=NEVER_S)
        assert len(await guard.addresses(SHOP)) == 1
        names.names["shop.example"] = ["127.0.0.1"]
        assert await guard.addresses(SHOP) == ()
        names.names["shop.example"] = [PUBLIC]
        assert len(await guard.addresses(SHOP)) == 1  # A failure is not kept.

    run(play())


def test_what_was_found_for_https_is_not_taken_for_plain_http(names: NameServer) -> None:
    async def play() -> None:
        guard = Guard(networks=OWN, resolve=names, kept_s=NEVER_S, lookup_s=NEVER_S)
        assert len(await guard.addresses(SHOP)) == 1
        assert await guard.addresses(target_of("http://shop.example/")) == ()

    run(play())


def test_a_name_server_that_hangs_delays_nobody_else(names: NameServer) -> None:
    async def play() -> None:
        guard = Guard(resolve=names, lookup_s=0.05, at_once=2, stuck_max=8)
        stuck = [f"stuck{number}.example" for number in range(4)]
        for name in stuck:
            names.hang(name)
        found = await asyncio.gather(*(guard.addresses(target_of(f"https://{name}/")) for name in stuck[:2]))
        assert found == [(), ()]
        await until_found(guard)

    run(play())


def test_a_name_that_hangs_is_not_asked_again_and_threads_stay_bounded(names: NameServer) -> None:
    async def play() -> None:
        guard = Guard(resolve=names, lookup_s=0.02, at_once=2, stuck_max=3)
        targets = [target_of(f"https://stuck{number}.example/") for number in range(20)]
        for target in targets:
            names.hang(target.host)
        for _ in range(3):
            assert await asyncio.gather(*map(guard.addresses, targets)) == [()] * 20
        assert 3 <= len(threads()) <= 4  # At most those that may hang, and who had begun beside the last of them.
        assert len(set(names.asked)) == len(names.asked)
        names.let_go()
        await until(lambda: not threads())
        await until_found(guard)

    run(play())


def test_a_loop_that_ends_before_a_name_server_answers_is_no_fault(names: NameServer) -> None:
    async def play() -> None:
        names.hang("shop.example")
        assert await Guard(resolve=names, lookup_s=0.01).addresses(SHOP) == ()

    run(play())
    [thread] = threads()
    names.let_go()
    thread.join()


def test_a_fault_of_the_resolver_is_logged_and_nobody_waits_for_it(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_name: str) -> list[str]:
        raise LookupError("a fault of ours")

    async def play() -> None:
        assert await Guard(resolve=broken, lookup_s=NEVER_S).addresses(SHOP) == ()

    run(play())
    assert "could not be looked up" in caplog.text


def test_this_machines_own_resolver_is_asked() -> None:
    assert "127.0.0.1" in resolve_name("localhost")


def test_a_machine_without_threads_left_finds_nothing_and_goes_on(
    names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    names.hang("shop.example")
    guard = Guard(networks=OWN, resolve=names, lookup_s=NEVER_S, at_once=1)

    async def play() -> None:
        first = asyncio.create_task(guard.addresses(SHOP))
        await until(lambda: names.asked == ["shop.example"])
        others = [target_of(f"https://shop{number}.example/") for number in range(LOOKUPS_WAITING_MAX)]
        waiting = [asyncio.create_task(guard.addresses(other)) for other in others]
        await asyncio.sleep(0)

        def start(_thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", start)
        names.let_go()
        assert await first != ()
        assert {*await asyncio.gather(*waiting)} == {()}
        monkeypatch.undo()
        names.names["shop0.example"] = [PUBLIC]
        assert await guard.addresses(others[0]) != ()

    run(play())
