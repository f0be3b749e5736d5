"""Businesses of people and their keys: who may ask, what is shown once, and whose they are."""

import html
import re

import pytest

from qirsh.domain.commands.account import IssueKey
from qirsh.domain.limits import BUSINESSES_MAX, KEYS_MAX, RECENT_PROOF_MS
from qirsh.domain.refusal import granted
from tests.guest import FORM, Guest
from tests.live import PASSWORD, Call, InProcess, World, create
from tests.mailbox import words_to

PAGE = "/business"
ASKED = {
    "name": "<Bakery> & Söhne",
    "kind": "food",
    "registration": "HRB 1",
    "origins": "https://a.example\nhttps://b.example/\n",
}
SCOPES = {"payments-read": "yes", "payments-write": "yes"}
KEY = re.compile(r"qk_(?:live|test)_\w+")


def owner(world: World) -> tuple[Guest, str]:
    """With a shop of their own, and its account."""
    merchant = world.merchant()
    return Guest(world).signed_in(merchant.email), merchant.account


def citizen(world: World) -> Guest:
    """Verified, and at the form."""
    guest = Guest(world).signed_in(world.person(verified=True).email)
    guest.open(PAGE)
    return guest


def owned(world: World, guest: Guest) -> list[tuple[str, str, str, str]]:
    with world.books() as books:
        return books.select(
            "SELECT a.name, a.state, b.kind, a.return_origins FROM account a JOIN business b ON b.account = a.number"
            " WHERE a.owner = (SELECT person FROM login WHERE email = ?) AND a.mode = 'live'",
            guest.email,
        )


def number_on(guest: Guest) -> str:
    found = re.search(r'href="/business/(\d{12})"', guest.page)
    assert found, guest.text
    return found.group(1)


@pytest.mark.both_engines
def test_a_verified_person_asks_and_hears_of_the_approval(still: InProcess) -> None:
    still.change(has_mail=True)
    guest = citizen(still)
    answer = guest.post(PAGE, **ASKED)
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    guest.open(PAGE)
    assert "Your request was sent" in guest.text
    assert ASKED["name"] in guest.text
    assert "<Bakery>" not in guest.page
    assert owned(still, guest) == [(ASKED["name"], "requested", "food", "https://a.example https://b.example")]
    account = number_on(guest)
    guest.open(f"{PAGE}/{account}")
    assert "We are reviewing your request" in guest.text
    assert "/keys" not in guest.page
    done = still.act("account approve", account=account)
    told = words_to(still, guest.email)["business_approved"]
    assert told == {"name": ASKED["name"], "url": f"{still.settings.base_url}{PAGE}/{account}"}
    guest.open(f"{PAGE}/{account}")
    assert account in guest.text.replace(" ", "")
    assert f'href="{PAGE}/{account}/keys"' in guest.page
    test_page = f"{PAGE}/{done['testAccount']}"
    assert f'href="{test_page}"' in guest.page
    guest.open(test_page)
    assert done["testAccount"] in guest.text.replace(" ", "")
    assert "no real money moves here" in guest.text
    assert f'href="{PAGE}/{account}"' in guest.page


def test_a_rejection_says_why_on_the_page_and_by_mail(still: InProcess) -> None:
    still.change(has_mail=True)
    guest = citizen(still)
    guest.post(PAGE, **ASKED)
    guest.open(PAGE)
    account = number_on(guest)
    still.act("account reject", account=account, reason="No such <b>number</b>")
    guest.open(PAGE)
    assert "No such <b>number</b>" in guest.text
    guest.open(f"{PAGE}/{account}")
    assert "No such <b>number</b>" in guest.text
    assert words_to(still, guest.email)["business_rejected"]["reason"] == "No such <b>number</b>"


def test_a_suspension_is_mailed_and_stops_keys_in_mid_flow(still: InProcess) -> None:
    still.change(has_mail=True)
    guest, account = owner(still)
    guest.open(f"{PAGE}/{account}/keys")
    still.act("account suspend", account=account)
    assert words_to(still, guest.email)["account_suspended"] == {"name": "Shop"}
    answer = guest.post(f"{PAGE}/{account}/keys", name="Late", password=PASSWORD, **SCOPES)
    assert answer.status_code == 403
    assert not KEY.search(guest.page)
    guest.open(f"{PAGE}/{account}")
    assert "suspended or closed" in guest.text
    assert "Create API key" not in guest.read(f"{PAGE}/{account}/keys")


