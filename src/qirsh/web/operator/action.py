"""What all acts of operators share: who acts, words in and out, and how a no is told."""

import re
import unicodedata
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import msgspec

from qirsh.domain import limits
from qirsh.domain.bank_order import BANK, CORRECTIONS
from qirsh.domain.command import Command
from qirsh.domain.commands.person import AddPerson
from qirsh.domain.identifier import is_account_number
from qirsh.domain.money import format_amount, parse_amount
from qirsh.domain.operator_role import ROLES, OperatorRight, may, read_roles
from qirsh.domain.person import Person, normal_email
from qirsh.domain.refusal import Refusal, Refused
from qirsh.domain.tables import Tables
from qirsh.language.catalog import language, text
from qirsh.language.catalog import mark as _
from qirsh.language.figures import currency_name, latin_digits, money
from qirsh.language.refusal_texts import REFUSAL_TEXTS
from qirsh.store.reads import queries
from qirsh.web.auth.password_policy import password_fault
from qirsh.web.html.input_text import without_marks
from qirsh.web.http.context import Context
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.operator.refusal_words import refusal_words

CHUNKS: Final = "chunks"  # In an answer: the bytes that follow it, which whoever has it closes.
# What several fields are told.
REQUIRED: Final = _("Required.")
NO_ORDER: Final = _("no order of the house account %(house)s has this reference")
ONE_OF: Final = _("must be one of %(known)s")
READABLE: Final = _("must be 1 to %(most)s readable characters")
MISTYPED_ACCOUNT: Final = _("must be an account number of 12 digits; this one is mistyped")
_FORM_KEY: Final = re.compile(r"[0-9a-f]{18}", re.ASCII)
_ACCOUNT_CHARACTERS_MAX: Final = 20  # As it is typed, with blanks.
_DIGITS_MAX: Final = 18
_ROLES_CHARACTERS_MAX: Final = 100
HOUSE: Final = BANK  # The house account through which money enters and leaves, where no other is named.


class Sum(NamedTuple):
    """Money in a refusal, which pages write in their language."""

    amount: int
    currency: str

    def __str__(self) -> str:
        return f"{format_amount(self.amount, self.currency)} {self.currency}"


class ActionRefused(Exception):
    """An act that was not carried out: a stable code, and words for the operator.

    The words are a text of the product, with its values; none: that of the code. `field`: the one that it is about.
    """

    def __init__(self, code: str, message: str = "", *, field: str = "", **values: object) -> None:
        self.code = code
        self.field = field
        self._message = message
        self._values = values
        told = (message or PROBLEM_TYPES[code].detail) % values
        self.detail = f"{field}: {told}" if field else told  # As the command line tells it, in English.
        super().__init__(self.detail)

    def told(self, in_language: str) -> str:
        """In the language of a page, which shows it beside its field."""
        message = self._message or REFUSAL_TEXTS.get(self.code) or PROBLEM_TYPES[self.code].detail
        values = {name: _written(value, in_language) for name, value in self._values.items()}
        return text(in_language, message, **values)


class Actor(msgspec.Struct, frozen=True):
    """The operator who acts; None while nobody is one and the first is being made."""

    person: int | None
    peer: str = ""  # Whose program has asked, as the operating system knows them.

    @property
    def name(self) -> str:
        """As audit entries name them: `operator 3 (os user alice)`."""
        name = "first start" if self.person is None else f"operator {self.person}"
        return f"{name} ({self.peer})" if self.peer else name

    @property
    def id(self) -> int:
        """For acts that are never reached without an operator."""
        assert self.person is not None
        return self.person


Params = dict[str, Any]
Handler = Callable[[Context, Actor, Params], Awaitable[Params]]


class Action(msgspec.Struct, frozen=True):
    """An act, and the right that it takes. What changes something asks for the right again, in its commit."""

    run: Handler
    right: OperatorRight


def missing_right(right: OperatorRight | None) -> ActionRefused:
    """Of an operator whose roles are others; with the right, where it is known by now."""
    if right is None:
        return ActionRefused("missing_right", _("None of your roles allows this."))
    return ActionRefused(
        "missing_right", _("None of your roles allows this. It takes the right `%(right)s`."), right=right
    )


async def sees_contacts(context: Context, actor: Actor) -> bool:
    """Whether e-mail addresses are among what an act may tell them."""
    operator = await context.store.find(Tables.operators, actor.id)
    return operator is not None and may(operator.roles, OperatorRight.SEE_CONTACTS)


async def submit(context: Context, command: Command[Any], right: OperatorRight | None = None) -> Any:  # noqa: ANN401 - each command has its own kind of outcome
    """The outcome, or a `ActionRefused` for a refusal, with the right that the commit asks for."""
    outcome = await context.engine.submit(command)
    if type(outcome) is Refused:
        if outcome.why is Refusal.MISSING_RIGHT:
            raise missing_right(right)
        words = await refusal_words(context, command, outcome.why)
        raise ActionRefused(outcome.why.value, words)
    return outcome


