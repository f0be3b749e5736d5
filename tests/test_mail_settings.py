"""The settings of mail: which are taken, and that no password is shown."""

import pytest

from qirsh.settings import BadSetting, read_settings
from tests.each import each

FROM = {"QIRSH_MAIL_FROM": "Qirsh <pay@example.org>"}
TAKEN = {
    "smtp+starttls://u:hush@mail.example:2525": ("starttls", "mail.example", 2525, "u", "hush"),
    "smtp+starttls://a%40x.org:h%3Au%2Fsh@mail.example": ("starttls", "mail.example", 587, "a@x.org", "h:u/sh"),
    "smtps://u:hush@mail.example": ("tls", "mail.example", 465, "u", "hush"),
    "smtp://mail.example/": ("none", "mail.example", 25, None, None),
    "smtp://u:hush@127.0.0.1:25": ("none", "127.0.0.1", 25, "u", "hush"),
    "smtp://[::1]:2525": ("none", "::1", 2525, None, None),
}
REFUSED = [
    *("mail.example", "https://u:hush@mail.example", "smtp://", "smtp://u:hush@", "smtp://u@mail.example"),
    *("smtps://u:hush/1@mail.example", "smtps://u:hu@hush@mail.example", "smtps://u:hush hush@mail.example"),
    *("smtps://u:hush@mail.example:99999", "smtps://u:hush@mail.example:0", "smtps://u:hush@mail.example/box"),
    *("smtps://u:hush%0a@mail.example", "smtps://u:hush%D8%B3@mail.example", "smtp://u:hush@mail.example"),
    "smtp://mail.example\r\nx",
]


@each("url", TAKEN)
def test_a_mail_server_is_taken_and_shown_without_its_password(url: str) -> None:
    settings = read_settings({"QIRSH_SMTP_URL": url, **FROM})
    server = settings.smtp
    assert server is not None
    assert (server.security, server.host, server.port, server.user, server.password) == TAKEN[url]
    assert "hush" not in f"{settings!r} {server} {server.shown}"
    assert server.host in server.shown


@each("url", REFUSED)
def test_a_wrong_address_of_a_mail_server_stops_the_start_and_is_not_quoted(url: str) -> None:
    with pytest.raises(BadSetting, match=r"^QIRSH_SMTP_URL: ") as told:
        read_settings({"QIRSH_SMTP_URL": url, **FROM})
    assert "hush" not in str(told.value)


@each(
    ("text", "name", "address"),
    [
        ("pay@example.org", "", "pay@example.org"),
        ("Qirsh <pay@example.org>", "Qirsh", "pay@example.org"),
        ("قرش للدفع <pay@example.org>", "قرش للدفع", "pay@example.org"),
        ("Shop, Inc. <pay@example.org>", "Shop, Inc.", "pay@example.org"),
    ],
)
def test_whom_mails_come_from(text: str, name: str, address: str) -> None:
    sender = read_settings({"QIRSH_MAIL_FROM": text}).mail_from
    assert sender is not None
    assert (sender.display_name, sender.addr_spec) == (name, address)
    again = read_settings({"QIRSH_MAIL_FROM": str(sender)}).mail_from if "," not in text else sender
    assert again == sender


@each(
    "text", ["pay", "pay@", "a@b@c", "Qirsh <pay>", "A <a@b.c> <d@e.f>", "a@b.c\nBcc: d@e.f", "a b@c.d", "<>", "ö@b.c"]
)
def test_a_wrong_sender_stops_the_start(text: str) -> None:
    with pytest.raises(BadSetting, match=r"^QIRSH_MAIL_FROM: must be an e-mail address"):
        read_settings({"QIRSH_MAIL_FROM": text})


def test_a_mail_server_needs_a_sender() -> None:
    with pytest.raises(BadSetting, match=r"^QIRSH_MAIL_FROM: must be set"):
        read_settings({"QIRSH_SMTP_URL": "smtp://127.0.0.1"})
