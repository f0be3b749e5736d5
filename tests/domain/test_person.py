"""People: one spelling of each e-mail address, six digits of a PIN, five tries."""

import time

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain.limits import PIN_ATTEMPTS_MAX
from qirsh.domain.person import Pin, attempts_left, is_pin, normal_email
from tests.each import each


@each(
    ("text", "expected"),
    [
        ("a@b", "a@b"),
        ("anna@example.com", "anna@example.com"),
        ("  Anna@Example.COM\n", "anna@example.com"),
        ("anna+shop@example.com", "anna+shop@example.com"),
        ("o'hara@example.com", "o'hara@example.com"),
        ("anna@xn--mgbh0fb.example", "anna@xn--mgbh0fb.example"),
        ("a" * 64 + "@example.com", "a" * 64 + "@example.com"),
        ("a@" + "b" * 252, "a@" + "b" * 252),
    ],
)
def test_an_address_is_kept_under_one_spelling(text: str, expected: str) -> None:
    assert normal_email(text) == expected


@each(
    "text",
    [
        *("", " ", "@", "anna", "anna@", "@example.com", "a@b@c", "a b@example.com", "anna@exa mple.com"),
        *("anna@-example.com", "anna@example.com-", "anna@.example.com", "anna@example.com.", "anna@exam_ple.com"),
        *("anna\x00@example.com", "anna@example.com\x00", "an\r\nna@example.com", "anna@example.com\r\nBcc: x@y.z"),
        *("anna@\u0645\u062a\u062c\u0631.example", "anna@example\u3002com", "an\u2028na@example.com"),
        *("an\u202ena@example.com", "an\u200bna@example.com", "anna\u2066@example.com", "an\u0085na@example.com"),
        *("a" * 65 + "@example.com", "a@" + "b" * 253, "anna@[127.0.0.1]", "anna@example.com, x@y.z"),
    ],
)
def test_what_cannot_be_written_to_is_no_address(text: str) -> None:
    assert normal_email(text) is None


@given(st.text(max_size=30) | st.emails())
def test_the_one_spelling_of_an_address_is_its_own(text: str) -> None:
    email = normal_email(text)
    if email is not None:
        assert normal_email(email) == email
        assert normal_email(f" {email} ") == email


@each("text", ["a" * 50_000 + "@b", "@" * 50_000, "a@" + "b." * 25_000, "a@" + "-" * 50_000])
def test_an_endless_address_costs_nothing(text: str) -> None:
    began = time.thread_time()
    assert normal_email(text) is None
    assert time.thread_time() - began < 0.5


@each("text", ["000000", "123456", "999999"])
def test_a_pin_is_six_digits(text: str) -> None:
    assert is_pin(text)


@each(
    "text",
    [
        *("", "12345", "1234567", "12345a", "12 456", " 12345", "12345\n", "-12345", "+12345", "1234.5", "1e1000"),
        *("\u0661\u0662\u0663\u0664\u0665\u0666", "12345\u0666", "12345\u00b2", "\uff11" * 6, "\x00" * 6, "0x1234"),
    ],
)
def test_anything_else_is_no_pin(text: str) -> None:
    assert not is_pin(text)


@each(("failures", "left"), [(0, 5), (1, 4), (4, 1), (5, 0), (6, 0), (1000, 0)])
def test_five_wrong_tries_lock_a_pin(failures: int, left: int) -> None:
    assert PIN_ATTEMPTS_MAX == 5
    assert attempts_left(Pin(1, b"mac", failures)) == left
