"""Views of payments that somebody has saved: links above the list, each person's own, under one name each."""

import re

import pytest

from qirsh.domain.limits import SAVED_VIEWS_MAX
from tests.guest import Guest
from tests.live import InProcess
from tests.web.business.staff import home, join, owner


def save(guest: Guest, base: str, name: str, **query: str) -> int:
    """What a list was asked for, by its own form."""
    guest.read(f"{base}/payments", **query)
    answer = guest.post(f"{base}/payments/views", name=name)
    if answer.status_code == 303:
        guest.follow(answer)
    return answer.status_code


def links(guest: Guest) -> dict[str, str]:
    """Of the saved views on the page: where each leads, by its name."""
    found = re.findall(r'<a href="([^"]+)"[^>]*><bdi>([^<]*)</bdi></a>', guest.page.partition('id="views"')[2])
    return {name: href.replace("&amp;", "&") for href, name in found}


def remover(guest: Guest) -> str:
    """The action of the form that deletes the view which is open."""
    [action] = re.findall(r'action="([^"]+/views/sv_\w+/remove)"', guest.page)
    return str(action)


@pytest.mark.both_engines
def test_a_view_is_saved_opened_and_deleted(still: InProcess) -> None:
    boss, merchant = owner(still)
    base = home(merchant)
    boss.read(f"{base}/payments")
    assert "Save this view" not in boss.text  # There is nothing to save.
    assert save(boss, base, "  Big   ones ", status="paid", currency="EUR", q="شاي & قهوة") == 303
    assert "The view was saved." in boss.text
    [(name, href)] = links(boss).items()
    assert name == "Big ones"
    boss.read(f"{base}/payments")
    assert links(boss) == {name: href}
    boss.open(href)
    assert boss.value("q") == "شاي & قهوة"
    assert 'value="EUR" selected' in boss.page
    assert f'aria-current="true"><bdi>{name}' in boss.page
    assert "Save this view" not in boss.text
    action = remover(boss)
    call = boss.posting(action)
    for _ in range(2):  # Twice is once.
        boss.follow(boss.seen(still.send(call)))
        assert "The view was deleted." in boss.text
        assert links(boss) == {}
    text = boss.read(f"{base}/activity", act="view")
    assert (text.count("Saved a view of payments"), text.count("Deleted a saved view")) == (1, 1)


def test_what_is_kept_is_what_the_page_makes_of_it(still: InProcess) -> None:
    boss, merchant = owner(still)
    path = f"{home(merchant)}/payments/views"
    boss.read(f"{home(merchant)}/payments", status="paid")
    fields = boss.form(path)
    typed = {"to": "2026-12-31", **fields, "currency": "USD", "q": " <b> "}
    assert boss.post(path, typed, name="Mine").status_code == 303
    with still.books() as books:
        rows = books.select("SELECT query, mode FROM saved_view WHERE account = ?", int(merchant.account))
    assert [*map(tuple, rows)] == [("q=%3Cb%3E&status=paid&currency=USD&to=2026-12-31", "live")]
    for changes in ({"after": "x"}, {"status": "odd"}, {"from": "2026-02-30"}, {"status": ""}):
        assert boss.post(path, fields | changes, name="Other").status_code == 422
    assert boss.post(path, {"name": "x", "status": "paid"}).status_code == 403  # Without its token.


def test_what_is_wrong_with_a_name_stands_beside_it(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[str, str]] = [
        ("", "Required."),
        (" ", "Required."),
        ("x" * 61, "too long"),
        ("a\u202eb", "too long"),
    ]
    for name, says in cases:
        with subtests.test(name=name, says=says):
            assert save(boss, home(merchant), name, status="paid") == 422
            assert says in boss.wrong["name"]
            assert boss.value("name") == name
            assert 'name="status" value="paid"' in boss.page


def test_a_name_is_used_once_and_twenty_are_enough(still: InProcess) -> None:
    boss, merchant = owner(still)
    base = home(merchant)
    for number in range(SAVED_VIEWS_MAX):
        assert save(boss, base, f"View {number}", q=f"word{number}") == 303
    assert save(boss, base, "View 0", status="paid") == 422
    assert "another view with this name" in boss.wrong["name"]
    assert save(boss, base, "View 21", status="paid") == 422
    assert "You have saved 20 views" in boss.wrong["name"]
    boss.open(links(boss)["View 7"])
    boss.follow(boss.post(remover(boss)))
    assert save(boss, base, "View 21", status="paid") == 303
    # The same form again changes nothing.
    assert len(links(boss)) == SAVED_VIEWS_MAX


def test_views_are_ones_own_at_one_account(still: InProcess) -> None:
    boss, merchant = owner(still)
    base, test = home(merchant), f"/business/{merchant.test_account}"
    viewer = join(still, merchant, "viewer", boss)
    assert save(boss, base, "Mine", status="paid") == 303
    action = remover(boss)
    token = boss.form(action)
    for guest, where in ((viewer, base), (viewer, test), (boss, test)):
        guest.read(f"{where}/payments", status="paid")
        assert "Mine" not in guest.text
    assert viewer.post(action, token).status_code == 404
    assert viewer.post(action, {"token": "0"}).status_code == 404
    assert boss.post(action.replace(base, test), {"token": "0"}).status_code == 404
    assert save(viewer, base, "Mine", status="pending") == 303
    boss.read(f"{base}/payments")
    assert links(boss) == {"Mine": f"{base}/payments?status=paid"}


def test_views_go_with_who_leaves(still: InProcess) -> None:
    boss, merchant = owner(still)
    guest = join(still, merchant, "viewer", boss)
    assert save(guest, home(merchant), "Mine", status="paid") == 303
    assert save(guest, f"/business/{merchant.test_account}", "Mine", status="paid") == 303
    guest.open(f"{home(merchant)}/leave")
    guest.follow(guest.post(f"{home(merchant)}/leave"))
    with still.books() as books:
        assert books.select("SELECT count(*) FROM saved_view WHERE account = ?", int(merchant.account)) == [(0,)]


def test_a_suspended_business_saves_nothing(still: InProcess) -> None:
    boss, merchant = owner(still)
    base = home(merchant)
    assert save(boss, base, "Mine", status="paid") == 303
    boss.read(f"{base}/payments", status="pending")
    saving = boss.posting(f"{base}/payments/views", name="Late")
    boss.read(f"{base}/payments", status="paid")
    removing = boss.posting(remover(boss))
    still.act("account suspend", account=merchant.account)
    assert [still.send(call).status_code for call in (saving, removing)] == [403, 403]
    boss.read(f"{base}/payments", status="pending")
    assert "Save this view" not in boss.text
