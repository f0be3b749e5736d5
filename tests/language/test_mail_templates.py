"""Mails in every language: what stands in them, and that nobody's name or reason can pass for words of ours."""

import re
import unicodedata

from qirsh.language.catalog import LANGUAGES
from qirsh.language.local_time import UTC_ZONE
from qirsh.language.mail_kind import Alone
from qirsh.language.mail_templates import KINDS
from qirsh.language.mail_text import compose
from tests.each import each
from tests.language.letters import BASE_URL, EVERY_LETTER

AT = 1_800_000_000_000
FORGED = "Eve\r\nBcc: all@evil.example\n\nClick\u2028http://evil.example/x \u202emoc.evil\u202c\x00 www.evil.example"


def composed(kind: str, language: str = "en", **changes: str | int) -> tuple[str, str]:
    return compose(kind, language, {**EVERY_LETTER[kind], **changes}, at=AT, base_url=BASE_URL, zone=UTC_ZONE)


@each("language", LANGUAGES)
@each("kind", KINDS)
def test_every_mail_is_whole_in_every_language(kind: str, language: str) -> None:
    subject, body = composed(kind, language)
    assert subject
    assert "\n" not in subject
    assert "%" not in subject + body
    assert body.endswith(f"\n{BASE_URL}\n")
    assert not re.search(r"\n{3}|^\s|[ \t]\n|\r", body)
    # What is to be opened or copied stands alone on its line, without a letter that nobody sees.
    lines = body.splitlines()
    for part in KINDS[kind].parts:
        if isinstance(part, Alone) and (part.word == "code" or part.word.endswith("url")):
            assert str({"forgot_url": f"{BASE_URL}/forgot", **EVERY_LETTER[kind]}[part.word]) in lines
    for line in lines:
        if "http" in line:
            assert line.isascii()
            assert " " not in line


def test_the_samples_are_of_every_kind() -> None:
    assert list(EVERY_LETTER) == list(KINDS)


@each(
    "kind",
    [
        *("password_changed", "email_changed", "pin_changed", "second_factor_on", "second_factor_off"),
        *("recovery_renewed", "passkey_added", "passkey_removed", "paid"),
    ],
)
def test_a_mail_about_security_says_when_and_what_to_do_if_it_was_somebody_else(kind: str) -> None:
    _, body = composed(kind)
    assert "15 January 2027, 08:00\u00a0UTC" in body
    assert "If this was not you" in body
    assert f"\n{BASE_URL}/forgot\n" in body or "contact support at once" in body


def test_amounts_are_written_as_the_language_writes_them() -> None:
    for language, digits, name in (
        ("en", "1,234.50", "SYP"),
        ("ar", "1,234.50", "ليرة سورية"),
        ("tr", "1.234,50", "SYP"),
    ):
        subject, body = composed("paid", language, amount=123_450, currency="SYP")
        assert f"{digits}\u00a0{name}" in subject
        assert f"\u2068{digits}\u00a0{name}\u2069" in body


def test_a_code_is_said_to_last_as_long_as_it_does() -> None:
    assert "30 minutes" in composed("sign_up_code")[1]
    assert "10 minutes" in composed("pin_code")[1]


GIVEN = [
    (kind, word)
    for kind, words in EVERY_LETTER.items()
    for word in words
    if word in {"name", "reason", "payee", "reference", "new_email", "payment", "address", "who", "bank"}
]


@each(("kind", "word"), GIVEN)
def test_what_somebody_gave_us_is_one_line_apart_and_neither_link_nor_turned_around(kind: str, word: str) -> None:
    subject, body = composed(kind, **{word: FORGED})
    plain_subject, plain = composed(kind)
    assert body.count("\n") == plain.count("\n")
    [inside] = [found for found in re.findall("\u2068([^\u2069]*)\u2069", body) if "Eve" in found]
    assert inside.startswith("Eve Bcc: all@evil.")
    assert not [letter for letter in inside if unicodedata.category(letter) in {"Cc", "Cf", "Zl", "Zp"}]
    # Whatever finds links in a text needs a dot or two slashes inside of a word.
    assert not re.search(r"\w\.\w|:/|www\.\S", inside)
    if word != "payee":
        assert subject == plain_subject
    else:
        assert not re.search(r"[\r\n\u2028\u202e]|[a-z]\.\w|:/", subject)


@each(
    "link",
    [
        *("http://evil.example", "HTTPS://EVIL.EXAMPLE", "http://2130706433/", "//evil.example", "evil.example/x"),
        *("evil。example", "evil\uff0eexample", "evil\u200b.\u2060example", "http:\\\\evil", "ev\u00adil.example"),
        "pay@evil.example",
    ],
)
def test_no_link_of_somebody_else_can_be_pressed(link: str) -> None:
    _, body = composed("business_rejected", reason=f"see {link}", name=link)
    ours = [line for line in body.splitlines() if line.startswith(BASE_URL)]
    others = "\n".join(line for line in body.splitlines() if line not in ours)
    assert not re.search(r"\w[.\u3002\uff0e]\w|:[/\\]|\S\.[\u200b\u2060]", others)


def test_a_marker_that_ends_an_isolation_does_not_break_out_of_it() -> None:
    _, body = composed("identity_rejected", reason="a\u2069\u2066b\u202ec")
    assert "\u2068abc\u2069" in body


def test_a_new_address_can_be_read_as_it_is() -> None:
    assert "\u2068sara@home.example\u2069" in composed("email_changed", new_email="sara@home.example")[1]


def test_percent_signs_and_half_characters_of_somebody_do_no_harm() -> None:
    _, body = composed("identity_rejected", reason="100 %(code)s %s \ud800 done")
    assert "\u2068100 %(code)s %s done\u2069" in body


def test_words_that_would_fill_a_screen_are_cut() -> None:
    _, body = composed("identity_rejected", reason="x" * 100_000)
    assert len(body) < 2000
