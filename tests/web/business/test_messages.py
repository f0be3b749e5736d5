"""Messages of operators on the pages of a business: mailed without their text, read, answered, listed."""

import pytest

from qirsh.domain.limits import MESSAGE_CHARACTERS_MAX, MESSAGES_IN_A_ROW_MAX
from tests.guest import Guest
from tests.live import InProcess, Merchant
from tests.mailbox import words_to
from tests.web.business.staff import home, join, owner

TEXT = "What do you sell?\nPlease send the papers."


def send(world: InProcess, merchant: Merchant, text: str = TEXT) -> None:
    world.act("message send", account=merchant.account, text=text)
    world.clock.advance(1)  # An answer takes longer than that.


def unread(world: InProcess, merchant: Merchant) -> list[str]:
    """What operators have not opened of this shop."""
    found = world.act("message list")["messages"]
    return [one["text"] for one in found if one["account"] == merchant.account]


@pytest.mark.both_engines
def test_an_owner_is_told_reads_it_under_business_and_answers(still: InProcess) -> None:
    boss, merchant = owner(still)
    send(still, merchant)
    told = words_to(still, merchant.email)["shop_message"]
    assert told == {"name": "Shop", "url": f"{still.context.base_url}/business"}
    assert "Please send the papers" in boss.read("/business")
    assert f'href="{home(merchant)}/messages"' in boss.page
    path = f"{home(merchant)}/messages"
    boss.open(path)
    assert "Support" in boss.text
    call = boss.posting(path, text="  Bread,\r\nfresh <b>every</b> day  ")
    assert {answer.status_code for answer in still.together([call] * 3)} == {303}
    boss.open(path)
    assert boss.text.count("fresh <b>every</b> day") == 1
    assert "Please send the papers" not in boss.read("/business")
    assert unread(still, merchant) == ["Bread,\nfresh <b>every</b> day"]
    shown = still.act("message show", account=merchant.account)["messages"]
    assert [(one["from"], one["text"]) for one in shown] == [
        ("operator", TEXT),
        ("owner", "Bread,\nfresh <b>every</b> day"),
    ]
    assert shown[0]["readAt"]
    assert unread(still, merchant) == []
    boss.open(f"{home(merchant)}/activity?act=message")
    assert "Wrote a message" in boss.text
    assert "Wrote to support" in boss.text


def test_a_message_is_marked_as_read_without_an_answer(still: InProcess) -> None:
    boss, merchant = owner(still)
    send(still, merchant)
    path = f"{home(merchant)}/messages"
    boss.open(path)
    assert "Mark as read" in boss.text
    boss.follow(boss.post(f"{path}/read"))
    assert "Mark as read" not in boss.text
    assert "Please send the papers" in boss.text
    assert "Please send the papers" not in boss.read("/business")


def test_whoever_waits_for_approval_or_is_suspended_is_written_to_and_answers(still: InProcess) -> None:
    boss, merchant = owner(still)
    still.act("account suspend", account=merchant.account)
    send(still, merchant)
    path = f"{home(merchant)}/messages"
    boss.open(path)
    assert boss.post(path, text="It is in the mail.").status_code == 303
    person = still.person(verified=True)
    asked = still.act("account request", account=person.account, name="Bakery")["account"]
    still.act("message send", account=asked, text="Which street?")
    guest = Guest(still).signed_in(person.email)
    assert "Which street?" in guest.read("/business")
    guest.open(f"/business/{asked}/messages")
    assert guest.post(f"/business/{asked}/messages", text="Straight Street").status_code == 303
    found = still.act("message list")["messages"]
    assert ("Bakery", "Straight Street") in {(one["name"], one["text"]) for one in found}


def test_what_is_wrong_with_an_answer_stands_beside_it(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[str, str]] = [
        ("", "Required"),
        (" \r\n ", "Required"),
        ("x" * (MESSAGE_CHARACTERS_MAX + 1), "at most 2000 characters"),
        ("\U0001f600" * (MESSAGE_CHARACTERS_MAX + 1), "at most 2000 characters"),
        ("a\u202eb", "without hidden ones"),
    ]
    for text, says in cases:
        with subtests.test(text=text, says=says):
            path = f"{home(merchant)}/messages"
            boss.open(path)
            assert boss.post(path, text=text).status_code == 422
            assert says in boss.text
            assert text.strip() in boss.page
            assert unread(still, merchant) == []


def test_the_longest_message_may_be_of_the_longest_characters(still: InProcess) -> None:
    boss, merchant = owner(still)
    path, text = f"{home(merchant)}/messages", "\U0001f600" * MESSAGE_CHARACTERS_MAX
    boss.open(path)
    boss.follow(boss.post(path, text=text))
    assert text in boss.page


def test_the_twenty_first_in_a_row_waits_for_an_answer(still: InProcess) -> None:
    boss, merchant = owner(still)
    path = f"{home(merchant)}/messages"
    for number in range(MESSAGES_IN_A_ROW_MAX):
        boss.open(path)
        assert boss.post(path, text=f"number {number}").status_code == 303
    boss.open(path)
    assert boss.post(path, text="one more").status_code == 422
    assert "20 messages in a row" in boss.text
    assert "one more" in boss.page
    send(still, merchant)
    boss.open(path)
    assert boss.post(path, text="one more").status_code == 303


def test_messages_are_for_the_owner_and_of_the_live_account(still: InProcess) -> None:
    boss, merchant = owner(still)
    send(still, merchant)
    manager = join(still, merchant, "manager", boss)
    assert manager.open(f"{home(merchant)}/messages").status_code == 403
    assert "Please send the papers" not in manager.read("/business")
    assert boss.open(f"/business/{merchant.test_account}/messages").status_code == 404
    assert "/messages" not in boss.read(f"/business/{merchant.test_account}")
    for account, text in ((merchant.account, ""), (merchant.account, "a\u202eb"), (merchant.test_account, "x")):
        reply = still.run(still.tried("message send", {"account": account, "text": text}))
        assert reply.code in {"invalid", "not_found"}
