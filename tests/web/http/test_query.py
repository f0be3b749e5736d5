"""Parameters of queries are the texts that were sent, and nothing else."""

import pytest

from qirsh.web.api.parameters import PaymentParameters
from qirsh.web.http.problems import Problem
from qirsh.web.http.query import read
from tests.live import Call, Live, field_errors, refused


def test_the_text_null_is_a_text_and_not_an_absent_parameter() -> None:
    """Otherwise a filter for an order that is called null would list everything."""
    assert read(PaymentParameters, b"reference=null&metadata[cart]=null").reference == "null"
    assert read(PaymentParameters, b"cursor=null").cursor == "null"
    for name in ("status", "currency", "createdAfter"):
        with pytest.raises(Problem) as problem:
            read(PaymentParameters, f"{name}=null".encode())
        assert [error.field for error in problem.value.errors] == [name]


@pytest.mark.parametrize("number", ["0", "101", "-1", "1.0", "1e1", "+1", "", "null", "9" * 4000, "\u0661"])
def test_a_limit_is_a_whole_number_within_its_range(number: str) -> None:
    with pytest.raises(Problem) as problem:
        read(
            PaymentParameters, b"limit=" + number.encode("utf-8").replace(b"\xd9\xa1", b"%D9%A1").replace(b"+", b"%2B")
        )
    assert [error.field for error in problem.value.errors] == ["limit"]
    assert read(PaymentParameters, b"limit=100").limit == 100


@pytest.mark.parametrize("path", ["/api/v1/me", "/api/v1/balance", "/api/v1/currencies"])
def test_a_call_without_parameters_takes_none(world: Live, path: str) -> None:
    answer = world.send(Call("GET", f"{path}?x=1", world.merchants[0].key))
    assert field_errors(answer) == {"x": "unknown_parameter"}
    assert answer.json()["errors"][0]["detail"] == "This call takes no parameters."
    refused(world.send(Call("GET", f"{path}?x=1")), 401, "unauthorized")
