"""How a business works with its customers: where they return to, how long they may pay, and when its days begin."""

from typing import Final

import msgspec

from qirsh.domain.account import Account, may_return_to
from qirsh.domain.commands.shop_settings import SetPaymentDefaults, SetTimeZone
from qirsh.domain.limits import EXPIRES_IN_S_MAX, EXPIRES_IN_S_MIN, URL_CHARACTERS_MAX
from qirsh.domain.refusal import Refused
from qirsh.language.figures import latin_digits
from qirsh.language.local_time import zone_names
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.business.website_origins import read_origins
from qirsh.web.html.reauthentication import REAUTH_FIELDS, account_holder_of
from qirsh.web.html.recent_proof import has_recent_proof, proof_fault
from qirsh.web.http.host import is_own_machine
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem

_FIELDS: Final = ("origins", "return_url", "cancel_url", "minutes")
_MINUTE_S: Final = 60


class Typed(msgspec.Struct, frozen=True):
    """What the form says, after a look at it."""

    fields: dict[str, str]
    errors: dict[str, str]
    origins: str = ""
    expires_in_s: int = 0


async def show_settings(page: ShopPage) -> Response:
    """What holds now."""
    account = page.shop.account
    fields = {
        "origins": "\n".join(account.return_origins.split()),
        "return_url": account.return_url or "",
        "cancel_url": account.cancel_url or "",
        "minutes": str(account.expires_in_s // _MINUTE_S),
    }
    return await _page(page, Typed(fields, {}), page.shop.business.time_zone)


async def set_payment_defaults(page: ShopPage) -> Response:
    """Where customers are led is what a thief would change, so it takes a recent proof."""
    account = page.shop.account
    typed = _read(page.form("settings", *_FIELDS, *REAUTH_FIELDS, bound=(str(account.number),)), page)
    if not typed.errors and (fault := await proof_fault(page, await account_holder_of(page), typed.fields)):
        typed.errors["proof"] = fault
    if typed.errors:
        return await _page(page, typed, page.shop.business.time_zone, status=422)
    outcome = await page.context.engine.submit(
        SetPaymentDefaults(
            account=account.number,
            return_origins=typed.origins,
            return_url=typed.fields["return_url"] or None,
            cancel_url=typed.fields["cancel_url"] or None,
            expires_in_s=typed.expires_in_s,
            member=page.person,
        )
    )
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(f"{page.shop.address}/settings", f"{account.number}.saved")


async def set_time_zone(page: ShopPage) -> Response:
    """Reports, lists and what a cashier may refund count by these days from now on."""
    live = page.shop.live
    zone = page.form("time-zone", "time_zone", bound=(str(live.number),))["time_zone"]
    if zone and zone not in zone_names():
        shown = await show_settings(page)
        shown.status = 422
        return shown
    outcome = await page.context.engine.submit(SetTimeZone(live.number, zone, page.person))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(f"{page.shop.address}/settings", f"{page.shop.account.number}.saved")


def _read(fields: dict[str, str], page: ShopPage) -> Typed:
    errors: dict[str, str] = {}
    origins = read_origins(fields["origins"])
    if origins is None:
        errors["origins"] = "origins"
    changed = msgspec.structs.replace(page.shop.account, return_origins=origins or "")
    for name in ("return_url", "cancel_url"):
        fields[name] = fields[name].strip()
        if fields[name] and not _is_good(fields[name], changed, page):
            errors[name] = "url"
    text = latin_digits(fields["minutes"].strip())
    minutes = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0  # noqa: PLR2004 - any more is too long
    if not EXPIRES_IN_S_MIN <= minutes * _MINUTE_S <= EXPIRES_IN_S_MAX:
        errors["minutes"] = "minutes"
    return Typed(fields, errors, origins or "", minutes * _MINUTE_S)


def _is_good(url: str, account: Account, page: ShopPage) -> bool:
    """Customers who pay with money are led back by https: http is for a developer's own machine, all of it."""
    is_plain = url.lower().startswith("http:")
    if is_plain and account.mode == "live" and not is_own_machine(page.context.base_url):
        return False
    return len(url) <= URL_CHARACTERS_MAX and may_return_to(account, url)


async def _page(page: ShopPage, typed: Typed, time_zone: str, status: int = 200) -> Response:
    holder = await account_holder_of(page)
    return page.render(
        "business/settings.html",
        status=status,
        typed=typed.fields,
        errors=typed.errors,
        chosen_zone=time_zone,
        zones=sorted(name for name in zone_names() if "/" in name and not name.startswith(("Etc/", "posix"))),
        service_zone=page.context.time_zone.key,
        minutes_min=EXPIRES_IN_S_MIN // _MINUTE_S,
        minutes_max=EXPIRES_IN_S_MAX // _MINUTE_S,
        url_characters=URL_CHARACTERS_MAX,
        has_factor=holder.has_factor,
        has_proof=has_recent_proof(page),
        word=page.flash_about(str(page.shop.account.number)),
    )
