"""What people of the market ask for about themselves, as Hypothesis strategies. `wish` mixes it with the rest.

Most of it fits together, so that it is carried out: answers fit what was mailed, and addresses those they belong to.
"""

from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from qirsh.domain.commands.account import MoveAccount
from qirsh.domain.commands.audit_log import RecordExport, RecordFailure, RecordLook
from qirsh.domain.commands.identity import ErasePerson, ForgetImages, ForgetSessions, RejectIdentity, SubmitIdentity
from qirsh.domain.commands.login_credentials import (
    AddPasskey,
    ChangeEmail,
    ChangePassword,
    ChangePin,
    CountWrongCode,
    ForgetChallenge,
    RemovePasskey,
    RenewPasswordHash,
    ResetPassword,
    SetSecondFactor,
    StartChallenge,
    UnlockPin,
)
from qirsh.domain.commands.mail import MailFailed, MailSent, Notify
from qirsh.domain.commands.payment import Pay
from qirsh.domain.commands.person import ChangeProfile, Join
from qirsh.domain.commands.session import CloseSessions, OpenSession, UseLoginCode
from tests.domain.market import PIN, WRONG_PIN, Market
from tests.domain.people_cases import CODE
from tests.domain.proposal_wish import (
    NEW_EMAILS,
    PASSKEYS,
    PAYOUTS,
    Wishes,
    ask_payout,
    letters,
    payout_forms,
    rights,
    token,
)

RECOVERY: Final = tuple(bytes([digit]) * 32 for digit in b"abc")

new_emails = st.sampled_from(NEW_EMAILS)
macs = st.sampled_from([(CODE,)] * 5 + [(b"wrong",), ()])
hashes = st.sampled_from(["", "-", "-", "new hash"])
steps = st.integers(0, 4)
recovery_codes = st.sampled_from([b"", b"", b"", *RECOVERY])
passkeys = st.sampled_from(PASSKEYS)
sign_counts = st.integers(0, 3)
# By the serial of the submission that began them.
some_sessions = st.sampled_from([tuple(b"%032d" % serial for serial in range(72)), ()])
sent_letters = st.integers(0, 71).map("letter {}".format)


class Member(NamedTuple):
    """Somebody with an account, and an address that may be theirs."""

    person: int
    account: int
    email: str


def letter_id(serial: int) -> str:
    """Of the letter that a submission sends."""
    return f"letter {serial}"


def settle(market: Market) -> None:
    """People who have shown or prove something, and one who can leave at once."""
    market.join("Newcomer")
    market.move(market.join("Leaver").account, "verified")
    market.do(AddPasskey(PASSKEYS[0], market.customer.id, b"public", 0, "phone", ()))
    market.do(AddPasskey(PASSKEYS[1], market.other.id, b"public", 1, "phone", ()))
    market.do(ask_payout(market, PAYOUTS[0]))
    market.do(ask_payout(market, PAYOUTS[1]))
    market.do(payout_forms(market)[2].ask(market.first.id))  # The second of them is ordered.
    market.do(StartChallenge("sign-up", NEW_EMAILS[0], None, token("sign-up", NEW_EMAILS[0]), CODE, ()))
    market.do(StartChallenge("email", NEW_EMAILS[1], market.customer.id, token("email", NEW_EMAILS[1]), b"", ()))
    for login in list(market.logins.values()):
        market.do(StartChallenge("reset", login.email, login.person, token("reset", login.email), b"", ()))
        market.do(StartChallenge("pin", login.email, login.person, token("pin", login.email), CODE, ()))


