"""Money in and out at the desk and in the console: asked for by one, shown to another with the balance, moved once."""

import re
from typing import Any

import pytest

from tests.live import InProcess, refund
from tests.web.operator.conftest import Opened
from tests.web.operator.console import ConsoleGuest, console, operator_with


@pytest.fixture
def world(opened: Opened) -> InProcess:
    return opened(1, 2)


def slip(world: InProcess, reference: str = "came", amount: str = "5.00", **more: str) -> dict[str, Any]:
    fields = {"account": world.customers[0].account, "currency": "USD", "amount": amount, "reference": reference}
    return {**fields, "reason": "as the bank says", **more}


def tried(world: InProcess, act: str, operator: int = 0, **words: object) -> tuple[str, str]:
    reply = world.run(world.tried(act, {"reason": "because", **words}, operator))
    return reply.code, reply.detail


def held(world: InProcess) -> int:
    with world.books() as books:
        return books.held(world.customers[0].account)


# At the desk.


@pytest.mark.both_engines
def test_a_wrong_deposit_is_reversed_by_two_and_the_transfer_names_what_it_takes_back(world: InProcess) -> None:
    before = held(world)
    world.agree("deposit ask", **slip(world))
    done = world.agree("reverse ask", reverses="came", reference="recalled", reason="recalled by the bank")
    assert (done["action"], done["state"], done["reverses"], done["amount"]) == ("reversal", "done", "came", "5.00")
    assert held(world) == before
    with world.books() as books:
        rows = books.select(
            "SELECT b.bank_order FROM transfer t JOIN transfer b ON b.id = t.reverses WHERE t.bank_order = 'recalled'"
        )
        assert [reference for (reference,) in rows] == ["came"]
    code, detail = tried(world, "reverse ask", reverses="came", reference="again")
    assert (code, "by the order recalled" in detail) == ("already_reversed", True)
    code, detail = tried(world, "reverse ask", reverses="recalled", reference="again")
    assert (code, "is a reversal itself" in detail) == ("move_not_allowed", True)


@pytest.mark.usefixtures("alone")
def test_a_reversal_of_money_that_is_gone_says_by_how_much(world: InProcess) -> None:
    customer = world.customers[0]
    poor = world.person(verified=True)
    words = slip(world, account=poor.account, amount="100.00")
    world.agree("deposit ask", **words)
    asked = world.act("reverse ask", reverses="came", reference="recalled", reason="recalled")
    world.agree("withdraw ask", **slip(world, "left", "12.00", account=poor.account))
    code, detail = tried(world, "proposal confirm", 1, id=asked["id"], digest=asked["digest"])
    assert (code, "short by 12.00 USD: it has 88.00 USD" in detail) == ("insufficient_funds", True)
    code, detail = tried(world, "reverse ask", reverses="came", reference="recalled once more")
    assert (code, "short by 12.00 USD" in detail) == ("insufficient_funds", True)
    assert customer.account != poor.account


def test_payments_and_refunds_are_not_reversed_and_it_says_so(world: InProcess) -> None:
    merchant = world.merchants[0]
    payment = world.paid(merchant, world.customers[0], amount=300)
    refunded = world.data(refund(merchant.key, payment, amount=100))["id"]
    for wanted, what in ((payment, "payment"), (refunded, "refund")):
        code, detail = tried(world, "reverse ask", reverses=wanted, reference="back")
        assert (code, f"This is a {what}, which is not reversed" in detail) == ("move_not_allowed", True)
    code, detail = tried(world, "reverse ask", reverses="nothing", reference="back")
    assert (code, detail) == ("invalid", "reverses: no order of the house account bank has this reference")


