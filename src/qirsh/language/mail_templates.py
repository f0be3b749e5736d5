"""Every mail of the product: by kind, as plain text, in the recipient's language.

What people gave us (names, reasons) stands in a mail on one line, apart from our own words, and is nothing that a
mail program would make a link of.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from qirsh.domain.challenge import LASTS_MS, Purpose
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.language.figures import currency_name, day_and_time, duration, money

Words = Mapping[str, str | int]

_SERVICE: Final = _("Qirsh")

_GIVEN_CHARACTERS_MAX: Final = 500
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_NO_BREAK_SPACE: Final = "\u00a0"
_THIN_SPACE: Final = "\u2009"
# Invisible, and yet letters: without them words of Persian and Kurdish are misspelt.
_JOINERS: Final = "\u200c\u200d"
# Where a link would go on: a dot, in any shape that a browser takes for one, and the colon before a slash.
_LINK_JOINT: Final = re.compile(r"[.\u2024\u3002\uff0e\uff61](?=\S)|[:\uff1a](?=[/\uff0f\\])")
_ADDRESS: Final = re.compile(r"[^\s@:/\\<>\"]+@[a-z0-9.-]+")


class Alone(NamedTuple):
    """A word that stands on a line of its own: what is to be copied or opened, or a person's own text."""

    word: str


class Kind(NamedTuple):
    """The subject, and what is said in which order."""

    subject: str
    parts: tuple[str | Alone, ...]
    lasts: Purpose | None = None  # What the mail asks for can be done for as long as this.


_MOST_LIKELY: Final = _("If it was not you, there is nothing that you need to do.")
_WHEN: Final = _("This was done on %(time)s.")
_CODE_LASTS: Final = _(
    "The code is valid for %(duration)s. We never ask for it by telephone or message: whoever does is not us."
)
_LINK_LASTS: Final = _("The link works once, and for %(duration)s.")
_NOT_YOU: Final = (
    _(
        "If it was not you, somebody else may know your password. Set a new one at once, which also signs out every"
        " device:"
    ),
    Alone("forgot_url"),
)
_NOT_EXPECTED: Final = _("If you did not expect this, talk to the other operators at once.")
_ASK_US: Final = _("If you have questions, get in touch with us.")