class Town:
    """The people of a market that was settled."""

    def __init__(self, market: Market) -> None:
        self.market = market
        members = [
            Member(login.person, market.people[login.person].account, login.email) for login in market.logins.values()
        ]
        # Now and then somebody has moved to a new address, or has only just joined.
        moved = [member._replace(email=NEW_EMAILS[0]) for member in members]
        number = market.identifiers.account_number(len(market.accounts) + 1)
        joined = Member(len(market.people) + 1, number, NEW_EMAILS[0])
        anybody = [*members * 3, *moved, *[joined] * 3]
        self.members = st.sampled_from(members)
        self.anybody = st.sampled_from(anybody)
        # Who holds no money can leave, and is not verified.
        self.poor = st.sampled_from([one for one in anybody if one.person > market.owner.id] * 4 + members)
        self.rich = st.sampled_from([market.customer, market.customer, market.other])
        self.operators = st.sampled_from([market.first.id, market.second.id])
        self.emails = st.sampled_from([*market.logins, *NEW_EMAILS])

    def challenges(self) -> Wishes:
        """Something is mailed, or forgotten."""
        signing_up = st.builds(
            lambda email: StartChallenge("sign-up", email, None, token("sign-up", email), CODE, ()), new_emails
        )
        resetting = st.builds(
            lambda one, sent: StartChallenge("reset", one.email, one.person, token("reset", one.email), b"", sent),
            self.members,
            letters,
        )
        moving = st.builds(
            lambda one, email: StartChallenge("email", email, one.person, token("email", email), b"", ()),
            self.members,
            new_emails,
        )
        unlocking = st.builds(
            lambda one: StartChallenge("pin", one.email, one.person, token("pin", one.email), CODE, ()),
            self.members,
        )
        guarding = st.builds(
            lambda one: StartChallenge("factor", one.email, one.person, token("factor", one.email), CODE, ()),
            self.members,
        )
        forgetting = st.builds(
            ForgetChallenge, st.sampled_from(["sign-up", "reset", "email", "pin", "factor", "operator"]), self.emails
        )
        return signing_up | resetting | moving | unlocking | guarding | forgetting

    def joins(self) -> Wishes:
        return st.builds(
            lambda email, right, code: Join(email, "New", "", "ar", "-", token("sign-up", email, right), code),
            new_emails,
            rights,
            macs,
        )

    def secrets(self) -> Wishes:
        """Passwords, addresses and PINs."""
        resets = st.builds(
            lambda email, right, sent, found: ResetPassword(
                email, token("reset", email, right), "new hash", sent, found
            ),
            self.emails,
            rights,
            letters,
            st.sampled_from([None, PASSKEYS, ()]),
        )
        changes = st.builds(
            lambda one, sent: ChangePassword(one.email, one.person, "new hash", sent), self.anybody, letters
        )
        renewals = st.builds(
            lambda one, old: RenewPasswordHash(one.email, one.person, old, "newer hash"), self.anybody, hashes
        )
        moves = st.builds(
            lambda one, email, right, sent: ChangeEmail(
                email, one.email, one.person, token("email", email, right), sent
            ),
            self.anybody,
            new_emails,
            rights,
            letters,
        )
        unlocks = st.builds(
            lambda one, right, code, sent: UnlockPin(
                one.person, one.email, PIN, token("pin", one.email, right), code, sent
            ),
            self.anybody,
            rights,
            macs,
            letters,
        )
        pins = st.builds(
            lambda one, sent, old: ChangePin(one.person, PIN, "test", sent, old_macs=(old,)),
            self.anybody,
            letters,
            st.sampled_from([PIN, PIN, WRONG_PIN]),
        )
        return resets | changes | renewals | moves | unlocks | pins

    def second_factors(self) -> Wishes:
        wrong = st.builds(
            lambda one, known, sent: CountWrongCode(one.email, one.person, known, sent, ()),
            self.anybody,
            hashes,
            letters,
        )
        return wrong | st.builds(
            lambda one, seed, step, codes, before, sent, code: SetSecondFactor(
                *(one.email, one.person, seed, step, b"".join(RECOVERY[:codes]), sent, before),
                token("factor", one.email) if code else b"",
                code,
            ),
            self.anybody,
            st.sampled_from([None, b"seed", b"another seed"]),
            steps,
            st.integers(0, 3),
            st.sampled_from([None, None, b"seed"]),
            letters,
            macs,
        )

    def passkeys(self) -> Wishes:
        """Made and removed; one of the members makes many."""
        who = self.anybody.map(lambda one: one.person) | st.just(self.market.customer.id)
        adds = st.builds(
            lambda key, person, count, sent: AddPasskey(key, person, b"public", count, "phone", sent),
            passkeys,
            who,
            st.integers(0, 1),
            letters,
        )
        return adds | adds | st.builds(RemovePasskey, passkeys, who, letters)

    def uses_of_passkeys(self) -> Wishes:
        """To sign in and to pay."""
        known = st.sampled_from(PASSKEYS[:4])
        entries = st.builds(
            lambda key, one, count: OpenSession(b"", one.id, one.account, "test", passkey=key, sign_count=count),
            known,
            self.rich,
            sign_counts,
        )
        pays = st.builds(
            lambda payment, key, one, count: Pay(payment, one.id, one.account, (), key, count),
            st.integers(1, 4),
            known,
            self.rich,
            sign_counts,
        )
        return entries | pays

    def sessions(self) -> Wishes:
        """Begun with what is used up by it, proved anew, and ended everywhere."""
        entries = st.builds(
            lambda one, known, step, code: OpenSession(
                b"", one.person, one.account, "test", "browser", one.email, known, step, code
            ),
            self.anybody,
            hashes,
            steps,
            recovery_codes,
        )
        proofs = st.builds(
            lambda one, known, step, code: UseLoginCode(one.person, one.email, known, step, code),
            self.anybody,
            hashes,
            steps,
            recovery_codes,
        )
        ends = st.builds(lambda one: CloseSessions(one.person, "test"), self.anybody)
        return entries | proofs | ends

    def identities(self) -> Wishes:
        """Shown, decided on, looked at and forgotten."""
        front, back = ("front", b"f"), ("back", b"b")
        shown: Any = st.sampled_from([(front,), (front, back)])
        submits = st.builds(
            lambda one, images: SubmitIdentity(one.person, one.account, b"facts", images), self.poor, shown
        )
        rejections = st.builds(
            lambda one, by, sent: RejectIdentity(one.account, "blurred", by, "test", sent),
            self.poor,
            self.operators,
            letters,
        )
        verifications = st.builds(
            lambda one, by: MoveAccount(one.account, "verified", by, "", "test"), self.poor, self.operators
        )
        forgets = st.builds(lambda one: ForgetImages(one.person), self.poor)
        looks = st.builds(lambda one: RecordLook(one.account, "test"), self.poor)
        return submits | rejections | verifications | forgets | looks

    def profiles(self) -> Wishes:
        return st.builds(
            lambda one, has: ChangeProfile(one.person, "0933", "ar", has_notices=has), self.anybody, st.booleans()
        )

    def erasures(self) -> Wishes:
        """Also by whoever has overlooked the passkeys."""
        return st.builds(
            lambda one, found, sessions: ErasePerson(
                one.person,
                one.account,
                one.email,
                found,
                (),
                "test",
                (("reset", one.email), ("pin", one.email)),
                sessions,
            ),
            self.poor,
            st.sampled_from([PASSKEYS, ()]),
            some_sessions,
        ) | st.builds(lambda one, sessions: ForgetSessions(one.person, sessions), self.poor, some_sessions)

    def stories(self) -> Wishes:
        """What one after the other leads somewhere, where single wishes hardly ever do."""
        newcomers = [one for one in self.market.logins.values() if one.person > self.market.owner.id]
        poor = st.sampled_from(
            [Member(one.person, self.market.people[one.person].account, one.email) for one in newcomers]
        )
        leaving = st.builds(
            lambda one, key, found, sessions, later: [
                OpenSession(b"", one.person, one.account, "test"),
                AddPasskey(key, one.person, b"public", 0, "phone", ()),
                ErasePerson(one.person, one.account, one.email, found, (), "test", (), sessions),
                ChangePin(one.person, PIN, "test", old_macs=(PIN,)),
                ForgetSessions(one.person, later),
            ],
            poor,
            passkeys,
            st.sampled_from([PASSKEYS, ()]),
            some_sessions,
            some_sessions,
        )
        moving = st.builds(
            lambda one, email: [
                StartChallenge("email", email, one.person, token("email", email), b"", ()),
                ChangeEmail(email, one.email, one.person, token("email", email), ()),
            ],
            self.members,
            new_emails,
        )
        joining = st.builds(
            lambda email: [
                StartChallenge("sign-up", email, None, token("sign-up", email), CODE, ()),
                Join(email, "New", "", "ar", "-", token("sign-up", email), (CODE,)),
            ],
            new_emails,
        )
        asking = st.just([ask_payout(self.market, payout) for payout in PAYOUTS])
        return leaving | moving | joining | asking

    def mails(self) -> Wishes:
        """Sent, tried again, written for what was sealed; and what is only noted."""
        return (
            st.builds(MailSent, sent_letters)
            | st.builds(MailFailed, sent_letters, st.integers(1, 9))
            | st.builds(lambda after, sent: Notify(after, after + 1, sent), st.integers(0, 3), letters)
            | st.builds(lambda one: RecordExport(one.account, "USD as csv", "test"), self.anybody)
            | st.just(RecordFailure("nobody", "somebody"))
        )


def about_people(town: Town) -> list[Wishes]:
    """Those that are named more often are drawn more often."""
    often = [town.challenges(), town.joins(), town.passkeys(), town.sessions(), town.identities(), town.erasures()]
    often += [town.secrets()]
    return often * 2 + [
        town.secrets(),
        town.second_factors(),
        town.uses_of_passkeys(),
        town.profiles(),
        town.mails(),
    ]
