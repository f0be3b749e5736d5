"""The demo's letter box: what would have been sent, for whoever tries the demo and for nobody else."""

import re
from collections.abc import Iterator

import pytest

from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from tests.live import Call, InProcess, in_process
from tests.postgres import PostgresServer
from tests.workers.mailing import post

BOX = Call("GET", "/demo/mail")
LINK = "http://127.0.0.1:8420/reset/h3gTQ0yZpEJp"


@pytest.fixture
def demo(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=0, people=0) as world:
        world.change(keeps_mail=True, has_mail=True, mail_from="Qirsh <qirsh@demo.example>")
        yield world


def add(world: InProcess, to: str, kind: str, language: str, **words: str | int) -> None:
    post(world, to, kind, language, words=words)
    world.clock.advance(1000)


@pytest.mark.both_engines
def test_mails_are_shown_newest_first_with_links_and_each_in_its_direction(demo: InProcess) -> None:
    assert "No e-mails yet." in demo.send(BOX).text
    add(demo, "sara@home.example", "reset_password", "ar", url=LINK)
    add(demo, "omar@home.example", "sign_up_code", "en", code="482913")
    page = demo.send(BOX)
    assert page.status_code == 200
    assert page.text.index("omar@home.example") < page.text.index("sara@home.example")
    assert f'<a href="{LINK}"' in page.text
    assert "\n482913\n" in page.text
    assert page.text.count("Qirsh &lt;qirsh@demo.example&gt;") == 2
    assert re.findall(r'lang="(\w+)" dir="(\w+)">\s*<h2>', page.text) == [("en", "ltr"), ("ar", "rtl")]


def test_what_somebody_gave_us_is_text_and_no_link(demo: InProcess) -> None:
    given = "<script>alert(1)</script>\nhttp://evil.example/"
    add(demo, "sara@home.example", "identity_rejected", "en", reason=given, identity_url=LINK)
    page = demo.send(BOX).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r'href="[^"]*evil', page)


def test_the_last_fifty_are_shown(demo: InProcess) -> None:
    for number in range(55):
        add(demo, f"person{number}@home.example", "password_changed", "tr")
    page = demo.send(BOX).text
    assert page.count("<article") == 50
    assert "person5@" in page
    assert "person4@" not in page


def test_a_mail_under_another_secret_is_left_out(demo: InProcess) -> None:
    other = Keyring([b"another secret of thirty-two bytes"], system_entropy)
    post(demo, "sara@home.example", "pin_changed", "en", keyring=other)
    assert "No e-mails yet." in demo.send(BOX).text
