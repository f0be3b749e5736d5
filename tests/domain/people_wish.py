"""What people of the market ask for about themselves, as Hypothesis strategies. `wish` mixes it with the rest.

Most of it fits together, so that it is carried out: answers fit what was mailed, and addresses those they belong to.
"""

import hashlib
from typing import Any, Final

from hypothesis import strategies as st

from qirsh.domain import command as c
from qirsh.domain import people_command as p
from qirsh.domain.mail import Letter
from tests.domain.market import HELD, PIN, WRONG_PIN, Market
from tests.domain.people_cases import CODE

NEW_EMAILS: Final = ("new@example.com", "newer@example.com")
PASSKEYS: Final = tuple(b"key %d" % number for number in range(14))
RECOVERY: Final = tuple(bytes([digit]) * 32 for digit in b"abc")
# The id says what was asked for, so that an order can fit it.
PAYOUTS: Final = tuple(f"po_{number}" for number in range(8))
LETTER: Final = (Letter("", b"sealed"),)


def token(purpose: str, email: str) -> bytes:
    """What is in the link that is mailed there."""
    return hashlib.sha256(f"{purpose} {email}".encode()).digest()


def letter_id(serial: int) -> str:
    """Of the letter that a submission sends."""
    return f"letter {serial}"


def settle(market: Market) -> None:
    """People who have shown or prove something, and one who can leave at once."""
    market.join("Newcomer")
    market.move(market.join("Leaver").account, "verified")
    market.do(p.AddPasskey(PASSKEYS[0], market.customer.id, b"public", 0, "phone", ()))
    market.do(p.AddPasskey(PASSKEYS[1], market.other.id, b"public", 1, "phone", ()))
    market.do(_ask_payout(market, PAYOUTS[0]))
    market.do(_ask_payout(market, PAYOUTS[1]))
    market.do(_order(market, PAYOUTS[1], reference="slip p", operator=market.first.id))
    market.do(p.StartChallenge("sign-up", NEW_EMAILS[0], None, token("sign-up", NEW_EMAILS[0]), CODE, ()))
    market.do(p.StartChallenge("email", NEW_EMAILS[1], market.customer.id, token("email", NEW_EMAILS[1]), b"", ()))
    for login in list(market.logins.values()):
        market.do(p.StartChallenge("reset", login.email, login.person, token("reset", login.email), b"", ()))
        market.do(p.StartChallenge("pin", login.email, login.person, token("pin", login.email), CODE, ()))


