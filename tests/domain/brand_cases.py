"""Of each command about how a business looks: one that is carried out, and every way to spoil it."""

from typing import Any, Final

from qirsh.domain.commands.brand import (
    ApproveBrandChange,
    RefuseBrandChange,
    RequestBrandChange,
    SetBrandColour,
    WithdrawBrandChange,
)
from qirsh.domain.refusal import Refusal
from tests.domain.market import Market

R = Refusal
LOGO: Final = "a" * 64


def asking_for_brand(market: Market, **changes: Any) -> RequestBrandChange:  # noqa: ANN401 - the fields of the command
    """The owner's wish for a name and a logo that the shop does not have."""
    fields: dict[str, Any] = {
        "account": market.shop,
        "id": "bc_1",
        "name": "New name",
        "logo": LOGO,
        "picture": b"png",
        "seen": "",
        "member": market.owner.id,
    }
    return RequestBrandChange(**fields | changes)


def approving_brand(market: Market, **changes: Any) -> ApproveBrandChange:  # noqa: ANN401 - the same
    """An operator's yes to what the owner has asked for."""
    fields: dict[str, Any] = {"account": market.shop, "id": "bc_1", "test_account": market.till}
    return ApproveBrandChange(**fields | {"operator": market.first.id, "actor": "test"} | changes)


def refusing_brand(market: Market, **changes: Any) -> RefuseBrandChange:  # noqa: ANN401 - the same
    """An operator's no."""
    fields: dict[str, Any] = {"account": market.shop, "id": "bc_1", "reason": "It is the name of another shop"}
    return RefuseBrandChange(**fields | {"operator": market.first.id, "actor": "test"} | changes)


def _withdrawing(market: Market) -> WithdrawBrandChange:
    market.do(asking_for_brand(market))
    return WithdrawBrandChange(market.shop, "bc_1", market.owner.id)


def _approving(market: Market) -> ApproveBrandChange:
    market.do(asking_for_brand(market))
    return approving_brand(market)


def _refusing(market: Market) -> RefuseBrandChange:
    market.do(asking_for_brand(market))
    return refusing_brand(market)


def _asked_by_operator(case: Any) -> None:  # noqa: ANN401 - `test_decide_precedence` has the class
    case.market.change("brand_changes", case.market.shop, asked_by=case.market.first.id)


def _end(case: Any) -> None:  # noqa: ANN401 - the same
    case.market.change("brand_changes", case.market.shop, state="withdrawn", picture=b"")


_NOT_ACTING: Final[dict[Refusal, Any]] = {
    R.ACCOUNT_SUSPENDED: lambda case: case.account(case.market.shop, state="suspended"),
    R.NOT_APPROVED: lambda case: case.account(case.market.shop, state="requested"),
}
BRAND_CASES: Final[dict[Any, Any]] = {
    SetBrandColour: (
        lambda market: SetBrandColour(market.shop, "#0f5c4d", market.owner.id),
        {**_NOT_ACTING, R.NOT_FOUND: lambda case: case.ask(account=case.market.till)},
    ),
    RequestBrandChange: (
        asking_for_brand,
        {
            **_NOT_ACTING,
            R.MOVE_NOT_ALLOWED: lambda case: case.ask(name=case.market.accounts[case.market.shop].name, logo=""),
            R.CHANGED_MEANWHILE: lambda case: case.ask(seen="bc_0"),
            R.NOT_FOUND: lambda case: case.ask(account=case.market.till),
        },
    ),
    WithdrawBrandChange: (
        _withdrawing,
        {**_NOT_ACTING, R.MOVE_NOT_ALLOWED: _end, R.NOT_FOUND: lambda case: case.ask(id="bc_0")},
    ),
    ApproveBrandChange: (
        _approving,
        {
            R.OWN_REQUEST: _asked_by_operator,
            **_NOT_ACTING,
            R.MOVE_NOT_ALLOWED: _end,
            R.NOT_FOUND: lambda case: case.ask(id="bc_0"),
        },
    ),
    RefuseBrandChange: (
        _refusing,
        {
            R.OWN_REQUEST: lambda case: case.account(case.market.shop, owner=case.market.first.id),
            R.MOVE_NOT_ALLOWED: _end,
            R.NOT_FOUND: lambda case: case.ask(id="bc_0"),
        },
    ),
}
