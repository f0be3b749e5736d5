"""Rate limits: the bucket, what clients are told of it, who is counted, and that nobody can make others pay."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain import limits
from qirsh.domain.api_key import make_token
from qirsh.engine.clock import ManualClock
from qirsh.settings import BadSetting, read_settings
from qirsh.web.http.rate_limit import Limit, RateLimits, wait_s
from tests.live import (
    BALANCES,
    PAYMENTS,
    Call,
    InProcess,
    create,
    in_process,
    refused,
    retrieve,
    sign_in,
)

S: Final = 1_000_000_000
NOWHERE: Final = Call("GET", "/nowhere")
# RFC 8941, as much of it as is sent: a list of strings with integers as parameters.
_ITEM: Final = r'"[\x20-\x21\x23-\x5b\x5d-\x7e]*"(?:;[a-z*][a-z0-9_.*-]*=-?\d{1,15})*'
_LIST: Final = re.compile(rf"{_ITEM}(?:[ \t]*,[ \t]*{_ITEM})*")

gaps = st.lists(st.integers(0, 3 * S), max_size=60)


def fields(answer: httpx2.Response, name: str) -> dict[str, dict[str, int]]:
    """Policy -> parameters, of a header that is a structured field."""
    text = answer.headers[name]
    assert _LIST.fullmatch(text), text
    items = {}
    for item in re.findall(_ITEM, text):
        policy, *parameters = item.split(";")
        items[policy.strip('"')] = {key: int(value) for key, _, value in (part.partition("=") for part in parameters)}
    return items


def limited(answer: httpx2.Response) -> int:
    """After how many seconds a refused client may call again."""
    refused(answer, 429, "rate_limited")
    wait = int(answer.headers["retry-after"])
    assert wait >= 1
    # The draft: not before the end of the effective window of any policy that is told.
    assert wait >= max(told["t"] for told in fields(answer, "ratelimit").values())
    return wait


def a_limit(clock: Callable[[], int], quota: int, window_s: int, buckets_max: int = 100) -> Limit:
    return Limit("test", quota, window_s, clock, buckets_max)


def told_by(limit: Limit, room: int) -> tuple[int, int]:
    found = re.search(rb";r=(\d+);t=(\d+)\r\n$", limit.headers(room))
    assert found
    return int(found[1]), int(found[2])


def kept(limit: Limit) -> int:
    """How many buckets take memory."""
    return len(limit._full_at)  # noqa: SLF001 - it shows nowhere else


class TestLimit:
    """The bucket alone."""

    @given(quota=st.integers(1, 9), window_s=st.integers(1, 4), gaps=gaps)
    def test_no_window_ever_takes_more_than_a_quota_and_a_full_bucket(
        self, quota: int, window_s: int, gaps: list[int]
    ) -> None:
        clock = ManualClock(0)
        limit = a_limit(clock, quota, window_s)
        taken = []
        for gap in gaps:
            clock.advance(gap)
            taken += [clock.now for _ in range(quota + 1) if limit.take("a") >= 0]
        for begin in taken:
            assert sum(begin <= moment < begin + window_s * S for moment in taken) <= 2 * quota

    @given(quota=st.integers(1, 9), window_s=st.integers(1, 4), gaps=gaps)
    def test_after_a_window_of_silence_exactly_the_quota_is_there(
        self, quota: int, window_s: int, gaps: list[int]
    ) -> None:
        clock = ManualClock(0)
        limit = a_limit(clock, quota, window_s)
        for gap in gaps:
            clock.advance(gap)
            limit.take("a")
        clock.advance(window_s * S)
        assert [limit.take("a") >= 0 for _ in range(quota + 1)] == [True] * quota + [False]

    @given(quota=st.integers(1, 9), window_s=st.integers(1, 60), gaps=gaps)
    def test_what_is_told_is_true(self, quota: int, window_s: int, gaps: list[int]) -> None:
        clock = ManualClock(0)
        limit = a_limit(clock, quota, window_s)
        left, more_in_s = quota, 0
        for gap in gaps:
            clock.advance(gap)
            left, more_in_s = told_by(limit, limit.take("a"))
        for still in reversed(range(left)):
            left, more_in_s = told_by(limit, limit.take("a"))
            assert left == still
        if gaps:
            assert limit.take("a") < 0
            assert told_by(limit, limit.take("a"))[1] <= more_in_s
            clock.advance(more_in_s * S)
            assert limit.take("a") >= 0

    def test_a_refused_call_waits_as_long_as_it_is_told_and_not_a_second_less(self) -> None:
        clock = ManualClock(0)
        limit = a_limit(clock, 2, 60)
        assert [limit.take("a"), limit.take("a")] == [30 * S, 0]
        assert wait_s(limit.take("a")) == 30
        clock.advance(29 * S)
        assert wait_s(limit.take("a")) == 1
        clock.advance(S)
        assert limit.take("a") == 0

    def test_what_is_given_back_can_be_taken_again(self) -> None:
        limit = a_limit(lambda: 0, 1, 60)
        limit.take("a")
        limit.give_back("a")
        limit.give_back("never seen")
        assert [limit.take("a") >= 0, limit.take("a") >= 0] == [True, False]

    def test_a_crowd_takes_no_memory_beyond_the_bound_and_resets_nobody(self) -> None:
        clock = ManualClock(0)
        limit = a_limit(clock, 2, 60, buckets_max=500)
        while limit.take("victim") >= 0:
            pass
        for number in range(20_000):
            limit.take(f"newcomer {number}")
        assert limit.take("victim") < 0
        assert kept(limit) <= 500 + 1024
        # The crowd shares what is left, so it gets little: two calls for each of the shared buckets.
        assert sum(limit.take(f"later {number}") >= 0 for number in range(20_000)) <= 2048
        # Once buckets are full again newcomers have their own.
        clock.advance(60 * S)
        for number in range(1200):
            clock.advance(S)
            limit.take(f"new {number}")
        assert all(limit.knows(f"new {number}") for number in range(1180, 1200))
        assert kept(limit) <= 500 + 1024

    def test_full_buckets_make_room_while_others_are_in_use(self) -> None:
        clock = ManualClock(0)
        limit = a_limit(clock, 60, 60, buckets_max=4)
        for _ in range(60):
            limit.take("busy")
        for number in range(100):
            clock.advance(S)
            limit.take("busy")
            limit.take(f"once {number}")
            assert limit.knows(f"once {number}")
            assert limit.take("busy") < 0
        assert kept(limit) <= 4


@pytest.fixture(scope="module")
def small() -> Iterator[InProcess]:
    with in_process(shops=2, people=2) as world:
        yield world


@pytest.fixture
def time_ns() -> ManualClock:
    return ManualClock(7 * S)


@pytest.fixture
def _few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer than of the product: to use them up takes less work. One comes back within a second all the same."""
    monkeypatch.setattr(limits, "KEY_CALLS_PER_MINUTE", 600)
    monkeypatch.setattr(limits, "ADDRESS_CALLS_PER_MINUTE", 60)


