"""What waits for the demo's operators, beside the shop that wants to be approved: one of each kind."""

import io
from typing import Final

import msgspec
from PIL import Image, ImageDraw

from qirsh.cli.demo.bank_sample import SAMPLE_FORMAT, sample_file
from qirsh.cli.demo.credentials_file import Demo, Player, new_password
from qirsh.domain.api_key import token_hash
from qirsh.domain.commands.identity import SubmitIdentity
from qirsh.domain.commands.operator import AcceptAppointment, AppointOperator
from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.commands.proposal import AskProposal, ConfirmProposal, Mailed
from qirsh.domain.identity import SIDES, Side
from qirsh.domain.money import CURRENCIES
from qirsh.domain.operator_role import ROLES
from qirsh.domain.person import Person
from qirsh.domain.proposal import Proposal, shown_digest
from qirsh.domain.refusal import granted
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, sealed
from qirsh.engine.identity_facts import Facts, document_macs, seal_facts, seal_picture
from qirsh.web.auth.totp import new_seed, seal_seed
from qirsh.web.http.context import Context
from qirsh.web.operator import actions
from qirsh.web.operator.action import Actor, house

ALL_ROLES: Final = " ".join(ROLES)
_CARD: Final = (860, 540)
_FACTS: Final = Facts("Rana", "Darwish", "1994-03-21", "identity_card", "SY 0142 7781")


async def appointed(
    context: Context, by: Player, agrees: Player | None, *, email: str, name: str, roles: str = ALL_ROLES
) -> Player:
    """As behind the link that would be mailed; the demo opens it itself."""
    password, link, secret = new_password(), token_hash(context.entropy(32)), new_seed(context.entropy)
    command, mailed = AppointOperator(email, name, roles), Mailed(token_hash=link)
    asked: Proposal = granted(
        await context.engine.submit(
            AskProposal(
                id=f"pr_{context.entropy(9).hex()}",
                command=command,
                reason="More pairs of eyes",
                operator=by.person,
                actor=f"operator {by.person}",
                mailed=mailed,
            )
        )
    )
    if agrees is not None:
        confirming = ConfirmProposal(
            id=asked.id,
            seen=shown_digest(asked),
            asked_by=by.person,
            command=command,
            operator=agrees.person,
            actor=f"operator {agrees.person}",
            mailed=mailed,
        )
        granted(await context.engine.submit(confirming))
    person: Person = granted(
        await context.engine.submit(
            AcceptAppointment(
                email=email,
                proposal=asked.id,
                token_hash=link,
                language="en",
                password_hash=await context.passwords.hash(password),
                totp_sealed=seal_seed(context.keyring, secret, email),
                totp_step=0,
            )
        )
    )
    return Player(email, password, totp_secret=secret, person=person.id, account=str(person.account))


async def fill_desk(context: Context, demo: Demo) -> None:
    """One of each kind that operators decide on."""
    await _show_identity(context, demo.customer3)
    await _ask_for_payout(context, demo)
    words = {
        "account": demo.customer.account,
        "currency": "USD",
        "amount": "250.00",
        "reference": "demo-waiting-USD",
        "reason": "Cash at the counter, receipt 1182",
    }
    by = Actor(demo.operator.person)
    await actions.ACTIONS["deposit ask"].run(context, by, words)
    fields = {name: str(value) for name, value in msgspec.structs.asdict(SAMPLE_FORMAT).items()}
    await actions.ACTIONS["bank format"].run(context, by, fields)


async def bank_file(context: Context) -> bytes:
    """What the bank says of the demo's deposits, for who wants to import it: a fee and a stranger's money are in it."""
    number = await house(context)
    names = [deposit_reference(slip, currency) for slip in (1, 2) for currency in CURRENCIES]
    found = [await context.store.find(Tables.bank_orders, (number, name)) for name in names]
    return sample_file([order for order in found if order is not None], fee=1_500, stranger=40_000)


def deposit_reference(slip: int, currency: str) -> str:
    """Of the money that the customers begin with."""
    return f"demo-{slip}-{currency}"


async def _show_identity(context: Context, newcomer: Player) -> None:
    keyring, person = context.keyring, newcomer.person
    images = tuple((side, seal_picture(keyring, _card(side), person, side)) for side in SIDES)
    facts, mac = seal_facts(keyring, _FACTS, person), document_macs(keyring, _FACTS)[0]
    command = SubmitIdentity(person, int(newcomer.account), facts, images, mac)
    granted(await context.engine.submit(command))


async def _ask_for_payout(context: Context, demo: Demo) -> None:
    payer = demo.customer2
    payout_id = f"po_{context.entropy(9).hex()}"
    bank = BankDetails("Emre Yılmaz", "Ziraat Bankası", "TR330006100519786457841326")
    command = RequestPayout(
        id=payout_id,
        account=int(payer.account),
        person=payer.person,
        currency="TRY",
        amount=125_000,
        bank_sealed=sealed(context.keyring, bank, payout_id),
        pin_macs=context.keyring.pin_macs(payer.person, payer.pin),
    )
    granted(await context.engine.submit(command))


def _card(side: Side) -> bytes:
    """A picture of a document of nobody."""
    image = Image.new("RGB", _CARD, "#dfe8e3")
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((16, 16, _CARD[0] - 16, _CARD[1] - 16), 28, outline="#0f5c4c", width=4)
    if side == "front":
        draw.rectangle((48, 140, 268, 420), fill="#9db8ae")
        lines: tuple[str, ...] = (
            "SPECIMEN",
            _FACTS.family_name,
            _FACTS.given_names,
            _FACTS.birth_date,
            _FACTS.document_number,
        )
    else:
        lines = ("SPECIMEN", "Damascus", "2021-05-04", "2031-05-03")
    for place, line in enumerate(lines):
        draw.text((310, 120 + 62 * place), line, fill="#16241f", font_size=34)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=85)
    return out.getvalue()
