"""Staff of a business on its pages: invited by mail, joined, changed, removed; and what each of them is shown."""

import re

import pytest

from qirsh.domain.account import Mode
from qirsh.domain.limits import INVITATION_MS, INVITATIONS_MAX, MAILS_ASKED_PER_HOUR, RECENT_PROOF_MS
from qirsh.domain.staff import MEMBER_ROLES, Right, may
from qirsh.web.business.routes import ROUTES
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import FORM, Guest
from tests.live import PASSWORD, InProcess, World, in_process
from tests.mailbox import words_to
from tests.postgres import PostgresServer
from tests.web.business.staff import CAPS, home, invite, join, owner
from tests.web.tenant import turn_on


def test_somebody_is_invited_accepts_and_works_there(still: InProcess) -> None:
    boss, merchant = owner(still)
    person = still.person(verified=False)
    invitation = invite(boss, merchant, person.email, "cashier")
    assert words_to(still, person.email)["invitation"]["url"].endswith(f"/invitations/{invitation}")
    assert person.email in boss.read(f"{home(merchant)}/staff")
    guest = Guest(still).signed_in(person.email)
    assert guest.open(home(merchant)).status_code == 404
    guest.open("/business")
    assert f'href="/invitations/{invitation}"' in guest.page
    guest.open(f"/invitations/{invitation}")
    assert "Cashier" in guest.text
    assert "12.50" in guest.text
    guest.follow(guest.post(f"/invitations/{invitation}", answer="accept"))
    assert "Shop" in guest.text
    guest.open("/business")
    assert f'href="{home(merchant)}"' in guest.page
    told = words_to(still, merchant.email)["member_joined"]
    assert told["url"].endswith(f"{home(merchant)}/staff")
    assert "12.50" in boss.read(f"{home(merchant)}/staff")


@pytest.mark.both_engines
def test_an_invitation_is_answered_once_and_by_its_own_address_only(still: InProcess) -> None:
    boss, merchant = owner(still)
    person, other = still.person(verified=True), still.person(verified=True)
    path = f"/invitations/{invite(boss, merchant, person.email)}"
    stranger = Guest(still)
    stranger.open(path)
    assert f"/sign-in?next={path}" in stranger.page
    assert f"/sign-up?next={path}" in stranger.page
    assert person.email not in stranger.text
    wrong = Guest(still).signed_in(other.email)
    wrong.open(path)
    assert "for another e-mail address" in wrong.text
    assert f'action="{path}"' not in wrong.page
    right = Guest(still).signed_in(person.email)
    right.open(path)
    call = right.posting(path, answer="accept")
    stolen = call._replace(headers=wrong.call("POST", path, content_type=FORM).headers)
    assert still.send(stolen).status_code in {403, 404}
    assert [answer.status_code for answer in still.together([call, call])] in ([303, 404], [404, 303])
    assert right.open(path).status_code == 404


def test_an_invitation_that_is_declined_withdrawn_or_old_is_over(still: InProcess) -> None:
    boss, merchant = owner(still)
    person = still.person(verified=True)
    guest = Guest(still).signed_in(person.email)
    path = f"/invitations/{invite(boss, merchant, person.email)}"
    guest.open(path)
    assert guest.post(path, answer="decline").headers["location"] == "/business"
    assert guest.open(path).status_code == 404
    invitation = invite(boss, merchant, person.email)
    boss.open(f"{home(merchant)}/staff")
    boss.follow(boss.post(f"{home(merchant)}/invitations/{invitation}/withdraw"))
    assert "was withdrawn" in boss.text
    assert guest.open(f"/invitations/{invitation}").status_code == 404
    invitation = invite(boss, merchant, person.email)
    assert guest.open(f"/invitations/{invitation}").status_code == 200
    still.clock.advance(INVITATION_MS)
    assert Guest(still).open(f"/invitations/{invitation}").status_code == 404