@pytest.fixture
def counted(_few_calls: None, small: InProcess, time_ns: ManualClock) -> InProcess:
    """A small world where nobody has called yet."""
    small.limit(RateLimits(clock=time_ns))
    small.come_from("192.0.2.1")
    small.poll()
    return small


def exhaust(world: InProcess, call: Call, code: int, quota: int) -> httpx2.Response:
    """Call until it is refused; the refusal, after exactly as many calls as the quota allows."""
    for left in reversed(range(quota)):
        answer = world.send(call)
        assert answer.status_code == code, answer.text
        assert min(told["r"] for told in fields(answer, "ratelimit").values()) == left
    return world.send(call)


def test_without_limits_no_answer_tells_of_any() -> None:
    with in_process(shops=1, people=1) as world:
        payment = world.payment(world.merchants[0])
        calls = [retrieve(world.merchants[0].key, payment), NOWHERE, retrieve("wrong", payment), sign_in("a@b.example")]
        for answer in world.together(calls * 100):
            assert answer.status_code != 429
            assert not [name for name in answer.headers if name.startswith("ratelimit")]


def test_a_key_is_told_what_it_has_left_and_then_refused_and_it_comes_back(
    counted: InProcess, time_ns: ManualClock
) -> None:
    shop, other = counted.merchants
    payment = counted.payment(shop)
    first = counted.send(retrieve(shop.key, payment))
    assert fields(first, "ratelimit-policy") == {"key": {"q": limits.KEY_CALLS_PER_MINUTE, "w": 60}}
    assert fields(first, "ratelimit") == {"key": {"r": limits.KEY_CALLS_PER_MINUTE - 2, "t": 1}}
    assert exhaust(counted, retrieve(shop.key, payment), 200, limits.KEY_CALLS_PER_MINUTE - 2).status_code == 429
    # Refused before anything is read: this is no JSON.
    assert limited(counted.send(create(shop.key, b"{"))) == 1
    # Its other key, and the other shop from the same address, are not concerned.
    assert counted.send(create(shop.test_key)).status_code == 201
    assert counted.send(create(other.key)).status_code == 201
    time_ns.advance(S)
    answers = [counted.send(retrieve(shop.key, payment)).status_code for _ in range(11)]
    assert answers == [200] * 10 + [429]


