"""`qirsh listen`: a real service, a real receiver, and whatever happens between them."""

import json
import re
import signal
from contextlib import ExitStack

import pytest

from qirsh.domain.event import TYPES
from tests.cli.conftest import LAST_LINE
from tests.cli.developer.receiver import receiving, verify_signature
from tests.cli.developer.shell import Shell
from tests.cli.program import House
from tests.live import free_port


def test_each_event_arrives_signed_and_with_the_bytes_of_get(shell: Shell) -> None:
    with receiving() as receiver, shell.listening("--forward-to", receiver.url) as listening:
        assert receiver.url in listening.printed
        for kind in ("remote_payment.paid", "remote_payment.cancelled", "remote_payment.expired"):
            payment, event = shell.trigger(kind)
            arrived = receiver.next()
            assert arrived.path == "/hooks?shop=1"
            assert arrived.body == shell.body_of(event)
            assert arrived.headers["webhook-id"] == event
            assert arrived.headers["content-type"] == "application/json"
            verify_signature(arrived, listening.secret)
            shown = listening.line()
            assert re.fullmatch(rf"\d\d:\d\d:\d\d  {kind} +{payment}  {event}  204  \d+ ms\n", shown), shown
        payment, event = shell.trigger("refund.created")
        kinds = [json.loads(receiver.next().body)["data"]["type"] for _ in range(2)]
        assert kinds == ["remote_payment.paid", "refund.created"], "in the order in which they happened"
        listening.line()
        assert f"refund.created            {payment}  {event}  204" in listening.line()
        assert receiver.is_empty()


@pytest.mark.parametrize("types", ["refund.created", "refund.created,remote_payment.expired"])
def test_only_the_types_that_were_named_are_forwarded(shell: Shell, types: str) -> None:
    with receiving() as receiver, shell.listening("--forward-to", receiver.url, "--types", types):
        made = {kind: shell.trigger(kind)[1] for kind in TYPES}
        wanted = [made[kind] for kind in TYPES if kind in types.split(",")]
        assert [receiver.next().headers["webhook-id"] for _ in wanted] == wanted
        assert receiver.is_empty()


def test_the_secret_is_the_same_at_the_next_start_and_another_with_another_key(shell: Shell) -> None:
    def secret() -> str:
        with shell.listening("--forward-to", "http://127.0.0.1:1/") as listening:
            return listening.secret

    first = secret()
    assert secret() == first
    made = shell.house.act("key", "issue", shell.house.demo()["shopAccount"], "--test", **shell.house.operator())
    shell.key = made["key"]
    assert secret() != first


def test_ctrl_c_ends_it_in_silence(shell: Shell) -> None:
    with shell.listening("--forward-to", "http://127.0.0.1:1/") as listening:
        assert listening.stop(signal.SIGINT) == 0
        assert listening.rest() == ("", "")


def test_what_happens_around_a_kill_of_the_service_arrives_once_each(house: House) -> None:
    port = free_port()
    shell = Shell(house, f"http://127.0.0.1:{port}")
    with receiving() as receiver, ExitStack() as stack:
        with house.serving("demo", "--port", str(port), until=LAST_LINE) as running:
            listening = stack.enter_context(shell.listening("--forward-to", receiver.url))
            first = shell.trigger("remote_payment.paid")[1]
            assert receiver.next().headers["webhook-id"] == first
            running.stop(signal.SIGKILL)
            assert "does not answer" in listening.notice()
        with house.serving("demo", "--port", str(port), until=LAST_LINE):
            made = [shell.trigger("remote_payment.cancelled")[1] for _ in range(3)]
            arrived = [receiver.next() for _ in made]
            assert [one.headers["webhook-id"] for one in arrived] == made
            for one in arrived:
                verify_signature(one, listening.secret)
            assert listening.notice() == "qirsh: connected again; nothing was missed\n"
            assert receiver.is_empty()


def test_a_receiver_that_is_down_is_shown_and_the_event_is_sent_again_by_hand_only(shell: Shell) -> None:
    port = free_port()
    url = f"http://localhost:{port}/hooks?shop=1&try=2"
    with shell.listening("--forward-to", url) as listening:
        lost = shell.trigger("remote_payment.paid")[1]
        assert f"{lost}  nobody answers  " in listening.line()
        again = listening.line()
        assert f"qirsh events resend {lost} --forward-to '{url}'\n" in again
        with receiving(port) as receiver:
            taken = shell.trigger("remote_payment.expired")[1]
            assert receiver.next().headers["webhook-id"] == taken, "the lost one did not come first"
            ended = shell.house.invoke("events", "resend", lost, "--forward-to", url, **shell.variables)
            arrived = receiver.next()
            assert receiver.is_empty()
    assert ended.returncode == 0
    assert f"remote_payment.paid       {json.loads(arrived.body)['data']['data']['_id']}  {lost}  204" in ended.stdout
    assert arrived.body == shell.body_of(lost)
    verify_signature(arrived, listening.secret)


@pytest.mark.parametrize(
    ("status", "words"), [(500, "500, not 2xx"), (302, "302, redirects are not followed"), (410, "410, not 2xx")]
)
def test_an_answer_that_is_no_success_is_shown_and_not_followed(shell: Shell, status: int, words: str) -> None:
    event = shell.trigger("remote_payment.paid")[1]
    with receiving() as receiver:
        receiver.status, receiver.location = status, f"{receiver.url}&again=1"
        ended = shell.house.invoke("events", "resend", event, "--forward-to", receiver.url, **shell.variables)
        assert receiver.next().path == "/hooks?shop=1"
        assert receiver.is_empty()
    assert ended.returncode == 1
    assert f"{event}  {words}  " in ended.stdout
