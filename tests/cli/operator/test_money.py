"""Corrections, reversals and house accounts from the command line, by two operators."""

from typing import Any

from tests.cli.program import House


def agreed(house: House, asked: dict[str, Any]) -> dict[str, Any]:
    """The second operator's word on it."""
    second = house.operator("operator2")
    done: dict[str, Any] = house.act("proposal", "confirm", asked["id"], "--digest", asked["digest"], **second)
    return done


def test_a_deposit_is_reversed_by_two_and_not_once_more(house: House) -> None:
    by, account = house.operator(), house.demo()["customer"]["account"]
    agreed(house, house.act("deposit", "ask", account, "5.00", "USD", "--reference", "came", **by))
    told = house.invoke("reverse", "ask", "came", "--reference", "recalled", "--reason", "by the bank", **by)
    assert told.returncode == 0, told.stderr
    assert "No money has moved: another operator must run `qirsh proposal confirm`" in told.stdout
    [asked] = [one for one in house.act("proposal", "list", **by)["items"] if one["action"] == "reversal"]
    assert agreed(house, asked)["state"] == "done"
    again = house.invoke("reverse", "ask", "came", "--reference", "again", "--reason", "by the bank", **by)
    assert again.stderr.startswith("refused: already_reversed: This order was reversed already, by the order recalled.")


def test_a_balance_is_corrected_by_two(house: House) -> None:
    by, account = house.operator(), house.demo()["customer"]["account"]
    asked = house.act("adjust", "ask", account, "add", "1.00", "USD", "--reason", "a coin was lost", **by)
    assert (asked["action"], asked["direction"]) == ("correction", "to the account")
    assert agreed(house, asked)["state"] == "done"
    wrong = house.invoke("adjust", "ask", account, "add", "1,00", "USD", "--reason", "a coin was lost", **by)
    assert "amount: must be like 100.98" in wrong.stderr


def test_a_house_account_is_opened_by_two_and_listed(house: House) -> None:
    by, account = house.operator(), house.demo()["customer"]["account"]
    agreed(house, house.act("house", "open", "Second bank", "--reason", "branches", **by))
    asked = house.act("deposit", "ask", account, "5.00", "USD", "--reference", "came", "--house", "Second bank", **by)
    agreed(house, asked)
    listed = house.invoke("house", "list", **by)
    assert listed.returncode == 0, listed.stderr
    lines = listed.stdout.splitlines()
    [place] = [number for number, line in enumerate(lines) if line.endswith("  Second bank")]
    assert lines[place + 1].strip() == "-5.00 USD"
    elsewhere = house.invoke("deposit", "ask", account, "5.00", "USD", "--reference", "x", "--house", "Third", **by)
    assert "house: no house account has this name or number" in elsewhere.stderr