def test_a_session_is_counted_apart_from_keys_and_addresses(counted: InProcess) -> None:
    answer = counted.send(Call("GET", BALANCES, counted.customers[0].token))
    assert fields(answer, "ratelimit-policy") == {"session": {"q": limits.SESSION_CALLS_PER_MINUTE, "w": 60}}
    assert fields(answer, "ratelimit")["session"]["r"] == limits.SESSION_CALLS_PER_MINUTE - 1


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (NOWHERE, 404),
        (Call("DELETE", PAYMENTS), 405),
        (Call("GET", f"{PAYMENTS}/1"), 401),
        (retrieve("qk_live_mistyped", "1"), 401),
        (retrieve(make_token("qk_live", bytes(32)), "1"), 401),
        (Call("GET", BALANCES, make_token("qs", bytes(32))), 401),
    ],
    ids=["unknown path", "method", "no token", "mistyped key", "unknown key", "unknown session"],
)
def test_who_proves_nothing_is_counted_by_address(counted: InProcess, call: Call, code: int) -> None:
    assert counted.send(create(counted.merchants[0].key)).status_code == 201
    told = exhaust(counted, call, code, limits.ADDRESS_CALLS_PER_MINUTE)
    assert limited(told) == 1
    assert fields(told, "ratelimit") == {"address": {"r": 0, "t": 1}}
    assert fields(told, "ratelimit-policy") == {"address": {"q": limits.ADDRESS_CALLS_PER_MINUTE, "w": 60}}
    # Who uses a key is not concerned, nor is anybody elsewhere.
    assert counted.send(create(counted.merchants[0].key)).status_code == 201
    counted.come_from("192.0.2.2")
    assert counted.send(call).status_code == code


def test_a_person_who_is_refused_reads_a_page(counted: InProcess) -> None:
    payment_id = counted.payment(counted.merchants[0])
    told = exhaust(counted, Call("GET", f"/pay/{payment_id}"), 200, limits.ADDRESS_CALLS_PER_MINUTE)
    assert (told.status_code, told.headers["content-type"]) == (429, "text/html; charset=utf-8")
    assert told.headers["retry-after"]


def test_a_key_in_use_is_served_whatever_else_its_address_does(counted: InProcess) -> None:
    shop = counted.merchants[0]
    assert counted.send(create(shop.key)).status_code == 201
    exhaust(counted, NOWHERE, 404, limits.ADDRESS_CALLS_PER_MINUTE)
    issued = counted.act("key issue", account=shop.account)
    counted.act("key revoke", id=issued["id"])
    counted.poll()  # Everybody is forgotten, and has to be looked up again.
    answer = counted.send(create(shop.key))
    assert answer.status_code == 201
    assert set(fields(answer, "ratelimit")) == {"key"}
    # A key that is not known to be one has to wait like anybody.
    limited(counted.send(create(issued["key"])))


def test_a_revoked_key_is_counted_by_address(counted: InProcess) -> None:
    shop = counted.merchants[0]
    issued = counted.act("key issue", account=shop.account)
    assert counted.send(create(issued["key"])).status_code == 201
    counted.act("key revoke", id=issued["id"])
    counted.poll()
    answer = counted.send(create(issued["key"]))
    refused(answer, 401, "unauthorized")
    assert set(fields(answer, "ratelimit")) == {"address"}


def test_a_first_call_with_a_valid_key_costs_its_address_nothing(counted: InProcess) -> None:
    issued = counted.act("key issue", account=counted.merchants[0].account)
    answer = counted.send(create(issued["key"]))
    assert fields(answer, "ratelimit")["key"]["r"] == limits.KEY_CALLS_PER_MINUTE - 1
    assert set(fields(answer, "ratelimit")) == {"key"}
    assert fields(counted.send(NOWHERE), "ratelimit")["address"]["r"] == limits.ADDRESS_CALLS_PER_MINUTE - 1


def test_probes_and_files_of_pages_are_not_counted(counted: InProcess) -> None:
    exhaust(counted, NOWHERE, 404, limits.ADDRESS_CALLS_PER_MINUTE)
    for path in ("/healthz", "/readyz", "/static/nothing.css"):
        answer = counted.send(Call("GET", path))
        assert answer.status_code in {200, 404}
        assert "ratelimit" not in answer.headers


def test_headers_of_a_client_do_not_change_its_address(counted: InProcess) -> None:
    answers = Counter(
        counted.send(
            NOWHERE.with_header("x-forwarded-for", f"198.51.100.{number % 250}")
            .with_header("forwarded", f"for=198.51.100.{number % 250}")
            .with_header("x-real-ip", f"198.51.100.{number % 250}")
        ).status_code
        for number in range(limits.ADDRESS_CALLS_PER_MINUTE + 50)
    )
    assert answers == {404: limits.ADDRESS_CALLS_PER_MINUTE, 429: 50}