def test_who_is_not_verified_reads_what_to_do_and_gets_nothing_by_force(still: InProcess) -> None:
    guest = Guest(still).signed_in(still.person(verified=False).email)
    guest.open(PAGE)
    assert "Verify your identity first" in guest.text
    assert 'href="/wallet/identity"' in guest.page
    assert f'action="{PAGE}"' not in guest.page
    verified = citizen(still)
    form = verified.posting(PAGE, **ASKED)
    stolen = form._replace(headers=guest.call("POST", PAGE, content_type=FORM).headers)
    assert still.send(stolen).status_code == 403
    assert owned(still, guest) == []


def test_whoever_is_suspended_between_the_form_and_its_post_gets_no_business(still: InProcess) -> None:
    person = still.person(verified=True)
    guest = Guest(still).signed_in(person.email)
    guest.open(PAGE)
    still.act("account suspend", account=person.account)
    assert guest.post(PAGE, **ASKED).headers["location"] == "/sign-in"  # Nobody is signed in any more.
    assert owned(still, guest) == []


def test_what_is_wrong_with_a_request_stands_beside_it(still: InProcess, subtests: pytest.Subtests) -> None:
    guest = citizen(still)
    cases: list[tuple[str, str, str]] = [
        ("name", "", "Enter the name of the business"),
        ("name", "x" * 101, "at most 100 characters"),
        ("name", "Shop\u202e", "hidden characters"),
        ("name", "✓ Verified business", "without check marks"),
        ("name", "Sh\u200dop", "without check marks"),
        ("kind", "casino", "Choose the type of business"),
        ("registration", "", "Enter the registration number"),
        ("origins", "http://shop.example", "Each line must be an address"),
        ("origins", "https://shop.example/path", "Each line must be an address"),
        ("origins", "javascript:alert(1)", "Each line must be an address"),
        ("origins", "https://u:p@shop.example", "Each line must be an address"),
    ]
    for field, value, says in cases:
        with subtests.test(field=field, value=value, says=says):
            assert guest.post(PAGE, **{**ASKED, field: value}).status_code == 422
            assert says in guest.text
            assert owned(still, guest) == []


def test_one_form_asks_once_however_often_it_is_sent(anywhere: World) -> None:
    guest = citizen(anywhere)
    call = guest.posting(PAGE, **ASKED)
    assert {answer.status_code for answer in anywhere.together([call] * 4)} == {303}
    assert len(owned(anywhere, guest)) == 1


@pytest.mark.parametrize("mode", ["live", "test"])
def test_a_key_is_shown_once_works_and_is_kept_nowhere(still: InProcess, mode: str) -> None:
    merchant = still.merchant()
    guest = Guest(still).signed_in(merchant.email)
    account = merchant.account if mode == "live" else merchant.test_account
    path = f"{PAGE}/{account}/keys"
    guest.open(path)
    call = guest.posting(path, name="<Till>", days="30", password=PASSWORD, **SCOPES)
    answer = guest.seen(still.send(call))
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    # To be copied, in a command that works as it stands, and with a way to the documentation.
    [key] = set(KEY.findall(guest.page))
    assert key.startswith(f"qk_{mode}_")
    assert f'id="key">{key}<' in guest.page
    command = f'curl {still.settings.base_url}/api/v1/me \\\n  -H "Authorization: Bearer {key}"'
    assert command in html.unescape(guest.page)
    assert 'href="/docs"' in guest.page
    assert still.send(Call("GET", "/api/v1/me", key)).status_code == 200
    assert still.send(create(key)).status_code == 201
    again = guest.seen(still.send(call))
    assert (again.status_code, again.headers["location"]) == (303, path)
    guest.follow(again)
    assert "was already shown" in guest.text
    assert key not in guest.page
    assert key[-4:] in guest.text
    assert "<Till>" in guest.text
    with still.books() as books:
        rows = books.select("SELECT name, scopes FROM api_key WHERE account = ? AND name = '<Till>'", int(account))
    assert rows == [("<Till>", "payments:read payments:write")]