def test_a_known_and_an_unknown_address_are_answered_alike(still: InProcess) -> None:
    boss, merchant = owner(still)
    path = f"{home(merchant)}/staff/invite"
    told = []
    for email in (still.person(verified=True).email, "nobody@example.org"):
        boss.open(path)
        answer = boss.post(path, email=email, role="viewer", **CAPS)
        boss.follow(answer)
        told.append((answer.status_code, answer.headers["location"], boss.text.count(email)))
    assert told[0] == told[1]


def test_what_is_wrong_with_an_invitation_stands_beside_it(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    path = f"{home(merchant)}/staff/invite"
    for changes, says in (
        ({"email": "nobody"}, "valid e-mail address"),
        ({"role": "owner"}, "Choose one of these"),
        ({"role": ""}, "Choose one of these"),
        ({"role": "cashier", "cap_usd": "12,5.0"}, "Enter a valid amount, such as"),
        ({"role": "cashier", "cap_usd": "-1"}, "Enter a valid amount, such as"),
    ):
        with subtests.test(**changes):
            boss.open(path)
            typed = {"email": "a@example.org", "role": "viewer", **CAPS, **changes}
            assert boss.post(path, **typed).status_code == 422
            assert says in boss.text


def test_who_works_there_already_is_not_invited(still: InProcess) -> None:
    boss, merchant = owner(still)
    person = still.person(verified=True)
    invitation = invite(boss, merchant, person.email)
    guest = Guest(still).signed_in(person.email)
    guest.open(f"/invitations/{invitation}")
    guest.post(f"/invitations/{invitation}", answer="accept")
    path = f"{home(merchant)}/staff/invite"
    for email in (person.email.upper(), merchant.email):
        boss.open(path)
        assert boss.post(path, email=email, role="viewer", **CAPS).status_code == 422
        assert "This person works here already." in boss.text
        assert email in boss.page
    with still.books() as books:
        assert books.select("SELECT id FROM invitation WHERE account = ?", int(merchant.account)) == []
    # At another shop they are like anybody.
    other = still.merchant()
    invite(Guest(still).signed_in(other.email), other, person.email)


def test_the_twenty_first_invitation_is_refused_in_words(still: InProcess) -> None:
    boss, merchant = owner(still)
    for number in range(INVITATIONS_MAX):
        invite(boss, merchant, f"one.{number}@example.org")
    path = f"{home(merchant)}/staff/invite"
    boss.open(path)
    assert boss.post(path, email="late@example.org", role="viewer", **CAPS).status_code == 422
    assert "at most 20 invitations" in boss.text
    # Another one to the same address takes the place of the first.
    invite(boss, merchant, "one.0@example.org", "manager")


def test_a_business_is_no_way_to_write_to_everybody(engine: PostgresServer | None) -> None:
    with in_process(engine, shops=1, people=0) as world:
        world.change(has_mail=True)
        world.limit(RateLimits(clock=lambda: 0))
        boss, merchant = owner(world)
        path, answers = f"{home(merchant)}/staff/invite", []
        for number in range(MAILS_ASKED_PER_HOUR + 1):
            boss.open(path)
            answers.append(boss.post(path, email=f"someone.{number}@example.org", role="viewer", **CAPS).status_code)
            with world.books() as books:
                rows = books.select("SELECT id FROM invitation WHERE account = ?", int(merchant.account))
            boss.open(f"{home(merchant)}/staff")
            for (invitation,) in rows:
                boss.post(f"{home(merchant)}/invitations/{invitation}/withdraw")
    assert answers == [303] * MAILS_ASKED_PER_HOUR + [429]


def test_who_may_do_what_is_changed_with_the_password_after_ten_minutes(still: InProcess) -> None:
    boss, merchant = owner(still)
    join(still, merchant, "viewer", boss)
    still.clock.advance(RECENT_PROOF_MS + 1)
    path = f"{home(merchant)}/staff/invite"
    fields = {"email": "a@example.org", "role": "viewer", **CAPS}
    boss.open(path)
    assert boss.post(path, **fields, password="wrong").status_code == 422
    assert "Incorrect password" in boss.text
    assert boss.post(path, **fields, password=PASSWORD).status_code == 303
    boss.open(path)
    assert 'name="password"' not in boss.page


@pytest.mark.both_engines
def test_a_role_is_changed_and_felt_at_once(still: InProcess) -> None:
    boss, merchant = owner(still)
    guest = join(still, merchant, "viewer", boss)
    assert guest.open(f"{home(merchant)}/keys").status_code == 403
    boss.open(f"{home(merchant)}/staff")
    [person] = set(re.findall(rf'href="{home(merchant)}/staff/(\d+)"', boss.page))
    path = f"{home(merchant)}/staff/{person}"
    boss.open(path)
    boss.follow(boss.post(path, role="developer", **CAPS))
    assert "Developer" in boss.text
    assert guest.open(f"{home(merchant)}/keys").status_code == 200
    assert words_to(still, guest.email)["role_changed"]["name"] == "Shop"
    boss.open(f"{path}/remove")
    boss.follow(boss.post(f"{path}/remove"))
    assert "no longer have access" in boss.text
    assert guest.open(f"{home(merchant)}/keys").status_code == 404
    assert words_to(still, guest.email)["member_removed"]["name"] == "Shop"


def test_a_form_of_who_has_lost_the_role_is_refused_by_the_rule(still: InProcess) -> None:
    boss, merchant = owner(still)
    guest = join(still, merchant, "developer", boss)
    guest.open(f"{home(merchant)}/keys")
    call = guest.posting(f"{home(merchant)}/keys", name="Late", days="", **{"payments-read": "yes"})
    boss.open(f"{home(merchant)}/staff")
    [person] = set(re.findall(rf'href="{home(merchant)}/staff/(\d+)"', boss.page))
    boss.open(f"{home(merchant)}/staff/{person}")
    boss.post(f"{home(merchant)}/staff/{person}", role="viewer", **CAPS)
    answer = guest.seen(still.send(call))
    assert answer.status_code == 403
    assert "Viewer" in guest.text
    assert "Create and revoke API keys" in guest.text


def test_a_member_leaves(still: InProcess) -> None:
    _, merchant = owner(still)
    guest = join(still, merchant, "cashier")
    guest.open(home(merchant))
    guest.open(f"{home(merchant)}/leave")
    guest.follow(guest.post(f"{home(merchant)}/leave"))
    assert "have left this business" in guest.text
    assert guest.open(home(merchant)).status_code == 404


def test_a_member_who_deletes_their_account_is_no_member_any_more(still: InProcess) -> None:
    boss, merchant = owner(still)
    guest = join(still, merchant, "cashier", boss)
    guest.open("/wallet/erase")
    assert guest.post("/wallet/erase", password=PASSWORD).status_code == 303
    assert "Deleted account" not in boss.read(f"{home(merchant)}/staff")
    assert "Deleted their account and left the business Deleted account" in boss.read(f"{home(merchant)}/activity")
    with still.books() as books:
        for table in ("member", "member_cap"):
            assert books.select(f"SELECT count(*) FROM {table} WHERE account = ?", int(merchant.account)) == [(0,)]  # noqa: S608 - ours


def test_a_manager_sees_the_staff_and_changes_some(still: InProcess) -> None:
    boss, merchant = owner(still)
    accountant, cashier = join(still, merchant, "accountant", boss), join(still, merchant, "cashier", boss)
    manager = join(still, merchant, "manager", boss)
    manager.open(f"{home(merchant)}/staff")
    assert {accountant.email, cashier.email} <= set(re.findall(r"[\w.+-]+@[\w.]+\w", manager.text))
    changeable = set(re.findall(rf'href="{home(merchant)}/staff/(\d+)"', manager.page))
    assert len(changeable) == 1
    manager.open(f"{home(merchant)}/staff/invite")
    assert set(re.findall(r'<option value="(\w+)"', manager.page)) == {"cashier", "viewer"}
    boss.open(f"{home(merchant)}/staff")
    for person in set(re.findall(rf'href="{home(merchant)}/staff/(\d+)"', boss.page)) - changeable:
        assert manager.open(f"{home(merchant)}/staff/{person}").status_code == 404


def test_two_step_verification_is_required_of_members(still: InProcess) -> None:
    boss, merchant = owner(still)
    guest = join(still, merchant, "viewer", boss)
    boss.open(f"{home(merchant)}/staff")
    # Who asks it of others goes first.
    assert boss.post(f"{home(merchant)}/staff/policy", two_step="yes").status_code == 422
    assert "Set up two-step verification for yourself first." in boss.text
    assert 'href="/wallet/security"' in boss.page
    assert guest.open(home(merchant)).status_code == 200
    turn_on(still, boss)
    boss.open(f"{home(merchant)}/staff")
    assert boss.post(f"{home(merchant)}/staff/policy", two_step="yes").status_code == 303
    assert guest.open(home(merchant)).status_code == 403
    assert "requires two-step verification" in guest.text
    assert boss.open(home(merchant)).status_code == 200
    boss.open(f"{home(merchant)}/staff")
    boss.post(f"{home(merchant)}/staff/policy")
    assert guest.open(home(merchant)).status_code == 200


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", ["live", "test"])
def test_every_page_of_a_business_is_for_those_whose_role_has_its_right(
    still: InProcess, mode: Mode, *, is_whole: bool
) -> None:
    boss, merchant = owner(still)
    staff = {role: join(still, merchant, role, boss) for role in MEMBER_ROLES}
    former = join(still, merchant, "manager", boss)
    former.open(f"{home(merchant)}/leave")
    former.post(f"{home(merchant)}/leave")
    guests = {"nobody": Guest(still), "former": former, "stranger": Guest(still).signed_in(still.merchants[0].email)}
    account = merchant.account if mode == "live" else merchant.test_account
    routes = [route for route in ROUTES if route.path.startswith("/business/{account}")]
    assert len(routes) > 30
    for place, route in enumerate(routes):
        assert route.right is not None
        having = [role for role in MEMBER_ROLES if may(role, Right(route.right), mode)]
        lacking = [role for role in MEMBER_ROLES if role not in having]
        # One role that has the right and one that has not: others for the next page.
        some = [roles[place % len(roles)] for roles in (having, lacking) if roles]
        path = route.path.replace("{account}", account).replace("{id}", "none")
        unknown = path.replace(account, "123456789012")
        for name, guest in (guests | {role: staff[role] for role in (MEMBER_ROLES if is_whole else some)}).items():
            content = b"token=0" if route.method == "POST" else None
            answer = still.send(guest.call(route.method, path, content, content_type=FORM))
            where = (name, route.method, path)
            if name == "nobody":
                assert answer.headers["location"].partition("?")[0] == "/sign-in", where
            elif name in guests and mode == "test":  # The account has one owner and one staff in both modes.
                assert answer.status_code == 404, where
            elif name in guests:
                nothing = still.send(guest.call(route.method, unknown, content, content_type=FORM))
                assert (answer.status_code, nothing.status_code) == (404, 404), where
                assert re.sub(r"req_\w+", "", answer.text) == re.sub(r"req_\w+", "", nothing.text), where
            elif name in having:
                says = "Your role does not allow this"
                assert says not in answer.text, where
            else:
                assert answer.status_code == 403, where
                assert name.title() in answer.text, where


def test_staff_works_on_every_engine(anywhere: World) -> None:
    merchant = anywhere.merchants[4] if len(anywhere.merchants) > 4 else anywhere.merchants[0]
    boss = Guest(anywhere).signed_in(merchant.email)
    path = f"/business/{merchant.account}/staff/invite"
    boss.open(path)
    boss.follow(boss.post(path, email="somebody@example.org", role="cashier", **CAPS))
    assert "somebody@example.org" in boss.text
