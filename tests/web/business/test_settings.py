"""Settings of a business: what payments have that say nothing else, and when its days begin."""

import pytest

from tests.guest import Guest
from tests.live import Call, InProcess, create
from tests.web.business.staff import home, join, owner

GOOD = {
    "origins": "https://a.example\nhttps://b.example/\n",
    "return_url": "https://a.example/thanks?x=1",
    "cancel_url": "https://b.example/cart",
    "minutes": "15",
}


def save(guest: Guest, base: str, **changes: str) -> int:
    guest.open(f"{base}/settings")
    return guest.post(f"{base}/settings", **GOOD | changes).status_code


@pytest.mark.both_engines
def test_payments_that_say_nothing_else_have_what_the_business_has_set(still: InProcess) -> None:
    boss, merchant = owner(still)
    assert save(boss, home(merchant)) == 303
    assert "https://b.example" in boss.read(f"{home(merchant)}/settings")
    plain = still.data(create(merchant.key))["id"]
    seen = still.data(Call("GET", f"/api/v1/remote-payments/{plain}", merchant.key))
    assert (seen["returnUrl"], seen["cancelUrl"]) == (GOOD["return_url"], GOOD["cancel_url"])
    own = still.data(create(merchant.key, returnUrl="https://b.example/own", expiresIn=300))["id"]
    named = still.data(Call("GET", f"/api/v1/remote-payments/{own}", merchant.key))
    assert (named["returnUrl"], named["cancelUrl"]) == ("https://b.example/own", GOOD["cancel_url"])
    with still.books() as books:
        rows = books.select(
            "SELECT expires_at - created_at FROM payment WHERE merchant = ? ORDER BY number", int(merchant.account)
        )
    assert rows == [(900_000,), (300_000,)]
    me = still.data(Call("GET", "/api/v1/me", merchant.key))
    assert (me["defaultExpiresIn"], me["returnOrigins"]) == (900, ["https://a.example", "https://b.example"])
    # The test account has its own.
    assert still.data(Call("GET", "/api/v1/me", merchant.test_key))["defaultExpiresIn"] == 3600


def test_what_is_wrong_with_settings_stands_beside_it(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[dict[str, str], str]] = [
        ({"origins": "https://a.example/path"}, "with nothing after it"),
        ({"origins": ""}, "on one of the websites"),
        ({"return_url": "https://evil.example/"}, "on one of the websites"),
        ({"return_url": "javascript:alert(1)"}, "on one of the websites"),
        ({"cancel_url": "//a.example"}, "on one of the websites"),
        ({"minutes": "4"}, "from 5 to 10080"),
        ({"minutes": "10081"}, "from 5 to 10080"),
        ({"minutes": "x"}, "from 5 to 10080"),
        ({"minutes": ""}, "from 5 to 10080"),
    ]
    for changes, says in cases:
        with subtests.test(changes=changes, says=says):
            assert save(boss, home(merchant), **changes) == 422
            assert says in boss.text
            assert still.data(Call("GET", "/api/v1/me", merchant.key))["defaultExpiresIn"] == 3600


def test_the_activity_log_names_what_was_changed_and_not_to_what(still: InProcess) -> None:
    boss, merchant = owner(still)
    assert save(boss, home(merchant)) == 303
    assert save(boss, home(merchant), minutes="16", return_url="https://a.example/?secret=7") == 303
    assert save(boss, home(merchant), minutes="16", return_url="https://a.example/?secret=7") == 303  # Nothing new.
    text = boss.read(f"{home(merchant)}/activity", act="account")
    assert text.count("Changed settings") == 2
    assert "Website addresses · Return address · Cancel address · Time to pay" in text
    last = text.partition("Changed settings")[2].partition("Changed settings")[0]
    assert "Return address · Time to pay" in last
    assert "Cancel address" not in last
    assert "secret" not in boss.page


def test_days_are_those_of_the_zone_of_the_business(still: InProcess) -> None:
    boss, merchant = owner(still)
    path = f"{home(merchant)}/settings/time-zone"
    boss.open(f"{home(merchant)}/settings")
    assert boss.post(path, time_zone="Asia/Kathmandu").status_code == 303
    assert "Kathmandu" in boss.read(f"{home(merchant)}/payments")
    assert still.data(Call("GET", "/api/v1/me", merchant.key))["timeZone"] == "Asia/Kathmandu"
    boss.open(f"{home(merchant)}/settings")
    assert boss.post(path, time_zone="Mars/Olympus").status_code == 422
    developer = join(still, merchant, "developer", boss)
    developer.read(f"{home(merchant)}/settings")
    assert path not in developer.page
