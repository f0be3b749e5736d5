"""An operator is let in again by who has the machine, while the service is stopped. No action: nobody is signed in."""

from typing import Any, Final

from qirsh.domain.commands.recovery import RecoverOperator
from qirsh.domain.recovery import Recovery
from qirsh.domain.tables import Tables
from qirsh.store.interface import Query
from qirsh.store.reads import people as people_queries
from qirsh.web.auth.outgoing_mail import letters_to_operators
from qirsh.web.auth.password_policy import password_fault
from qirsh.web.auth.totp import new_seed, seal_seed, setup_uri
from qirsh.web.http.context import Context
from qirsh.web.operator.action import ActionRefused, email_address, submit, word_text

_PASSWORD_CHARACTERS_MAX: Final = 1024
# Where several machines share the database, its lock is not held by a server; what its processes do is.
_LEASES: Final = Query("SELECT count(*), max(until) FROM lease WHERE until > $1")


async def recover_operator(context: Context, params: dict[str, Any], peer: str) -> dict[str, Any]:
    """New secrets for an operator who is there, who is an admin from now on."""
    await _check_stopped(context)
    email, password = email_address(params), word_text(params, "password", _PASSWORD_CHARACTERS_MAX)
    login = await context.store.find(Tables.logins, email)
    operator = None if login is None else await context.store.find(Tables.operators, login.person)
    if login is None or operator is None or operator.ended_at is not None:
        listed = await context.store.select(people_queries.OPERATOR_ADDRESSES)
        known = ", ".join(address for address, _language in listed)
        raise ActionRefused(
            "not_found", "No operator has this e-mail address. There are: %(known)s.", known=known or "none"
        )
    person = await context.store.find(Tables.people, login.person)
    assert person is not None, "a login without its person"
    if fault := await password_fault(context, password, "en", person.name, email):
        raise ActionRefused("invalid", "%(fault)s", field="password", fault=fault)
    seed = new_seed(context.entropy)
    passkeys = await context.store.select(people_queries.PASSKEYS_OF_PERSON, person.id)
    recovery: Recovery = await submit(
        context,
        RecoverOperator(
            id=f"rec_{context.entropy(9).hex()}",
            person=person.id,
            account=person.account,
            email=email,
            password_hash=await context.passwords.hash(password),
            totp_sealed=seal_seed(context.keyring, seed, email),
            passkeys=tuple(bytes(key) for key, _name, _at in passkeys),
            by=peer,
            letters=await letters_to_operators(
                context, "operator_recovered", name=person.name, new_email=email, by=peer
            ),
        ),
    )
    return {"id": recovery.id, "person": person.id, "totpSecret": seed, "totpUri": setup_uri(seed, email)}


async def _check_stopped(context: Context) -> None:
    [(held, until)] = await context.store.select(_LEASES, await context.store.now())
    if held:
        seconds = (until - await context.store.now()) // 1000 + 1
        raise ActionRefused(
            "service_runs",
            "A server uses this database, or was killed a moment ago: stop it, and try again in %(seconds)s seconds.",
            seconds=seconds,
        )
