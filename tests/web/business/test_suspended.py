"""A suspended business on its own pages: no form that would be refused, and the reason in words."""

import pytest

from tests.live import InProcess
from tests.web.business.staff import CAPS, home, owner

SAYS = "This business is suspended or closed. It can neither take nor send money."


def test_a_page_of_a_suspended_business_has_no_form_and_says_why(still: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[str] = ["take", "sell", "settings", "staff/invite", "tills", "brand", "keys"]
    for page in cases:
        with subtests.test(page=page):
            boss, merchant = owner(still)
            address = f"{home(merchant)}/{page}"
            assert SAYS not in boss.read(address)
            assert f'action="{address}' in boss.page
            still.act("account suspend", account=merchant.account)
            for shop in (merchant.account, merchant.test_account):
                address = f"/business/{shop}/{page}"
                assert SAYS in boss.read(address)
                assert "Contact" in boss.text
                assert f'action="{address}' not in boss.page


def test_a_refund_of_a_suspended_business_is_not_offered(still: InProcess) -> None:
    boss, merchant = owner(still)
    address = f"{home(merchant)}/payments/{still.paid(merchant, still.customers[0])}/refund"
    still.act("account suspend", account=merchant.account)
    assert SAYS in boss.read(address)
    assert f'action="{address}"' not in boss.page


@pytest.mark.parametrize(
    ("page", "typed"),
    [
        ("take", {"amount": "1", "currency": "USD", "note": "", "reference": "", "lasts": "day"}),
        ("staff/invite", {"email": "a@example.org", "role": "viewer", **CAPS}),
    ],
)
def test_a_form_sent_meanwhile_is_answered_with_the_reason(still: InProcess, page: str, typed: dict[str, str]) -> None:
    boss, merchant = owner(still)
    boss.open(f"{home(merchant)}/{page}")
    call = boss.posting(f"{home(merchant)}/{page}", **typed)
    still.act("account suspend", account=merchant.account)
    answer = still.send(call)
    assert answer.status_code == 403
    assert "This business is suspended" in answer.text
    assert "Contact" in answer.text
    assert "This is not possible" not in answer.text