@pytest.mark.usefixtures("_few_calls")
def test_behind_a_proxy_the_clients_are_told_apart(small: InProcess) -> None:
    settings = read_settings({"QIRSH_TRUSTED_PROXIES": "10.0.0.0/8, 2001:db8::1"})
    small.limit(RateLimits(proxies=settings.trusted_proxies, clock=lambda: 0))
    small.come_from("10.0.0.1")
    flooding = NOWHERE.with_header("x-forwarded-for", "203.0.113.1")
    exhaust(small, flooding, 404, limits.ADDRESS_CALLS_PER_MINUTE)
    # Whatever the client has put before what the proxy added.
    for before in ("", "1.2.3.4, ", "garbage, 10.0.0.7, ", ", , ", "203.0.113.2, "):
        assert small.send(NOWHERE.with_header("x-forwarded-for", f"{before}203.0.113.1")).status_code == 429
    assert small.send(NOWHERE.with_header("x-forwarded-for", "203.0.113.1, 10.9.9.9")).status_code == 429
    assert small.send(NOWHERE.with_header("x-forwarded-for", "203.0.113.1, 203.0.113.2")).status_code == 404
    # Who is no proxy is not believed.
    small.come_from("203.0.113.1")
    assert small.send(NOWHERE.with_header("x-forwarded-for", "203.0.113.9")).status_code == 429


@pytest.mark.parametrize("text", ["10.0.0.0/33", "proxy.example", "10.0.0.1,", "10.0.0.1/8", "10.0.0.1 10.0.0.2"])
def test_a_wrong_list_of_proxies_stops_the_start(text: str) -> None:
    with pytest.raises(BadSetting, match="QIRSH_TRUSTED_PROXIES: must be addresses or networks"):
        read_settings({"QIRSH_TRUSTED_PROXIES": text})


def test_limits_are_on_unless_they_are_switched_off() -> None:
    assert read_settings({}).has_rate_limits
    assert not read_settings({"QIRSH_RATE_LIMITS": "off"}).has_rate_limits
    with pytest.raises(BadSetting, match="QIRSH_RATE_LIMITS: must be on or off"):
        read_settings({"QIRSH_RATE_LIMITS": "maybe"})


def test_several_processes_share_the_quota(small: InProcess) -> None:
    small.limit(RateLimits(workers=4, clock=lambda: 0))
    answer = small.send(create(small.merchants[0].key))
    assert fields(answer, "ratelimit-policy") == {"key": {"q": limits.KEY_CALLS_PER_MINUTE // 4, "w": 60}}
    small.limit(RateLimits(workers=256, clock=lambda: 0))
    answers = [small.send(sign_in("a@b.example")) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [401, 429]


def guessed(world: InProcess, email: str, source: str) -> list[httpx2.Response]:
    world.come_from(source)
    return world.together([sign_in(email, f"wrong password {number}") for number in range(100)])


def test_of_a_hundred_guesses_at_once_ten_are_looked_at_known_address_or_not(
    counted: InProcess, time_ns: ManualClock
) -> None:
    email = counted.customers[0].email
    seen = []
    for address, source in ((email, "192.0.2.1"), ("nobody@home.example", "192.0.2.2")):
        answers = guessed(counted, address, source)
        assert Counter(answer.status_code for answer in answers) == {401: limits.EMAIL_FAILURES_MAX, 429: 90}
        seen.append([(answer.status_code, fields(answer, "ratelimit")) for answer in answers])
    assert seen[0] == seen[1]
    # From elsewhere, in another spelling and with the right password: it tells nothing either.
    counted.come_from("192.0.2.3")
    told = counted.send(sign_in(f" {email.upper()} "))
    assert limited(told) == limits.EMAIL_FAILURES_S // limits.EMAIL_FAILURES_MAX
    assert counted.send(sign_in(counted.customers[1].email)).status_code == 201
    time_ns.advance(limited(told) * S)
    assert counted.send(sign_in(email)).status_code == 201
    assert counted.send(sign_in(email)).status_code == 201  # A success takes nothing.


def test_sign_ins_from_one_address_are_few_whomever_they_name(counted: InProcess) -> None:
    calls = [sign_in(f"person{number}@elsewhere.example") for number in range(limits.SIGN_INS_PER_MINUTE + 5)]
    answers = [counted.send(call) for call in calls]
    assert [answer.status_code for answer in answers] == [401] * limits.SIGN_INS_PER_MINUTE + [429] * 5
    assert limited(answers[-1]) == 2
    # What is left of the others would tell how often somebody else has tried.
    assert {name for answer in answers for name in fields(answer, "ratelimit-policy")} == {"address"}
    counted.come_from("192.0.2.9")
    assert counted.send(sign_in(counted.customers[0].email)).status_code == 201


def test_an_operator_at_the_desk_is_not_kept_out_by_guesses_from_outside(counted: InProcess) -> None:
    guessed(counted, counted.operators[0].email, "192.0.2.1")
    assert counted.act("key issue", account=counted.merchants[0].account)["key"]
