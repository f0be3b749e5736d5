"""What operators type: why they act, and what they write to owners and to each other."""

import pytest

from qirsh.domain.limits import NOTE_CHARACTERS_MAX
from qirsh.web.html.input_text import message_text
from qirsh.web.operator.action import ActionRefused, reason_of

MARKS = "\u200e\u200f\u061c"


def test_a_reason_is_one_line(subtests: pytest.Subtests) -> None:
    cases: list[str] = ["\n", "\r\n", "\r", "\n\n", " \n\t", "\u2028"]
    for line_break in cases:
        with subtests.test(line_break=line_break):
            assert reason_of({"reason": f" late{line_break}again "}) == "late again"


def test_marks_of_arabic_keyboards_are_no_part_of_a_reason() -> None:
    assert reason_of({"reason": f"{MARKS}شكوى{MARKS} 12{MARKS}"}) == "شكوى 12"
    assert reason_of({"reason": "x" * NOTE_CHARACTERS_MAX + MARKS}) == "x" * NOTE_CHARACTERS_MAX


def test_a_reason_must_say_something_where_it_is_due(subtests: pytest.Subtests) -> None:
    cases: list[object] = ["", " \n ", MARKS, None]
    for nothing in cases:
        with subtests.test(nothing=nothing), pytest.raises(ActionRefused, match=r"^reason: Required\.$"):
            reason_of({"reason": nothing})


@pytest.mark.parametrize("default", [None, ""])
def test_a_reason_of_another_type_is_none(default: str | None) -> None:
    with pytest.raises(ActionRefused, match="reason: must be given as text"):
        reason_of({"reason": 7}, default)


def test_a_reason_may_be_left_out_where_it_is_not_due() -> None:
    assert [reason_of(given, default="") for given in ({}, {"reason": ""}, {"reason": MARKS})] == ["", "", ""]


def test_a_reason_that_turns_text_around_or_is_too_long_is_refused(subtests: pytest.Subtests) -> None:
    cases: list[str] = ["\u202eturned", "a\u2066b", "a\x00b", "x" * (NOTE_CHARACTERS_MAX + 1)]
    for text in cases:
        with subtests.test(text=text), pytest.raises(ActionRefused, match="reason: must be printable"):
            reason_of({"reason": text})


def test_messages_and_notes_keep_their_lines_and_lose_the_marks() -> None:
    assert message_text(f"{MARKS}سلم{MARKS}\r\n\r\nشكر{MARKS}", 100) == "سلم\n\nشكر"
    assert message_text(MARKS, 100) == ""
    assert message_text("\u202eturned", 100) is None