KINDS: Final[dict[str, Kind]] = {
    "sign_up_code": Kind(
        _("Your code to join Qirsh"),
        (
            _("Somebody, most likely you, wants to join Qirsh with this e-mail address. Enter this code to go on:"),
            Alone("code"),
            _CODE_LASTS,
            _MOST_LIKELY,
        ),
        lasts="sign-up",
    ),
    "already_joined": Kind(
        _("You already have a Qirsh account"),
        (
            _(
                "Somebody, most likely you, tried to join Qirsh with this e-mail address. You already have an account."
                " Sign in here:"
            ),
            Alone("sign_in_url"),
            _("If you have forgotten your password, set a new one here:"),
            Alone("forgot_url"),
            _MOST_LIKELY,
        ),
    ),
    "reset_password": Kind(
        _("Set a new password for Qirsh"),
        (
            _("Somebody, most likely you, wants to set a new password for your account. Open this link to choose it:"),
            Alone("url"),
            _LINK_LASTS,
            _("Your password stays as it is until you do. If it was not you, there is nothing that you need to do."),
        ),
        lasts="reset",
    ),
    "password_changed": Kind(
        _("Your password was changed"),
        (_("The password of your account was changed, and every device was signed out."), _WHEN, *_NOT_YOU),
    ),
    "email_change": Kind(
        _("Confirm your new e-mail address"),
        (
            _(
                "Somebody, most likely you, wants to sign in to Qirsh with this e-mail address from now on. Open this"
                " link to confirm it:"
            ),
            Alone("url"),
            _LINK_LASTS,
            _MOST_LIKELY,
        ),
        lasts="email",
    ),
    "email_changed": Kind(
        _("Your e-mail address was changed"),
        (
            _("The e-mail address of your account is now another one:"),
            Alone("new_email"),
            _("You can no longer sign in with the address that this mail was sent to."),
            _WHEN,
            _("If it was not you, get in touch with us at once, so that we can close your account to whoever it was."),
        ),
    ),
    "pin_code": Kind(
        _("Your code to set a new payment PIN"),
        (
            _("Somebody, most likely you, wants to set a new payment PIN. Enter this code to go on:"),
            Alone("code"),
            _CODE_LASTS,
            *_NOT_YOU,
        ),
        lasts="pin",
    ),
    "pin_changed": Kind(
        _("Your payment PIN was changed"),
        (_("The payment PIN of your account was changed."), _WHEN, *_NOT_YOU),
    ),
    "second_factor_on": Kind(
        _("Sign-in with a code is on"),
        (_("From now on, signing in takes your password and a code from your authenticator app."), _WHEN, *_NOT_YOU),
    ),
    "second_factor_off": Kind(
        _("Sign-in with a code is off"),
        (_("From now on, signing in takes your password alone and no code."), _WHEN, *_NOT_YOU),
    ),
    "recovery_renewed": Kind(
        _("You have new recovery codes"),
        (_("New recovery codes were made for your account. Those before stopped working."), _WHEN, *_NOT_YOU),
    ),
    "passkey_added": Kind(
        _("A passkey was added to your account"),
        (
            _("From now on, this passkey can be used to sign in to your account:"),
            Alone("name"),
            _WHEN,
            _(
                "If it was not you, remove the passkey in the security settings of your wallet, and set a new password"
                " at once:"
            ),
            Alone("forgot_url"),
        ),
    ),
    "passkey_removed": Kind(
        _("A passkey was removed from your account"),
        (_("This passkey can no longer be used to sign in to your account:"), Alone("name"), _WHEN, *_NOT_YOU),
    ),
    "identity_verified": Kind(
        _("Your identity is confirmed"),
        (_("We have confirmed your identity. You can now use all of your wallet:"), Alone("wallet_url")),
    ),
    "identity_rejected": Kind(
        _("We could not confirm your identity"),
        (
            _("We could not confirm your identity, for this reason:"),
            Alone("reason"),
            _("You can correct your details and send them again here:"),
            Alone("identity_url"),
        ),
    ),
    "business_approved": Kind(
        _("Your business account is approved"),
        (_("The business account %(name)s is approved and can take payments. You find it here:"), Alone("url")),
    ),
    "business_rejected": Kind(
        _("Your business account was not approved"),
        (_("The business account %(name)s was not approved, for this reason:"), Alone("reason"), _ASK_US),
    ),
    "account_suspended": Kind(
        _("Your account is suspended"),
        (
            _("The account %(name)s is suspended. You can still see it, but it can neither take nor send money."),
            _WHEN,
            _ASK_US,
        ),
    ),
    "operator_link": Kind(
        _("You are asked to be an operator of Qirsh"),
        (
            _(
                "%(by)s asks you to help run this service as an operator. Open this link to choose your password and to"
                " set up a second factor, which nobody else may see:"
            ),
            Alone("url"),
            _LINK_LASTS,
            _("If you did not expect this, there is nothing that you need to do."),
        ),
        lasts="operator",
    ),
    "operator_asked": Kind(
        _("A new operator is asked for"),
        (
            _("%(by)s asks for this person to become an operator of this service:"),
            Alone("name"),
            Alone("new_email"),
            _WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "operator_begun": Kind(
        _("There is a new operator"),
        (
            _("This person is an operator of this service from now on:"),
            Alone("name"),
            Alone("new_email"),
            _WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "operator_end_asked": Kind(
        _("The end of an operator is asked for"),
        (
            _("%(by)s asks for this person to stop being an operator of this service:"),
            Alone("new_email"),
            _WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "operator_ended": Kind(
        _("An operator has ended"),
        (
            _("This person is not an operator of this service any more:"),
            Alone("name"),
            Alone("new_email"),
            _WHEN,
            _NOT_EXPECTED,
        ),
    ),
    "paid": Kind(
        _("You paid %(amount)s to %(payee)s"),
        (
            _("You paid %(amount)s to %(payee)s."),
            _("Payment number: %(payment)s"),
            _WHEN,
            _("Your receipt:"),
            Alone("receipt_url"),
            *_NOT_YOU,
        ),
    ),
    "refunded": Kind(
        _("You were refunded %(amount)s by %(payee)s"),
        (
            _("%(payee)s has refunded %(amount)s to you. The money is in your wallet."),
            _("Payment number: %(payment)s"),
            _WHEN,
        ),
    ),
    "deposited": Kind(
        _("%(amount)s was added to your wallet"),
        (_("%(amount)s was added to your wallet."), _WHEN),
    ),
    "payout_paid": Kind(
        _("Your payout of %(amount)s was sent"),
        (
            _("We have sent %(amount)s to your bank account. It may take your bank a few days to show it."),
            _("Reference of the transfer: %(reference)s"),
            _WHEN,
        ),
    ),
    "payout_refused": Kind(
        _("Your payout of %(amount)s was not made"),
        (
            _("We have not sent %(amount)s to your bank account, for this reason:"),
            Alone("reason"),
            _("The money is back in your account. If you have questions, get in touch with us."),
        ),
    ),
}


def compose(kind: str, language: str, words: Words, *, at: int, base_url: str) -> tuple[str, str]:
    """The subject and the body. `at` is when it was written, unless its words name the moment that it tells of."""
    template = KINDS[kind]
    words = dict(words)
    at = int(words.pop("at", at))
    known: dict[str, str | int] = {"forgot_url": f"{base_url}/forgot", **words}
    values = {"time": _apart(day_and_time(at, language))}
    if template.lasts is not None:
        values["duration"] = duration(LASTS_MS[template.lasts], language)
    values |= {word: _written(word, known, language, _apart) for word in known if word != "currency"}
    in_subject = {word: _written(word, known, language, str) for word in ("amount", "payee") if word in known}
    inside = {word: value for word, value in values.items() if not _is_ours(word)}
    lines = [
        values[part.word] if isinstance(part, Alone) else text(language, part, **inside) for part in template.parts
    ]
    body = "\n\n".join([*lines, f"{text(language, _SERVICE)}\n{base_url}"])
    return text(language, template.subject, **in_subject), f"{body}\n"


def _written(word: str, words: Words, language: str, apart: Callable[[str], str]) -> str:
    """One word as it stands in the mail."""
    value = words[word]
    if word == "amount":
        currency = str(words["currency"])
        return apart(f"{money(int(value), currency, language)}{_NO_BREAK_SPACE}{currency_name(currency, language)}")
    if _is_ours(word):
        return "".join(str(value).split())
    line = _one_line(str(value))
    if word == "new_email" and _ADDRESS.fullmatch(line):
        return apart(line)
    return apart(_LINK_JOINT.sub(lambda joint: f"{joint.group()}{_THIN_SPACE}", line))


def _is_ours(word: str) -> bool:
    """It stands alone, to be copied as it is: no invisible letter may come along."""
    return word == "code" or word.endswith("url")


def _one_line(given: str) -> str:
    """Without control characters, and without those that turn text around."""
    spoken = given[: 2 * _GIVEN_CHARACTERS_MAX].translate(_Gone())
    return " ".join(spoken.split())[:_GIVEN_CHARACTERS_MAX]


class _Gone(dict[int, str]):
    """What becomes of a character: a space where a line or field ended, nothing where it shows nothing."""

    def __missing__(self, number: int) -> str:
        letter = chr(number)
        match unicodedata.category(letter):
            case "Cc" | "Zl" | "Zp":
                return " "
            case "Cf" | "Cs" | "Co" | "Cn" if letter not in _JOINERS:
                return ""
        return letter


def _apart(words: str) -> str:
    """Set apart from the words around it, whichever way either is written."""
    return f"{_ISOLATE}{words}{_END_ISOLATE}"
