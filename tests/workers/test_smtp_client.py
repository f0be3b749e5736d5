"""The line to a mail server: TLS, signing in, and servers that hang or hang up."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import pytest

from qirsh.workers.smtp_client import LineDown, NeverDeliverable, SmtpLine, Undelivered
from tests.live import free_port
from tests.waiting import NEVER_S
from tests.workers.post_office import (
    PASSWORD,
    USER,
    Answer,
    Certificate,
    PostOffice,
    hanging,
    hanging_up,
    post_office,
    saying,
)

MESSAGE: Final = b"Subject: x\r\n\r\ny\r\n"
TO: Final = "sara@home.example"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def office() -> Iterator[PostOffice]:
    with post_office() as opened:
        yield opened


def line_to(port: int, **changes: object) -> SmtpLine:
    usual: dict[str, Any] = {
        "host": "127.0.0.1",
        "security": "none",
        "user": None,
        "password": None,
        "own_name": "pay.example",
    }
    return SmtpLine(port=port, **usual | {"silence_s": NEVER_S} | changes)


def send(line: SmtpLine, to: str = TO) -> None:
    line.send(sender="qirsh@pay.example", to=to, message=MESSAGE)


def test_mails_go_over_one_line_until_it_is_closed(office: PostOffice) -> None:
    line = line_to(office.port)
    for number in range(3):
        send(line, f"person{number}@home.example")
    assert len(office.lines) == 1
    line.close()
    send(line)
    line.close()
    assert len(office.lines) == 2
    assert office.recipients == [*(f"person{number}@home.example" for number in range(3)), TO]


def test_a_line_that_the_server_has_ended_is_opened_again_for_the_next_mail(office: PostOffice) -> None:
    line = line_to(office.port)
    send(line)
    line.cut()
    send(line)
    line.close()
    assert (len(office.taken), len(office.lines)) == (2, 2)


@pytest.mark.parametrize("where", ["at_recipient", "at_mail"])
@pytest.mark.parametrize("how", [hanging, hanging_up], ids=["hangs", "hangs up"])
def test_a_server_that_hangs_or_hangs_up_is_left(
    office: PostOffice, where: str, how: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    setattr(office, where, how)
    line = line_to(office.port, silence_s=1.0 if how is hanging else NEVER_S)
    with pytest.raises(LineDown) as told:
        send(line)
    assert TO not in str(told.value)
    office.at_recipient = office.at_mail = saying("250 OK")
    monkeypatch.setattr(line, "_silence_s", NEVER_S)
    send(line)
    line.close()


REFUSED: Final = {
    "550 5.1.1 sara@home.example does not live here": NeverDeliverable,
    "550 no such user": NeverDeliverable,
    "552 5.2.2 mailbox full": NeverDeliverable,
    "450 4.2.1 try later, sara@home.example": Undelivered,
    "451 greylisted": Undelivered,
    "554 5.7.1 relay access denied": Undelivered,
    "530 5.7.0 authentication required": Undelivered,
}


def test_a_refusal_is_final_or_not_and_never_quoted(office: PostOffice, subtests: pytest.Subtests) -> None:
    for where, (answer, meaning) in product(("at_recipient", "at_mail"), REFUSED.items()):
        with subtests.test(f"{answer} {where}"):
            office.recipients.clear()
            office.taken.clear()
            office.lines.clear()
            setattr(office, where, saying(answer))
            line = line_to(office.port)
            with pytest.raises(Undelivered) as told:
                send(line)
            assert type(told.value) is meaning
            assert answer[:3] in str(told.value)
            assert "sara" not in str(told.value)
            # The line is still good for others.
            setattr(office, where, saying("250 OK"))
            send(line, "omar@home.example")
            line.close()
            assert (office.recipients, len(office.lines)) == (["omar@home.example"], 1)


def test_nobody_there_is_told_in_words() -> None:
    with pytest.raises(LineDown, match="Connection refused"):
        send(line_to(free_port()))


# The test's server does not know that a line may be guarded from its first byte on.
@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
@pytest.mark.parametrize("implicit", [False, True], ids=["starttls", "tls"])
def test_over_tls_with_a_user_and_password(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch, *, implicit: bool
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    security = "tls" if implicit else "starttls"
    with post_office(certificate=certificate, implicit=implicit, auth=True) as office:
        line = line_to(office.port, security=security, user=USER, password=PASSWORD)
        send(line)
        line.close()
        assert office.recipients == [TO]
        line = line_to(office.port, security=security, user=USER, password="a-wrong-mail-password")
        with pytest.raises(LineDown, match="user and password") as told:
            send(line)
        assert "wrong-mail" not in str(told.value)
        assert len(office.taken) == 1


# The test's server does not know that a line may be guarded from its first byte on.
@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
@pytest.mark.parametrize("implicit", [False, True], ids=["starttls", "tls"])
def test_a_certificate_that_nobody_vouches_for_gets_nothing(certificate: Certificate, *, implicit: bool) -> None:
    with post_office(certificate=certificate, implicit=implicit, auth=True) as office:
        line = line_to(office.port, security="tls" if implicit else "starttls", user=USER, password=PASSWORD)
        with pytest.raises(LineDown, match="certificate"):
            send(line)
        assert office.tried == []


def test_a_certificate_of_another_name_gets_nothing(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    with post_office(certificate=certificate) as office:
        line = line_to(office.port, host="127.0.0.2", security="starttls")
        with pytest.raises(LineDown):
            send(line)
        assert office.tried == []


def test_a_server_that_offers_no_starttls_gets_nothing(office: PostOffice) -> None:
    with pytest.raises(LineDown, match="STARTTLS"):
        send(line_to(office.port, security="starttls", user=USER, password=PASSWORD))
    assert office.tried == []


def test_letters_beyond_ascii_in_an_address_reach_a_server_that_takes_them(office: PostOffice) -> None:
    line = line_to(office.port)
    send(line, "سارة@home.example")
    line.close()
    assert office.recipients == ["سارة@home.example"]