@pytest.mark.both_engines
def test_one_form_makes_one_key_when_it_is_sent_many_times_at_once(anywhere: World) -> None:
    guest, account = owner(anywhere)
    guest.open(f"{PAGE}/{account}/keys")
    call = guest.posting(f"{PAGE}/{account}/keys", name="Twice", password=PASSWORD, **SCOPES)
    answers = anywhere.together([call] * 5)
    assert sorted(answer.status_code for answer in answers) == [200, 303, 303, 303, 303]
    assert len({key for answer in answers for key in KEY.findall(answer.text)}) == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"password": "not the password"}, "Incorrect password"),
        ({"password": ""}, "Enter your password to continue"),
        ({"name": ""}, "Enter a name for the key"),
        ({"payments-read": "", "payments-write": ""}, "at least one permission"),
        ({"days": "0"}, "from 1 to 3650"),
        ({"days": "3651"}, "from 1 to 3650"),
        ({"days": "-1"}, "from 1 to 3650"),
        ({"days": "9" * 4000}, "from 1 to 3650"),
    ],
)
def test_no_key_is_made_of_a_form_with_faults(still: InProcess, changes: dict[str, str], says: str) -> None:
    merchant = still.merchants[1]
    guest = Guest(still).signed_in(merchant.email)
    still.clock.advance(RECENT_PROOF_MS + 1)
    guest.open(f"{PAGE}/{merchant.account}/keys")
    fields = {"name": "Till", "password": PASSWORD, **SCOPES, **changes}
    assert guest.post(f"{PAGE}/{merchant.account}/keys", **fields).status_code == 422
    assert says in guest.text
    assert not KEY.search(guest.page)


def test_a_key_ends_after_a_question_and_once(still: InProcess) -> None:
    merchant = still.merchant()
    guest = Guest(still).signed_in(merchant.email)
    guest.open(f"{PAGE}/{merchant.account}/keys")
    path = f"{PAGE}/{merchant.account}/keys/{merchant.key_id}/revoke"
    assert path in guest.page
    guest.open(path)
    assert "cannot be undone" in guest.text
    assert still.send(create(merchant.key)).status_code == 201
    call = guest.posting(path)
    answers = still.together([call, call])
    assert [answer.status_code for answer in answers] == [303, 303]
    still.poll()
    guest.follow(guest.seen(answers[0]))
    assert "The key was revoked" in guest.text
    assert still.send(create(merchant.key)).status_code == 401
    guest.open(path)
    assert "already revoked" in guest.text
    with still.books() as books:
        rows = books.select(
            "SELECT count(*) FROM audit WHERE action = 'key.revoked' AND subject = ?", f"key {merchant.key_id}"
        )
    assert rows == [(1,)]


def test_what_is_anothers_is_answered_like_what_does_not_exist(anywhere: World) -> None:
    victim, intruder = anywhere.merchants[1], anywhere.merchants[2]
    guest = Guest(anywhere).signed_in(intruder.email)
    guest.open(f"{PAGE}/{intruder.account}")
    before = anywhere.counts()

    def told(method: str, path: str) -> tuple[int, str]:
        content = b"token=0" if method == "POST" else None
        answer = anywhere.send(guest.call(method, path, content, content_type=FORM))
        return answer.status_code, re.sub(r"req_\w+", "", answer.text)

    nothing = told("GET", f"{PAGE}/123456789012")
    assert nothing[0] == 404
    places = [
        f"{PAGE}/{place}" for place in (victim.account, victim.personal, victim.test_account, intruder.personal, "x")
    ]
    calls = [("GET", place) for place in places]
    calls += [(method, f"{place}/keys") for place in places for method in ("GET", "POST")]
    ids = (victim.key_id, "key_" + "0" * 18, "key_%00", "x" * 900)
    # Also below what is their own: live or test, an address names the keys of one account.
    places += [f"{PAGE}/{intruder.account}", f"{PAGE}/{intruder.test_account}"]
    calls += [(method, f"{place}/keys/{key}/revoke") for place in places for key in ids for method in ("GET", "POST")]
    calls += [(method, f"{PAGE}/{intruder.test_account}/keys/{intruder.key_id}/revoke") for method in ("GET", "POST")]
    for call in calls:
        assert told(*call) == nothing, call
    assert anywhere.counts() == before
    assert anywhere.send(create(victim.key)).status_code == 201