@pytest.mark.both_engines
def test_a_correction_goes_either_way_under_a_reference_of_our_own(world: InProcess) -> None:
    before = held(world)
    words = slip(world)
    del words["reference"]
    done = world.agree("adjust ask", **words, direction="add")
    assert re.fullmatch(r"adj_[0-9a-f]{18}", done["reference"])
    assert held(world) == before + 500
    world.agree("adjust ask", **words, direction="take")
    assert held(world) == before
    code, detail = tried(world, "adjust ask", **words | {"direction": "away"})
    assert (code, detail) == ("invalid", "direction: must be one of add, take")
    code, detail = tried(world, "reverse ask", reverses=done["reference"], house="corrections", reference="back")
    assert (code, "A correction is not reversed" in detail) == ("move_not_allowed", True)
    code, detail = tried(world, "deposit ask", **slip(world, house="corrections"))
    assert (code, detail) == ("invalid", "house: corrections is for corrections alone")


@pytest.mark.usefixtures("alone")
def test_a_second_bank_has_a_house_account_of_its_own(world: InProcess) -> None:
    assert [one["name"] for one in world.act("house list")["houses"]] == ["bank", "corrections"]
    world.agree("house open", name="Second  bank", reason="it has branches")
    numbers = {one["name"]: one["number"] for one in world.act("house list")["houses"]}
    assert set(numbers) == {"bank", "corrections", "Second bank"}
    before = held(world)
    # One reference, two banks.
    world.agree("deposit ask", **slip(world))
    world.agree("deposit ask", **slip(world, house="Second bank"))
    world.agree("withdraw ask", **slip(world, "left", "1.00", house=numbers["Second bank"]))
    world.agree("reverse ask", reverses="came", house="Second bank", reference="back")
    assert held(world) == before + 400
    balances = {one["name"]: one["balances"] for one in world.act("house list")["houses"]}
    assert balances["Second bank"] == {"USD": "1.00"}
    for house in ("Third bank", "100000000016", numbers["corrections"]):
        assert tried(world, "deposit ask", **slip(world, "other", house=house))[0] == "invalid"
    for name, code in (("second BANK", "name_taken"), ("Corrections", "name_taken"), ("  ", "invalid")):
        assert tried(world, "house open", name=name)[0] == code


# In the console.


@pytest.mark.usefixtures("alone")
def test_a_deposit_is_asked_for_by_one_and_confirmed_by_another_who_sees_the_balance(world: InProcess) -> None:
    before = held(world)
    guest, other = console(world, 0), console(world, 1)
    guest.open("/operator/money/deposit")
    proposal = guest.proposal(guest.post("/operator/money/deposit", **slip(world, amount="5.25")))
    page = other.read(f"/operator/proposals/{proposal}")
    assert f"{before // 100:,}." in page
    assert "5.25 USD to the account" in " ".join(page.split())
    assert "Balance afterwards" in page
    assert other.confirm(proposal).status_code == 303
    assert held(world) == before + 525
    assert "Balance now" not in other.read(f"/operator/proposals/{proposal}")
    assert "came" in guest.read("/operator/money")


@pytest.mark.usefixtures("alone")
def test_what_is_wrong_is_told_beside_its_field_and_what_was_typed_is_kept(
    world: InProcess, subtests: pytest.Subtests
) -> None:
    guest = console(world)
    cases: tuple[tuple[str, dict[str, str], str], ...] = (
        ("deposit", {"amount": "5,00"}, "amount"),
        ("deposit", {"account": "100000000001"}, "account"),
        ("withdraw", {"reason": ""}, "reason"),
        ("withdraw", {"reference": ""}, "reference"),
        ("deposit", {"house": "elsewhere"}, "house"),
        ("adjust", {"direction": "up"}, "direction"),
        ("reverse", {"reverses": "nothing"}, "reverses"),
    )
    for form, changes, field in cases:
        with subtests.test(form, **changes):
            guest.open(f"/operator/money/{form}")
            fields = {"adjust": {"direction": "add"}, "reverse": {"reverses": "came"}}.get(form, {})
            typed = slip(world) | fields | {"reason": "typed with care"} | changes
            if form == "reverse":
                typed = {name: typed[name] for name in ("reverses", "reference", "reason")}
            answer = guest.post(f"/operator/money/{form}", **typed)
            assert answer.status_code == 422
            assert field in guest.wrong
            if field != "reason":
                assert "typed with care" in guest.page
            assert world.act("proposal list")["items"] == []