def _ask_payout(market: Market, payout: str, pin: bytes = PIN) -> p.AskPayout:
    who = market.other if int(payout[-1]) % 4 == 3 else market.customer
    amount = 1 + int(payout[-1]) * (HELD // 8)
    return p.AskPayout(payout, who.account, who.id, "USD", amount, b"sealed bank", (pin,))


def _order(market: Market, payout: str, *, reference: str, operator: int) -> c.AskCash:
    asked = _ask_payout(market, payout)
    return market.ask(
        kind="withdrawal",
        reference=reference,
        account=asked.account,
        amount=asked.amount,
        operator=operator,
        payout=payout,
    )


def about_people(market: Market) -> list[tuple[int, st.SearchStrategy[Any]]]:
    """Each with how often it is drawn. The market is one that was settled."""
    members = [(login.person, market.people[login.person].account, login.email) for login in market.logins.values()]
    # Now and then somebody has moved to a new address, or is somebody who has only just joined.
    joined = len(market.people) + 1
    anybody = [*members * 3, *[(person, account, NEW_EMAILS[0]) for person, account, _ in members]]
    anybody += [(joined, market.identifiers.account_number(len(market.accounts) + 1), NEW_EMAILS[0])] * 3
    who = st.sampled_from(anybody)
    leaving = st.sampled_from([one for one in anybody if one[0] > market.owner.id] * 4 + members)
    operators = st.sampled_from([market.first.id, market.second.id])
    letters = st.sampled_from([(), LETTER])
    new_emails, emails = st.sampled_from(NEW_EMAILS), st.sampled_from([*market.logins, *NEW_EMAILS])
    macs = st.sampled_from([(CODE,)] * 5 + [(b"wrong",), ()])
    hashes = st.sampled_from(["", "-", "-", "new hash"])
    steps = st.integers(0, 4)
    keys = st.sampled_from(PASSKEYS)
    payouts = st.sampled_from(PAYOUTS)
    is_right = st.sampled_from([True] * 5 + [False])

    def answer(purpose: str, email: str, *, right: bool = True) -> bytes:
        return token(purpose if right else "another purpose", email)

    starts = (
        st.builds(
            lambda email: p.StartChallenge("sign-up", email, None, answer("sign-up", email), CODE, ()), new_emails
        )
        | st.builds(
            lambda one, sent: p.StartChallenge("reset", one[2], one[0], answer("reset", one[2]), b"", sent),
            st.sampled_from(members),
            letters,
        )
        | st.builds(
            lambda one, email: p.StartChallenge("email", email, one[0], answer("email", email), b"", ()),
            st.sampled_from(members),
            new_emails,
        )
        | st.builds(
            lambda one: p.StartChallenge("pin", one[2], one[0], answer("pin", one[2]), CODE, ()),
            st.sampled_from(members),
        )
    )
    forgets = st.builds(p.ForgetChallenge, st.sampled_from(["sign-up", "reset", "email", "pin"]), emails)
    joins = st.builds(
        lambda email, right, code: p.Join(email, "New", "", "ar", "-", answer("sign-up", email, right=right), code),
        new_emails,
        is_right,
        macs,
    )
    passwords = (
        st.builds(
            lambda email, right, sent: p.ResetPassword(email, answer("reset", email, right=right), "new hash", sent),
            emails,
            is_right,
            letters,
        )
        | st.builds(lambda one, sent: p.ChangePassword(one[2], one[0], "new hash", sent), who, letters)
        | st.builds(lambda one, old: p.RenewPasswordHash(one[2], one[0], old, "newer hash"), who, hashes)
    )
    moves = st.builds(
        lambda one, email, right, sent: p.ChangeEmail(email, one[2], one[0], answer("email", email, right=right), sent),
        who,
        new_emails,
        is_right,
        letters,
    )
    factors = st.builds(
        lambda one, seed, step, codes, before, sent: p.SetSecondFactor(
            one[2], one[0], seed, step, b"".join(RECOVERY[:codes]), sent, before
        ),
        who,
        st.sampled_from([None, b"seed", b"another seed"]),
        steps,
        st.integers(0, 3),
        st.sampled_from([None, None, b"seed"]),
        letters,
    )
    pins = st.builds(
        lambda one, right, code, sent: p.UnlockPin(one[0], one[2], PIN, answer("pin", one[2], right=right), code, sent),
        who,
        is_right,
        macs,
        letters,
    ) | st.builds(lambda one, sent: c.ChangePin(one[0], PIN, "test", sent), who, letters)
    passkeys = (
        st.builds(lambda key, one, count, sent: p.AddPasskey(key, one[0], b"public", count, "phone", sent), keys, who,
                  st.integers(0, 1), letters)
        | st.builds(lambda key, sent: p.AddPasskey(key, market.customer.id, b"public", 0, "phone", sent), keys, letters)
        | st.builds(lambda key, one, sent: p.RemovePasskey(key, one[0], sent), keys, who, letters)
        | st.builds(lambda key, sent: p.RemovePasskey(key, market.customer.id, sent), keys, letters)
    )  # fmt: skip
    proved = st.sampled_from([b"", b"", b"", *RECOVERY])
    sessions = (
        st.builds(
            lambda one, hash_, step, code: c.OpenSession(
                b"", one[0], one[1], "test", "browser", one[2], hash_, step, code
            ),
            who,
            hashes,
            steps,
            proved,
        )
        | st.builds(
            lambda key, person, count: c.OpenSession(
                b"", person.id, person.account, "test", passkey=key, sign_count=count
            ),
            st.sampled_from(PASSKEYS[:4]),
            st.sampled_from([market.customer, market.customer, market.other]),
            st.integers(0, 3),
        )
        | st.builds(
            lambda one, hash_, step, code: p.UseProof(one[0], one[2], hash_, step, code), who, hashes, steps, proved
        )
        | st.builds(lambda one: p.CloseSessions(one[0], "test"), who)
    )
    pays = st.builds(
        lambda payment, key, person, count: c.Pay(payment, person.id, person.account, (), key, count),
        st.integers(1, 4),
        st.sampled_from(PASSKEYS[:4]),
        st.sampled_from([market.customer, market.customer, market.other]),
        st.integers(0, 3),
    )
    profiles = st.builds(lambda one, notices: p.ChangeProfile(one[0], "0933", "ar", notices), who, st.booleans())
    identities = (
        st.builds(
            lambda one, back: p.SubmitIdentity(
                one[0], one[1], b"facts", (("front", b"f"), ("back", b"b")) if back else (("front", b"f"),)
            ),
            leaving,
            st.booleans(),
        )
        | st.builds(
            lambda one, by, sent: p.RejectIdentity(one[1], "blurred", by, "test", sent), leaving, operators, letters
        )
        | st.builds(lambda one, by: c.MoveAccount(one[1], "verified", by, "", "test"), leaving, operators)
        | st.builds(lambda one: p.ForgetImages(one[0]), leaving)
        | st.builds(lambda one: p.RecordLook(one[1], "test"), leaving)
    )
    asked = st.builds(
        lambda payout, pin: _ask_payout(market, payout, pin), payouts, st.sampled_from([PIN] * 7 + [WRONG_PIN])
    )
    payouts_go_on = (
        st.builds(
            lambda payout, reference, by: _order(market, payout, reference=reference, operator=by),
            payouts,
            st.sampled_from(["slip a", "slip b", "slip p", "slip q"]),
            operators,
        )
        | st.builds(
            lambda reference, by, sent: c.ConfirmCash("withdrawal", market.house, reference, by, "test", sent),
            st.sampled_from(["slip p", "slip p", "slip q", "slip b"]),
            operators,
            letters,
        )
        | st.builds(lambda payout, one: p.CancelPayout(payout, one[0]), payouts, who)
        | st.builds(lambda payout: p.CancelPayout(payout, market.customer.id), payouts)
        | st.builds(
            lambda payout, by, sent: p.RefusePayout(payout, "no", by, "test", sent), payouts, operators, letters
        )
    )
    erasures = st.builds(
        lambda one, known: p.ErasePerson(
            one[0], one[1], one[2], PASSKEYS if known else (), (), "test", (("reset", one[2]), ("pin", one[2]))
        ),
        leaving,
        st.booleans(),
    )
    mails = (
        st.builds(p.MailSent, st.integers(0, 71).map(letter_id))
        | st.builds(p.MailFailed, st.integers(0, 71).map(letter_id), st.integers(1, 9))
        | st.builds(lambda after, sent: p.Notify(after, after + 1, sent), st.integers(0, 3), letters)
        | st.builds(lambda one: p.RecordExport(one[1], "USD as csv", "test"), who)
        | st.just(p.RecordFailure("nobody", "somebody"))
    )
    return [
        (2, starts), (1, forgets), (2, joins), (2, passwords), (1, moves), (1, factors), (1, pins), (3, passkeys),
        (2, sessions), (1, pays), (1, profiles), (2, identities), (2, asked), (3, payouts_go_on), (2, erasures),
        (2, mails),
    ]  # fmt: skip