def test_a_form_of_one_business_makes_no_key_for_another(still: InProcess) -> None:
    merchant = still.merchant()
    guest, account = Guest(still).signed_in(merchant.email), merchant.account
    guest.open(PAGE)
    guest.post(PAGE, **ASKED)
    guest.open(PAGE)
    other = next(number for number in re.findall(r"/business/(\d{12})", guest.page) if number != account)
    still.act("account approve", account=other)
    guest.open(f"{PAGE}/{account}/keys")
    call = guest.posting(f"{PAGE}/{account}/keys", name="Till", password=PASSWORD, **SCOPES)
    for elsewhere in (other, merchant.test_account):  # Nor does one with real money make one for tests.
        assert still.send(call._replace(path=f"{PAGE}/{elsewhere}/keys")).status_code == 403


def test_operators_are_warned_of_names_that_look_like_others(still: InProcess) -> None:
    other = still.act("account request", account=still.merchants[0].personal, name="Zeytin Evi")["account"]
    still.act("account approve", account=other)
    asked = {"Z\u0435ytin \u0415vi": "", "QIRSH Support": "", "Olive Corner of Aleppo": ""}  # Two letters are Cyrillic.
    for name in asked:
        guest = citizen(still)
        guest.post(PAGE, **{**ASKED, "name": name})
        guest.open(PAGE)
        asked[name] = number_on(guest)
    listed = {item["account"]: item["resembles"] for item in still.act("account list", state="requested")["items"]}
    first, second, third = asked.values()
    assert listed[first] == f"{other} Zeytin Evi"
    assert listed[second] == "the name of this service"
    assert listed[third] == ""
    assert still.act("account show", account=first)["resembles"] == listed[first]
    personal = still.merchants[1].personal
    refused = still.run(still.tried("account request", {"account": personal, "name": "✓ Shop", "returnOrigins": ""}))
    assert (refused.code, "check marks" in refused.detail) == ("invalid", True)


@pytest.mark.both_engines
def test_lists_of_operators_are_bounded_and_go_on(still: InProcess) -> None:
    merchant = still.merchants[0]
    keys = still.act("key list", account=merchant.account)
    assert merchant.key_id in {item["id"] for item in keys["items"]}
    assert merchant.key not in str(keys)
    seen: list[str] = []
    after = ""
    while True:
        page = still.act("account list", after=after)
        assert len(page["items"]) <= 100
        seen += [item["account"] for item in page["items"]]
        after = page["next"]
        if not after:
            break
    with still.books() as books:
        rows = books.select("SELECT number FROM account WHERE mode = 'live' AND kind <> 'house' ORDER BY number")
    assert seen == [str(number) for (number,) in rows]
    assert {item["state"] for item in still.act("account list", state="approved")["items"]} == {"approved"}
    assert still.run(still.tried("account list", {"state": "lost"})).code == "invalid"


def test_two_tabs_at_once_make_no_key_too_many(still: InProcess) -> None:
    guest, account = owner(still)
    with still.books() as books:
        [(person,)] = books.select("SELECT owner FROM account WHERE number = ?", int(account))
        [(working,)] = books.select(
            "SELECT count(*) FROM api_key WHERE account = ? AND revoked_at IS NULL", int(account)
        )

    async def fill() -> None:
        for number in range(working, KEYS_MAX - 1):
            made = IssueKey(
                id=f"key_{account}_{number}",
                account=int(account),
                hash=number.to_bytes(32, "big"),
                hint="hint",
                name="Filler",
                scopes="payments:read",
                expires_at=None,
                actor="test",
                member=person,
            )
            granted(await still.context.engine.submit(made))

    still.run(fill())
    calls = []
    for _ in range(2):
        guest.open(f"{PAGE}/{account}/keys")
        calls.append(guest.posting(f"{PAGE}/{account}/keys", name="Tab", password=PASSWORD, **SCOPES))
    answers = still.together(calls)
    assert sorted(answer.status_code for answer in answers) == [200, 422]
    [refused] = [answer for answer in answers if answer.status_code == 422]
    assert "You have too many keys" in refused.text
    assert not KEY.search(refused.text)


@pytest.mark.both_engines
def test_two_tabs_at_once_ask_for_no_business_too_many(still: InProcess) -> None:
    guest = citizen(still)
    calls = []
    for number in range(BUSINESSES_MAX + 1):
        guest.open(PAGE)
        calls.append(guest.posting(PAGE, **ASKED | {"name": f"Shop {number}"}))
    answers = still.together(calls)
    assert sorted(answer.status_code for answer in answers) == [303] * BUSINESSES_MAX + [422]
    assert len(owned(still, guest)) == BUSINESSES_MAX
