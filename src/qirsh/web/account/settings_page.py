"""How a person is reached: telephone, the language of mails and pages, and whether mails tell of money."""

from typing import Final

from qirsh.domain.commands.person import ChangeProfile
from qirsh.domain.limits import PHONE_CHARACTERS_MAX
from qirsh.domain.person import Person
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import LANGUAGES, language
from qirsh.store.reads import people as people_queries
from qirsh.web.html.input_text import phone_number
from qirsh.web.html.page_context import PageContext, signed_in
from qirsh.web.http.message import Response
from qirsh.web.http.problems import to_problem

_ADDRESS: Final = "/wallet/settings"


@signed_in
async def show_settings(page: PageContext) -> Response:
    """As it is kept now."""
    person = await _found(page)
    kept = {"phone": person.phone, "language": person.language, "notices": "yes" if person.has_notices else ""}
    return await _page(page, person, kept, {})


@signed_in
async def change_settings(page: PageContext) -> Response:
    """From now on. The pages follow the language of the mails."""
    typed = page.form("settings", "phone", "language", "notices")
    phone = phone_number(typed["phone"])
    errors = {"phone": "phone"} if phone is None else {}
    if typed["language"] not in LANGUAGES:
        errors["language"] = "language"
    if phone is None or errors:
        return await _page(page, await _found(page), typed, errors, status=422)
    command = ChangeProfile(page.person, phone, typed["language"], has_notices=bool(typed["notices"]))
    outcome = await page.context.engine.submit(command)
    if type(outcome) is Refused:
        raise to_problem(outcome)
    return page.redirect(f"{_ADDRESS}?lang={typed['language']}", "settings.saved")


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
