"""The letter about a sign-in on a device that is not known to be the person's: a thief would have such a one."""

from qirsh.domain.limits import KNOWN_DEVICE_S, LIST_ITEMS_MAX
from qirsh.domain.mail import Letter
from qirsh.domain.person import Login
from qirsh.domain.tables import Tables
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.store.reads.people import SESSION_OF_AGENT
from qirsh.web.auth.device_name import browser_and_system
from qirsh.web.auth.outgoing_mail import letters
from qirsh.web.http.context import Context


async def letters_on_new_agent(context: Context, login: Login, agent: str) -> tuple[Letter, ...]:
    """For who signs in with an app: it keeps no cookie, so what it says it is has to do."""
    if not context.has_mail or await _is_known(context, login, agent):
        return ()
    return await letters_on_new_device(context, login, agent)


async def letters_on_new_device(context: Context, login: Login, agent: str) -> tuple[Letter, ...]:
    """For who signs in where they had not before. No more than a few an hour: nobody's letter box is flooded."""
    if not context.has_mail or (context.limits is not None and not context.limits.may_mail("new-device", login.email)):
        return ()
    person = await context.store.find(Tables.people, login.person)
    assert person is not None, "a login without its person"
    name = _device_name(agent, person.language)
    return letters(context, "new_device", to=login.email, language=person.language, name=name)


async def _is_known(context: Context, login: Login, agent: str) -> bool:
    person = await context.store.find(Tables.people, login.person)
    assert person is not None, "a login without its person"
    since = context.clock() - KNOWN_DEVICE_S * 1000
    generation = person.session_generation
    return bool(await context.store.select(SESSION_OF_AGENT, person.id, generation, since, LIST_ITEMS_MAX, agent))


def _device_name(agent: str, language: str) -> str:
    """Never what it says itself: that may be anything."""
    browser, system = browser_and_system(agent)
    if browser and system:
        return text(language, _("%(browser)s on %(system)s"), browser=browser, system=system)
    return browser or system or text(language, _("App or unknown browser"))
