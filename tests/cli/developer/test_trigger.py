"""`qirsh trigger` and `qirsh events`: what they make happen and show, and every no in words."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from qirsh.cli.developer.api_client import ApiClient
from qirsh.cli.developer.event_list import read_last
from qirsh.domain.api_key import make_token
from qirsh.domain.event import TYPES
from tests.cli.developer.receiver import receiving
from tests.cli.developer.shell import Shell
from tests.live import free_port

TO = ("--forward-to", "http://localhost:3000/hooks")
COMMANDS = (("listen", *TO), ("trigger", "remote_payment.paid"), ("events", "list"))


@pytest.fixture(scope="module")
def stranger() -> Iterator[str]:
    """The address of another service."""
    with receiving() as receiver:
        yield receiver.url.partition("/hooks")[0]


def told(shell: Shell, event: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shell.body_of(event))["data"]
    return found


@pytest.mark.parametrize("kind", TYPES)
def test_what_was_asked_for_happens_with_test_money_and_metadata(shell: Shell, kind: str) -> None:
    payment, event = shell.trigger(kind, "--metadata", "order=1061", "--metadata", "path=a=b")
    happened = told(shell, event)
    assert (happened["type"], happened["livemode"]) == (kind, False)
    of_payment = happened["data"]["payment"] if kind == "refund.created" else happened["data"]
    assert of_payment["_id"] == payment
    assert of_payment["metadata"] == {"order": "1061", "path": "a=b"}
    if kind == "refund.created":
        assert happened["data"]["refund"]["metadata"] == {"order": "1061", "path": "a=b"}


def test_the_last_events_are_listed_the_newest_at_the_end(shell: Shell) -> None:
    made = [shell.trigger(kind)[1] for kind in ("remote_payment.expired", "remote_payment.paid", "refund.created")]

    def listed(*words: str) -> list[str]:
        ended = shell.house.invoke("events", "list", *words, **shell.variables)
        assert ended.returncode == 0, ended.stderr
        return [line.split()[-1] for line in ended.stdout.splitlines()]

    assert listed("--limit", "4")[:2] == made[:2]
    assert listed("--limit", "1") == made[2:]
    assert listed("--type", "remote_payment.expired", "--limit", "1") == made[:1]
    paid = listed("--type", "remote_payment.paid")
    assert made[1] in paid
    assert made[2] not in paid
    everything = listed("--limit", "100")
    assert [int(event.rpartition("_")[2]) for event in everything] == list(range(1, len(everything) + 1))


def test_the_last_of_one_type_are_found_behind_many_others(shell: Shell) -> None:
    kinds = ("remote_payment.expired", "remote_payment.paid", "remote_payment.cancelled")
    made = [(kind, shell.trigger(kind)[1]) for kind in (*kinds[:2], *kinds[:1], *kinds[1:2] * 7)]
    expired = [event for kind, event in made if kind == kinds[0]]
    client = ApiClient(shell.url, shell.key, key_name="K")
    for step in (1, 2, 3, 1000):
        assert [event.id for event in read_last(client, 2, kind=kinds[0], step=step)] == expired


def test_live_events_are_listed_when_asked_for(shell: Shell) -> None:
    shell.key = shell.house.demo()["apiKey"]
    ended = shell.house.invoke("events", "list", "--live", "--limit", "3", **shell.variables)
    assert ended.returncode == 0
    assert [line.split()[-1].split("_")[2] for line in ended.stdout.splitlines()] == [
        shell.house.demo()["shopAccount"]
    ] * 3


def test_with_the_demos_variables_the_test_key_is_taken(shell: Shell) -> None:
    demo = shell.house.demo()
    both = {"QIRSH_API_KEY": demo["apiKey"], "QIRSH_TEST_API_KEY": demo["testApiKey"]}
    ended = shell.house.invoke("trigger", "remote_payment.paid", **shell.variables | both)
    assert ended.returncode == 0
    assert told(shell, ended.stdout.split()[-1])["livemode"] is False


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("none", "qirsh: there is no API key: set QIRSH_API_KEY to a test key (qk_test_...)"),
        ("live", "qirsh: QIRSH_API_KEY is a live key: "),
        ("live as test", "qirsh: QIRSH_TEST_API_KEY is a live key: set QIRSH_TEST_API_KEY to a test key"),
        ("of sessions", "qirsh: QIRSH_API_KEY is no API key: one begins with qk_test_ or qk_live_\n"),
        ("cut", "qirsh: QIRSH_API_KEY is damaged: "),
        ("unknown", "refused: unauthorized: This API key is unknown, was revoked, or has expired. Is QIRSH_API_KEY"),
        ("away", "does not answer (Connection refused)\n"),
        ("stranger", "answers 501, but not as Qirsh does: is QIRSH_BASE_URL right?\n"),
        ("below", "qirsh: QIRSH_BASE_URL: must be an absolute http or https address without user, path and query"),
    ],
)
def test_a_key_or_service_that_will_not_do_is_told_in_one_line(
    shell: Shell, stranger: str, command: tuple[str, ...], case: str, words: str
) -> None:
    live = shell.house.demo()["apiKey"]
    changed = {
        "none": {"QIRSH_API_KEY": None},
        "live": {"QIRSH_API_KEY": live},
        "live as test": {"QIRSH_API_KEY": None, "QIRSH_TEST_API_KEY": live},
        "of sessions": {"QIRSH_API_KEY": make_token("qs", os.urandom(32))},
        "cut": {"QIRSH_API_KEY": shell.key[:-1]},
        "unknown": {"QIRSH_API_KEY": make_token("qk_test", os.urandom(32))},
        "away": {"QIRSH_BASE_URL": f"http://127.0.0.1:{free_port()}"},
        "stranger": {"QIRSH_BASE_URL": stranger},
        "below": {"QIRSH_BASE_URL": f"{shell.url}/docs"},
    }[case]
    variables = {name: value for name, value in (shell.variables | changed).items() if value is not None}
    ended = shell.house.invoke(*command, **variables)
    assert ended.returncode == (1 if words.startswith("refused") else 2)
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert ("add --live" in ended.stderr) == (case == "live" and command[0] != "trigger")
    assert live not in ended.stderr


def test_a_test_key_is_not_taken_for_a_live_one(shell: Shell) -> None:
    ended = shell.house.invoke("events", "list", "--live", **shell.variables)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("qirsh: QIRSH_API_KEY is a test key: leave --live out")
    ended = shell.house.invoke("events", "list", "--live", QIRSH_BASE_URL=shell.url, QIRSH_TEST_API_KEY=shell.key)
    assert ended.stderr == "qirsh: --live needs a live key (qk_live_...) in QIRSH_API_KEY\n"


def test_a_scope_that_is_missing_is_named(shell: Shell) -> None:
    account = shell.house.demo()["shopAccount"]
    words = ("key", "issue", account, "--test", "--scope", "payments:write")
    shell.key = shell.house.act(*words, **shell.house.operator())["key"]
    for command in COMMANDS:
        ended = shell.house.invoke(*command, **shell.variables)
        assert ended.returncode == 1
        assert ended.stderr.startswith("refused: missing_scope: ")
        assert "events:read" in ended.stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("listen", "--forward-to", "localhost:3000/hooks"), "must begin with http:// or https://"),
        (("listen", "--forward-to", "ftp://localhost/"), "must begin with http:// or https://"),
        (("listen", "--forward-to", "http://u:p@localhost/"), "must not hold a user or a password"),
        (("listen", "--forward-to", "http://localhost:99999/"), "must have a port from 1 to 65535"),
        (("listen", "--forward-to", "http:///hooks"), "has no host that can be read"),
        (("listen", "--forward-to", "http://localhost/#a"), "must not have a fragment"),
        (("listen", "--forward-to", "http://localhost/a b"), "has a blank"),
        (("listen", *TO, "--types", "refund.created,ping"), "ping is no type of an event. Types: remote_payment.paid"),
        (("listen", *TO, "--types", ""), "names no type: leave it out for all"),
        (("listen",), "Missing option '--forward-to'"),
        (("trigger", "ping"), "'ping' is not one of 'remote_payment.paid'"),
        (("trigger", "remote_payment.paid", "--live"), "No such option '--live'"),
        (("trigger", "remote_payment.paid", "--metadata", "order"), "order is not like order=1061"),
        (("trigger", "remote_payment.paid", "--metadata", "a=1", "--metadata", "a=2"), "a key stands twice"),
        (("events", "list", "--type", "ping"), "'ping' is not one of"),
        (("events", "list", "--limit", "101"), "101 is not in the range"),
        (("events", "resend", "8000632869014769", *TO), "is not like evt_0_100000000001_7, the id of an event"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_words_that_make_no_sense_are_told_before_anything_is_asked(
    shell: Shell, command: tuple[str, ...], words: str
) -> None:
    ended = shell.house.invoke(*command, **shell.variables)
    assert ended.returncode == 2
    assert words in " ".join(ended.stderr.split())


def test_what_the_service_refuses_is_told_with_its_field(shell: Shell) -> None:
    long = f"{'k' * 65}=1"
    ended = shell.house.invoke("trigger", "remote_payment.paid", "--metadata", long, **shell.variables)
    assert ended.returncode == 1
    assert ended.stderr.startswith("refused: validation_failed: ")
    assert "metadata: " in ended.stderr
    ended = shell.house.invoke("events", "resend", "evt_0_100000000001_7", *TO, **shell.variables)
    assert ended.stderr.startswith("refused: not_found: ")