@pytest.mark.usefixtures("alone")
def test_a_reversal_begins_at_the_order_that_it_takes_back(world: InProcess) -> None:
    world.clock.advance(1)  # After those of all that are there.
    world.agree("deposit ask", **slip(world))
    guest, other = console(world, 0), console(world, 1)
    guest.open("/operator/money")
    [address] = re.findall(r'href="(/operator/money/reverse\?[^"]*reverses=came)"', guest.page)
    page = guest.read(address.replace("&amp;", "&"))
    assert "5.00" in page
    proposal = guest.proposal(
        guest.post("/operator/money/reverse", reverses="came", house="bank", reference="recalled", reason="by the bank")
    )
    assert "Takes back the order" in other.read(f"/operator/proposals/{proposal}")
    assert other.confirm(proposal).status_code == 303
    page = " ".join(guest.read("/operator/money").split())
    assert "Reversed by recalled" in page
    assert "Reverses came" in page
    assert "reverses=came" not in guest.page


@pytest.mark.usefixtures("alone")
def test_a_reversal_that_became_impossible_is_refused_on_the_confirming_page_with_by_how_much(world: InProcess) -> None:
    poor = world.person(verified=True)
    world.agree("deposit ask", **slip(world, account=poor.account))
    asked = world.act("reverse ask", reverses="came", reference="recalled", reason="recalled")
    world.agree("withdraw ask", **slip(world, "left", "2.00", account=poor.account))
    other = console(world, 1)
    assert other.confirm(asked["id"]).status_code in {402, 409, 422}
    assert "short by 2.00 USD" in other.text
    assert world.act("proposal show", id=asked["id"])["state"] == "open"


def test_the_same_form_twice_is_one_correction(world: InProcess) -> None:
    guest = console(world)
    guest.open("/operator/money/adjust")
    form = guest.form("/operator/money/adjust")
    words = {name: value for name, value in slip(world).items() if name != "reference"}
    answers = [guest.post("/operator/money/adjust", dict(form), **words, direction="add") for _ in range(2)]
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert len(world.act("proposal list")["items"]) == 1


@pytest.mark.usefixtures("alone")
def test_an_admin_alone_asks_for_a_house_account_and_sees_no_money_page(world: InProcess) -> None:
    number = operator_with(world, "admin")
    guest = console(world, number)
    assert guest.open("/operator/money").status_code == 403
    assert "/operator/money" not in guest.read("/operator")
    guest.open("/operator/houses")
    proposal = guest.proposal(guest.post("/operator/houses", name="Second bank", reason="it has branches"))
    guest.open("/operator/houses")
    assert "House account Second bank" in guest.text
    assert console(world, 1).confirm(proposal).status_code == 303
    assert "Second bank" in guest.read("/operator/houses")
    guest.open("/operator/houses")
    assert guest.post("/operator/houses", name="SECOND bank", reason="again").status_code == 409
    assert "Another house account has this name" in guest.text


@pytest.mark.both_engines
def test_the_list_of_orders_goes_on_where_it_ended(world: InProcess) -> None:
    for number in range(52):
        world.clock.advance(1)
        world.agree("deposit ask", **slip(world, f"slip number {number:02d}"))
    guest = console(world)
    met = _references(guest, "/operator/money")
    [older] = re.findall(r'href="(/operator/money\?[^"]+)"', guest.page)
    first = list(met)
    met += _references(guest, older.replace("&amp;", "&"))
    assert first[:2] == ["slip number 51", "slip number 50"]
    assert [name for name in met if name.startswith("slip number")] == [
        f"slip number {n:02d}" for n in range(51, -1, -1)
    ]
    assert guest.open("/operator/money?at=x").status_code == 422


def _references(guest: ConsoleGuest, path: str) -> list[str]:
    guest.open(path)
    return re.findall(
        r'<th scope="row"><a class="link" href="/operator/proposals/[^"]+"><bdi>([^<]+)</bdi>', guest.page
    )
