"""How a person is reached: telephone, the language of mails and pages, and whether mails tell of money."""

import re
from typing import Final

from qirsh.domain.commands.person import ChangeProfile
from qirsh.domain.limits import PHONE_CHARACTERS_MAX
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import LANGUAGES, language
from qirsh.store.reads import people as people_queries
from qirsh.web.html.forms import not_the_form
from qirsh.web.html.input_text import phone_number
from qirsh.web.html.language import change_language
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem

_ADDRESS: Final = "/wallet/settings"
_HOME: Final = "/wallet"
# No other host, and nothing that would end a header.
_OWN_PAGE: Final = re.compile(r"(?:/[A-Za-z0-9_-]+)+(?:\?[!-~]*)?", re.ASCII)


@signed_in
async def show_settings(page: PageContext) -> Response:
    """As it is kept now."""
    person = await _found(page)
    kept = {"phone": person.phone, "language": person.language, "notices": "yes" if person.has_notices else ""}
    return await _page(page, person, kept, {})


@signed_in
async def change_settings(page: PageContext) -> Response:
    """From now on. The pages follow the language of the mails when another one is chosen, and else stay as they are."""
    typed = page.form("settings", "phone", "language", "notices")
    phone = phone_number(typed["phone"])
    errors = {"phone": "phone"} if phone is None else {}
    if typed["language"] not in LANGUAGES:
        errors["language"] = "language"
    if phone is None or errors:
        return await _page(page, await _found(page), typed, errors, status=422)
    before = (await _found(page)).language
    command = ChangeProfile(page.person, phone, typed["language"], has_notices=bool(typed["notices"]))
    outcome = await page.context.engine.submit(command)
    if type(outcome) is Refused:
        raise to_problem(outcome)
    if typed["language"] != before:
        change_language(page.request, typed["language"])
    return page.redirect(_ADDRESS, "settings.saved")


@signed_in
async def choose_language(page: PageContext) -> Response:
    """The switch of every page, for who is signed in: the language of pages and mails. Back to the same page."""
    typed = page.form("language", "language", "back")
    if typed["language"] not in LANGUAGES:
        raise not_the_form()
    outcome = await page.context.engine.submit(ChangeProfile(page.person, None, typed["language"], has_notices=None))
    if type(outcome) is Refused:
        raise to_problem(outcome)
    change_language(page.request, typed["language"])
    return page.redirect(typed["back"] if _OWN_PAGE.fullmatch(typed["back"]) else _HOME)


async def _page(
    page: PageContext, person: Person, typed: dict[str, str], errors: dict[str, str], status: int = 200
) -> Response:
    [(email,)] = await page.context.store.select(people_queries.EMAIL_OF, person.id)
    return page.render(
        "account/settings.html",
        status=status,
        person=person,
        email=email,
        typed=typed,
        errors=errors,
        languages_of_mail=[(code, language(code).name) for code in LANGUAGES],
        phone_characters=PHONE_CHARACTERS_MAX,
        is_saved=page.flash_about("settings") == "saved" and not errors,
    )


async def _found(page: PageContext) -> Person:
    person = await page.context.store.find(Tables.people, page.person)
    assert person is not None, "a session without its person"
    return person
