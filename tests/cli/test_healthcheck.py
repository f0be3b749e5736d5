"""`qirsh healthcheck` says whether the server answers, in an exit code."""

import signal

import pytest

from tests.cli.program import House, Running
from tests.waiting import NEVER_S, wait_until


def test_a_server_that_answers_is_healthy_and_ready(
    served: tuple[House, Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qirsh.cli.healthcheck._ANSWER_S_MAX", NEVER_S)
    house, _ = served
    for words in ((), ("--ready",)):
        ended = house.invoke("healthcheck", *words)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ok\n", "")


def test_no_server_and_one_that_stands_still_are_not(empty: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qirsh.cli.healthcheck._ANSWER_S_MAX", NEVER_S)
    ended = empty.invoke("healthcheck")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no server runs" in ended.stderr
    with empty.serving("serve", until="no operator") as running:
        assert empty.invoke("healthcheck").returncode == 0
        running.process.send_signal(signal.SIGSTOP)
        monkeypatch.setattr("qirsh.cli.healthcheck._ANSWER_S_MAX", 0.05)
        ended = empty.invoke("healthcheck")
        running.process.send_signal(signal.SIGCONT)
        assert ended.returncode == 1
        assert "does not answer" in ended.stderr


def test_one_whose_database_is_gone_is_not_ready(empty: House) -> None:
    with empty.serving("serve", until="no operator"):
        empty.database.rename(f"{empty.database}.away")
        # Within two seconds it notices and ends: it answers no more, or that it is not ready.
        wait_until(lambda: empty.invoke("healthcheck", "--ready").returncode == 1)


def test_what_cannot_be_asked_is_not_healthy_either(empty: House) -> None:
    ended = empty.invoke("healthcheck", QIRSH_PROT="1")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("QIRSH_PROT is not a setting")
