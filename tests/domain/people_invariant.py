"""What must always hold of people and of what they ask for, as `invariant` holds it of money."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from qirsh.domain import counter
from qirsh.domain.limits import CODE_ATTEMPTS_MAX, MEMBERS_MAX, PASSKEYS_MAX, PAYOUTS_OPEN_MAX, TILLS_OPEN_MAX
from qirsh.domain.name_word import NameWord, name_keys
from qirsh.domain.payout import is_open
from tests.domain.world import World


def _logins(world: World) -> Iterator[str]:
    logins = Counter(login.person for login in world.logins.values())
    for person in world.people.values():
        if logins.pop(person.id, 0) != (person.erased_at is None):
            yield f"{person} does not have one login, or has one after they were erased"
    if logins:
        yield f"logins of nobody: {logins}"
    for operator, row in world.operators.items():
        lost = f"person {operator}"
        if any((one.action, one.subject) == ("operator remove-factors", lost) for one in world.proposals.values()):
            continue  # Without a new one they run nothing: that, faces ask.
        if row.ended_at is None and not [
            login for login in world.logins.values() if login.person == operator and login.totp_sealed
        ]:
            yield f"operator {operator} signs in with a password alone"


def _erased(world: World) -> Iterator[str]:
    """Whoever is forgotten has left nothing that tells of them, nor anything that goes on."""
    for person in world.people.values():
        if person.erased_at is None:
            continue
        account = world.accounts[person.account]
        if (person.name, person.phone, person.has_notices, account.name) != ("", "", False, ""):
            yield f"{person} and {account} still tell who it was"
        if account.state != "closed":
            yield f"{account} is still open"
        if person.id in world.operators and world.operators[person.id].ended_at is None:
            yield f"{person} is still an operator"
        for table in (
            *(world.pins, world.passkeys, world.identities, world.identity_images),
            *(world.members, world.member_caps, world.saved_views),
        ):
            if [row for row in table.values() if row.person == person.id]:
                yield f"{person} has left {table}"
        own = {row.number: row for row in world.accounts.values() if row.owner == person.id and row.mode == "live"}
        if [row for row in own.values() if row.state not in {"closed", "rejected"}]:
            yield f"{person} has an open business: {own}"
        if [row for row in world.payouts.values() if row.account in own and row.bank_sealed]:
            yield f"a payout still tells where {person} banks"


def _sessions(world: World) -> Iterator[str]:
    for session in world.sessions.values():
        person = world.people[session.person]
        if session.session_generation > person.session_generation:
            yield f"{session} is of an session_generation that has not begun"
        # It counts if it is of this session_generation; `web/callers` asks no more.
        is_over = session.revoked_at is not None or session.session_generation != person.session_generation
        if person.erased_at is not None and not is_over:
            yield f"{session} goes on after {person} was erased"


def _staff(world: World) -> Iterator[str]:
    """Members are of live businesses that are not theirs, are counted, and only cashiers have caps."""
    for (account, person), member in world.members.items():
        business = world.accounts[account]
        if (business.kind, business.mode) != ("commercial", "live") or business.owner == person:
            yield f"{member} works at {business}"
    for (account, person, _), cap in world.member_caps.items():
        if world.members[account, person].role != "cashier" or cap.amount <= 0:
            yield f"{cap} is of nobody who needs it"
    for (account, person, _, _), view in world.saved_views.items():
        if (account, person) not in world.members and world.accounts[account].owner != person:
            yield f"{view} is of nobody who works there"
    for act in world.payment_acts:
        if act.version > world.payments[act.payment].version:
            yield f"{act} is of a version that never was"


def _tallies(world: World) -> Iterator[str]:
    """What was refunded by hand in a day is of a live business."""
    for (account, _, _), tally in world.refund_tallies.items():
        business = world.accounts[account]
        if (business.kind, business.mode) != ("commercial", "live") or tally.used < 0:
            yield f"{tally} is of no day at {business}"


def _counted_staff(world: World) -> Iterator[str]:
    jobs = Counter(person for _, person in world.members)
    for person in world.people:
        if _counted(world, counter.jobs(person)) != jobs[person]:
            yield f"the jobs of person {person} are miscounted"
    for account in world.businesses:
        members = [key for key in world.members if key[0] == account]
        invitations = [row for row in world.invitations.values() if row.account == account]
        if _counted(world, counter.members(account)) != len(members) or len(members) > MEMBERS_MAX:
            yield f"the members of {account} are miscounted: {members}"
        if _counted(world, counter.invitations(account)) != len(invitations):
            yield f"the invitations of {account} are miscounted: {invitations}"
        banks = [row for row in world.bank_accounts.values() if row.account == account]
        if _counted(world, counter.bank_accounts(account)) != len(banks):
            yield f"the bank accounts of {account} are miscounted: {banks}"


def _counted_tills(world: World) -> Iterator[str]:
    opened = Counter(till.account for till in world.tills.values() if till.closed_at is None)
    for account in world.accounts:
        if _counted(world, counter.open_tills(account)) != opened[account] or opened[account] > TILLS_OPEN_MAX:
            yield f"the open tills of {account} are miscounted: {opened[account]}"
    for till in world.tills.values():
        if world.accounts[till.account].kind != "commercial":
            yield f"{till} is of no business"


def _brands(world: World) -> Iterator[str]:
    """A picture is that of its logo, of one that customers see or that waits; no operator decides on their own shop."""
    for brand in world.brands.values():
        if bool(brand.logo) != bool(brand.picture) or world.accounts[brand.account].mode != "live":
            yield f"{brand} is of nobody"
    for change in world.brand_changes.values():
        if change.picture and (change.state != "waiting" or not change.logo):
            yield f"{change} keeps a picture that nobody sees"
        if change.decided_by in {change.asked_by, world.accounts[change.account].owner}:
            yield f"{change} was decided by who asked"
    for account in world.accounts.values():
        live = world.accounts[account.live_account or account.number]
        if account.kind == "commercial" and account.name != live.name:
            yield f"{account} has another name than its live account"


def _passkeys(world: World) -> Iterator[str]:
    held = Counter(passkey.person for passkey in world.passkeys.values())
    for person, count in held.items():
        if person not in world.people or world.people[person].erased_at is not None:
            yield f"passkeys of nobody: {person}"
        if count > PASSKEYS_MAX:
            yield f"person {person} has {count} passkeys"
    for person in world.people:
        if _counted(world, counter.passkeys(person)) != held[person]:
            yield f"the passkeys of person {person} are miscounted"


def _limits_of_owners(world: World) -> Iterator[str]:
    working = Counter(key.account for key in world.api_keys.values() if key.revoked_at is None)
    for account in world.accounts:
        if _counted(world, counter.api_keys(account)) != working[account]:
            yield f"the keys of account {account} are miscounted"


def _challenges(world: World) -> Iterator[str]:
    for challenge in world.challenges.values():
        if challenge.failures > CODE_ATTEMPTS_MAX:
            yield f"{challenge} was tried too often"


def _identities(world: World) -> Iterator[str]:
    for person, identity in world.identities.items():
        if (identity.state == "submitted") != (identity.decided_by is None) or identity.decided_by == person:
            yield f"{identity} was decided by nobody, or by whom it is about"
        if identity.state == "submitted" and world.accounts[world.people[person].account].state == "verified":
            yield f"{identity} still waits"
    for person, _ in world.identity_images:
        if person not in world.identities:
            yield f"a picture of nobody: {person}"


def _payouts(world: World) -> Iterator[str]:
    opened = Counter(payout.account for payout in world.payouts.values() if is_open(payout))
    for account in world.accounts:
        if _counted(world, counter.open_payouts(account)) != opened[account]:
            yield f"the open payouts of account {account} are miscounted"
        if opened[account] > PAYOUTS_OPEN_MAX:
            yield f"account {account} has {opened[account]} open payouts"


def _businesses(world: World) -> Iterator[str]:
    owners = Counter(row.owner for row in world.accounts.values() if (row.kind, row.mode) == ("commercial", "live"))
    for person in world.people.values():
        if _counted(world, counter.businesses(person.account)) != owners[person.id]:
            yield f"the businesses of {person} are miscounted"


def _counted(world: World, name: str) -> int:
    found = world.counters.get(name)
    return found.last if found else 0


def _names(world: World) -> Iterator[str]:
    """Every account is found by the words of its name, and by no others."""
    expected = {key: NameWord(*key) for account in world.accounts.values() for key in name_keys(account)}
    if world.name_words != expected:
        yield f"words of names: {world.name_words.keys() ^ expected.keys()}"


def _notes(world: World) -> Iterator[str]:
    """Only what was written about an erased person is gone."""
    for note in world.notes.values():
        about, _, number = note.subject.partition(" ")
        is_gone = about == "person" and world.people[int(number)].erased_at is not None
        if not note.text_sealed and not is_gone:
            yield f"{note} lost what it said"


PEOPLE: Final[tuple[Callable[[World], Iterator[str]], ...]] = (
    _logins,
    _erased,
    _sessions,
    _passkeys,
    _staff,
    _counted_staff,
    _tallies,
    _counted_tills,
    _brands,
    _limits_of_owners,
    _challenges,
    _identities,
    _payouts,
    _businesses,
    _names,
    _notes,
)
