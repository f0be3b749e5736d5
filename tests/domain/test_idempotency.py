"""Idempotency keys: how long an answer is kept, and what tells two requests apart."""

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.idempotency import StoredResponse, fingerprint, is_expired
from qirsh.domain.limits import IDEMPOTENCY_KEPT_MS
from tests.each import each

methods = st.sampled_from([b"POST", b"DELETE"])
paths = st.text("abc/0123", min_size=1, max_size=8).map(str.encode)
requests = st.tuples(methods, paths, st.binary(max_size=20))


@each(
    ("age", "forgotten"),
    [
        (0, False),
        (-1000, False),
        (29 * 24 * 3600 * 1000, False),
        (IDEMPOTENCY_KEPT_MS - 1, False),
        (IDEMPOTENCY_KEPT_MS, True),
        (IDEMPOTENCY_KEPT_MS + 1, True),
    ],
)
def test_an_answer_is_kept_for_thirty_days(age: int, forgotten: bool) -> None:  # noqa: FBT001
    assert IDEMPOTENCY_KEPT_MS == 30 * 24 * 3600 * 1000
    assert is_expired(StoredResponse(1, "key", b"f", 201, b"{}", 5_000_000), 5_000_000 + age) is forgotten


@given(requests, requests)
def test_two_requests_have_one_fingerprint_only_if_they_are_the_same(
    one: tuple[bytes, bytes, bytes], other: tuple[bytes, bytes, bytes]
) -> None:
    assert (fingerprint(b"secret", *one) == fingerprint(b"secret", *other)) == (one == other)


@given(requests)
def test_without_the_secret_nobody_can_tell_which_request_it_was(request: tuple[bytes, bytes, bytes]) -> None:
    assert fingerprint(b"secret", *request) != fingerprint(b"another", *request)


def test_what_is_percent_encoded_in_a_path_is_not_taken_for_a_format() -> None:
    assert fingerprint(b"secret", b"POST", b"/%b%s%d", b"%") != fingerprint(b"secret", b"POST", b"/%b%s", b"%d%")
