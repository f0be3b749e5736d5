"""Who may sign in, from the command line of a service that runs: an operator does it, and it is felt at once."""

import re
import urllib.error
import urllib.request

import pytest

from tests.cli.program import House, Running

SESSIONS = "/api/v1/wallet/sessions"
REASON = ("--reason", "called back on the number in the papers")


def refusal(running: Running, path: str, body: dict[str, str] | None, token: str | None = None) -> int:
    """The status of a call that is refused."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        running.get(path, token) if body is None else running.post(path, body, token)
    refused.value.close()
    return refused.value.code


def test_an_operator_signs_out_blocks_and_unblocks_a_person(served: tuple[House, Running]) -> None:
    house, running = served
    first, second, customer = house.operator(), house.operator("operator2"), house.demo()["customer"]
    email, entry = customer["email"], {"email": customer["email"], "password": customer["password"]}
    token = running.post(SESSIONS, entry)["data"]["token"]
    running.get("/api/v1/wallet/balances", token)
    done = house.invoke("access", "sign-out", email, *REASON, **first)
    assert done.returncode == 0, done.stderr
    assert "Done. The person is notified by e-mail." in done.stdout
    assert email in done.stdout
    assert is_mailed(running, "You are signed out on every device")
    assert refusal(running, "/api/v1/wallet/balances", None, token) == 401

    token = running.post(SESSIONS, entry)["data"]["token"]
    for change, is_out in (("block", True), ("unblock", False)):
        assert house.act("access", change, email, *REASON, **second) == {"email": email, "state": "done"}
        assert refusal(running, "/api/v1/wallet/balances", None, token) == 401
        assert is_mailed(running, "Sign-in to your account is blocked" if is_out else "You can sign in again")
        if is_out:
            assert refusal(running, SESSIONS, entry) == 403
    running.post(SESSIONS, entry)


def is_mailed(running: Running, subject: str) -> bool:
    """Whether it is among the newest mails of the demo."""
    with urllib.request.urlopen(f"{running.url}/demo/mail") as answer:  # noqa: S310 - our own
        return re.search(rf"{subject}\s*<", answer.read().decode()) is not None


def test_second_factors_go_a_day_after_another_operator_agrees(served: tuple[House, Running]) -> None:
    house, _ = served
    first, second, email = house.operator(), house.operator("operator2"), house.demo()["customer"]["email"]
    asked = house.invoke("access", "remove-factors", email, *REASON, **first)
    assert asked.returncode == 0, asked.stderr
    assert "Nothing has changed: another operator must run `qirsh proposal confirm`." in asked.stdout
    [item] = house.proposed(**second)
    assert (item["action"], item["reason"]) == ("remove-factors", REASON[1])
    confirm = ("proposal", "confirm", item["id"], "--digest", item["digest"])
    own = house.invoke(*confirm, **first)
    assert (own.returncode, own.stdout) == (1, "")
    assert own.stderr.startswith("refused: second_operator_needed: ")
    done = house.invoke(*confirm, **second)
    assert (done.returncode, "Confirmed and carried out." in done.stdout) == (0, True), done.stderr
    [waiting] = house.act("access", "resets", email, **first)["items"]
    assert (waiting["what"], waiting["proposal"]) == ("factors", item["id"])
    house.act("access", "keep", email, *REASON, **first)


def test_what_nobody_has_or_is_one_s_own_is_refused(served: tuple[House, Running]) -> None:
    house, _ = served
    first, email = house.operator(), house.demo()["customer"]["email"]
    for words, code in (
        (("access", "block", "nobody@x.org", *REASON), "not_found"),
        (("access", "remove-factors", "nobody@x.org", *REASON), "not_found"),
        (("access", "remove-factors", first["QIRSH_OPERATOR_EMAIL"], *REASON), "own_request"),
        (("access", "block", first["QIRSH_OPERATOR_EMAIL"], *REASON), "own_request"),
    ):
        ended = house.invoke(*words, **first)
        assert (ended.returncode, ended.stdout) == (1, ""), words
        assert ended.stderr.startswith(f"refused: {code}: "), ended.stderr
    assert house.invoke("access", "block", email, **first).returncode == 2
    assert house.invoke("access", "forgive", email, *REASON, **first).returncode == 2


def test_with_nobody_s_proof_nothing_is_done(served: tuple[House, Running]) -> None:
    house, running = served
    customer = house.demo()["customer"]
    wrong = {**house.operator(), "QIRSH_OPERATOR_PASSWORD": "not the password"}
    for change in ("sign-out", "block", "unblock", "remove-factors"):
        ended = house.invoke("access", change, customer["email"], *REASON, **wrong)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert customer["email"] not in ended.stderr
    running.post(SESSIONS, {"email": customer["email"], "password": customer["password"]})
    assert house.proposed(**house.operator()) == []