def made_id(context: Context, params: Params, kind: str) -> str:
    """Of what an act makes: by the form it came from, so that the same form makes it once."""
    key = params.get("key", "")
    is_of_form = type(key) is str and _FORM_KEY.fullmatch(key) is not None
    return f"{kind}_{key if is_of_form else context.entropy(9).hex()}"


async def house(context: Context, params: Params | None = None, *, name: str = HOUSE) -> int:
    """The number of the house account that is named, by its name or number, or of this one."""
    given = word_text(params or {}, "house", limits.NAME_CHARACTERS_MAX, default="").strip() or name
    if given == CORRECTIONS != name:
        raise ActionRefused("invalid", _("%(house)s is for corrections alone"), field="house", house=CORRECTIONS)
    if is_account_number(given):
        found = await context.store.find(Tables.accounts, int(given))
        if found is not None and (found.kind, found.mode) == ("house", "live") and found.name != CORRECTIONS:
            return found.number
    rows = await context.store.select(queries.HOUSE_ACCOUNT, given)
    if not rows:
        raise ActionRefused("invalid", _("no house account has this name or number"), field="house")
    number: int = rows[0][0]
    return number


def word_text(params: Params, name: str, characters_max: int, default: str | None = None) -> str:
    """One of the words, printable and not too long."""
    value = params.get(name, default)
    if default is None and (value is None or value == ""):
        raise ActionRefused("invalid", REQUIRED, field=name)
    if type(value) is not str:
        raise ActionRefused("invalid", _("must be given as text"), field=name)
    if len(value) > characters_max or not value.isprintable():
        raise ActionRefused(
            "invalid", _("must be printable, with at most %(most)s characters"), field=name, most=characters_max
        )
    return value


def reason_of(params: Params, default: str | None = None) -> str:
    """Why, in one line: what a browser or keyboard puts in unseen is no reason to refuse it."""
    given = params.get("reason", default)
    line = " ".join(without_marks(given).split()) if type(given) is str else given
    return word_text({"reason": line}, "reason", limits.NOTE_CHARACTERS_MAX, default)


def email_address(params: Params) -> str:
    """A person's e-mail address, in its one spelling."""
    email = normal_email(word_text(params, "email", limits.EMAIL_CHARACTERS_MAX))
    if email is None:
        raise ActionRefused("invalid", _("must be an e-mail address"), field="email")
    return email


async def added_person(context: Context, actor: Actor, params: Params) -> Person:
    """A new person, with the password that an operator has typed for them."""
    password = word_text(params, "password", limits.PASSWORD_CHARACTERS_MAX)
    name = word_text(params, "name", limits.NAME_CHARACTERS_MAX)
    if fault := await password_fault(context, password, "en", name, email_address(params)):
        raise ActionRefused("invalid", "%(fault)s", field="password", fault=fault)
    hashed = await context.passwords.hash(password)
    person: Person = await submit(context, AddPerson(email_address(params), name, hashed, actor.name, actor.person))
    return person


def _written(value: object, code: str) -> str:
    """A value in a sentence: apart from it, where that is written the other way."""
    said = f"{money(*value, code)} {currency_name(value.currency, code)}" if isinstance(value, Sum) else str(value)
    return f"\N{FIRST STRONG ISOLATE}{said}\N{POP DIRECTIONAL ISOLATE}" if language(code).direction == "rtl" else said


def number_in(text: object) -> int | None:
    """As it stands in an address or a form, of 64 bits at most; None if it is none."""
    is_number = type(text) is str and text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX
    return int(str(text)) if is_number else None


def account_number(params: Params) -> int:
    """The account that the act is about."""
    number = "".join(latin_digits(word_text(params, "account", _ACCOUNT_CHARACTERS_MAX)).split())
    if not is_account_number(number):
        raise ActionRefused("invalid", MISTYPED_ACCOUNT, field="account")
    return int(number)


def chosen_roles(params: Params) -> str:
    """Those that were named. Whoever names none gives all, which suits who begins."""
    given = word_text(params, "roles", _ROLES_CHARACTERS_MAX, default=" ".join(ROLES))
    roles = read_roles(given)
    if roles is None:
        raise ActionRefused("invalid", _("must be one or more of %(known)s"), field="roles", known=", ".join(ROLES))
    return roles


def minor_amount(params: Params, currency: str) -> int:
    """What was typed, in the currency's smallest unit."""
    typed = latin_digits(word_text(params, "amount", 20)).replace("\u066b", ".").strip()
    amount = parse_amount(typed, currency)
    if amount is None:
        raise ActionRefused(
            "invalid",
            _("must be like %(example)s, and more than zero"),
            field="amount",
            example=format_amount(10098, currency),
        )
    return amount


def one_spelling(text: str) -> str:
    """Of a reference: blanks at its ends, or two of them, would make another one that looks the same."""
    spelled = " ".join(unicodedata.normalize("NFC", text).split())
    if not spelled:
        raise ActionRefused("invalid", REQUIRED, field="reference")
    return spelled


def reference(params: Params) -> str:
    """The bank's."""
    return one_spelling(word_text(params, "reference", limits.REFERENCE_CHARACTERS_MAX))
