"""Requests are written down once and forgotten, and of each key the latest use counts."""

import pytest

from qirsh.domain.commands.request_log import ForgetRequests, RecordRequests
from qirsh.domain.limits import REQUESTS_AT_ONCE
from qirsh.domain.request_log import KeyUse
from tests.domain.market import Market
from tests.domain.request_cases import logged


@pytest.fixture
def market() -> Market:
    return Market()


def test_a_request_that_is_told_again_is_written_down_once(market: Market) -> None:
    first, second = logged("req_1"), logged("req_2", status=404, code="not_found")
    assert market.do(RecordRequests((first,))) == 1
    assert market.do(RecordRequests((first, second))) == 1
    assert market.logged_requests == {"req_1": first, "req_2": second}


def test_a_use_that_another_process_saw_later_stays(market: Market) -> None:
    for at, address in ((5, "192.0.2.5"), (9, "192.0.2.9"), (7, "192.0.2.7")):
        market.do(RecordRequests((), (KeyUse("key_1", at, address), KeyUse(f"key_{at}", at, ""))))
    assert market.key_uses["key_1"] == KeyUse("key_1", 9, "192.0.2.9")
    assert set(market.key_uses) == {"key_1", "key_5", "key_9", "key_7"}


def test_what_is_forgotten_is_forgotten_once(market: Market) -> None:
    market.do(RecordRequests((logged("req_1"), logged("req_2"))))
    assert market.do(ForgetRequests(("req_1", "req_3"))) == 1
    assert market.do(ForgetRequests(("req_1",))) == 0
    assert set(market.logged_requests) == {"req_2"}


def test_no_command_is_longer_than_pays_can_wait_for(market: Market) -> None:
    ids = tuple(f"req_{number}" for number in range(REQUESTS_AT_ONCE + 1))
    with pytest.raises(AssertionError):
        market.do(RecordRequests(tuple(map(logged, ids))))
    with pytest.raises(AssertionError):
        market.do(ForgetRequests(ids))
