"""The second factor: codes of an app, asked for or no longer asked for, and recovery codes for when it is lost."""

from base64 import b32encode, b64decode, urlsafe_b64encode
from typing import Final

from qirsh.domain.commands.login_credentials import SetSecondFactor
from qirsh.domain.limits import RECOVERY_CODES
from qirsh.domain.mail import Letter
from qirsh.domain.person import Login
from qirsh.domain.refusal import Refusal, Refused
from qirsh.web.auth.credentials import RECOVERY
from qirsh.web.auth.totp import new_seed, seal_seed, setup_uri, totp_step
from qirsh.web.documents.qr import qr_svg
from qirsh.web.html.page_context import Visit, signed_in
from qirsh.web.html.reauthentication import PROOF, SECURITY, Keeper, is_proved, keeper_of, letter_to
from qirsh.web.html.rendering import see_other
from qirsh.web.http.context import Parts
from qirsh.web.http.message import Response
from qirsh.web.http.problems import problem_of

_CODE_CHARACTERS: Final = 10  # 50 bits, of which a guess at the sign-in finds none.
_MAC_BYTES: Final = 36


def codes_left(login: Login) -> int:
    """Recovery codes that have not been used."""
    return len(login.recovery) // _MAC_BYTES


@signed_in
async def show_totp_setup(visit: Visit) -> Response:
    """A new seed, which counts for nothing until its first code has come back."""
    keeper = await keeper_of(visit)
    if keeper.has_factor:
        return see_other(SECURITY)
    return _seed_page(visit, keeper, new_seed(visit.parts.entropy))


@signed_in
async def turn_on_totp(visit: Visit) -> Response:
    """From now on a code is asked for; the recovery codes are shown this once."""
    form = visit.form("totp", "password", "code", "seed")
    keeper, parts = await keeper_of(visit), visit.parts
    seed = _unsealed(visit, form["seed"])
    if keeper.has_factor or seed is None:
        return visit.go(SECURITY, "totp.already" if keeper.has_factor else "totp.late")
    sealed = seal_seed(parts.keyring, seed)
    step = totp_step(parts, sealed, form["code"].replace(" ", ""))
    if not await is_proved(visit, keeper, {**form, "code": ""}):
        if (await keeper_of(visit)).has_factor:
            return visit.go(SECURITY, "totp.already")
        return _seed_page(visit, keeper, seed, status=422, why="password")
    if step is None:
        return _seed_page(visit, keeper, seed, status=422, why="code")
    codes = _new_codes(parts)
    outcome = await parts.engine.submit(
        SetSecondFactor(
            email=keeper.login.email,
            person=visit.person,
            totp_sealed=sealed,
            totp_step=step,
            recovery=_macs(parts, visit.person, codes),
            letters=letter_to(visit, keeper, "second_factor_on"),
            instead_of=None,
        )
    )
    if type(outcome) is not Refused:
        return visit.page("account/recovery_codes.html", codes=codes, is_first=True)
    if outcome.why is Refusal.MOVE_NOT_ALLOWED:
        return visit.go(SECURITY, "totp.already")  # Another tab was quicker: its app and its codes are the right ones.
    raise problem_of(outcome)


@signed_in
async def show_totp_off(visit: Visit) -> Response:
    """The form."""
    return _off_page(visit, await keeper_of(visit))


@signed_in
async def turn_off_totp(visit: Visit) -> Response:
    """No code is asked for any more."""
    form = visit.form("totp-off", *PROOF)
    keeper = await keeper_of(visit)
    if not keeper.has_factor:
        return see_other(SECURITY)
    if keeper.is_operator:
        return _off_page(visit, keeper, status=422)
    if not await is_proved(visit, keeper, form):
        return _off_page(visit, keeper, status=422, is_wrong=True)
    letters = letter_to(visit, keeper, "second_factor_off")
    outcome = await _set(visit, keeper, totp_sealed=None, recovery=b"", letters=letters)
    return visit.go(SECURITY, "totp.off" if outcome is None else "totp.changed")


@signed_in
async def show_recovery_codes(visit: Visit) -> Response:
    """The form."""
    return _recovery_page(visit, await keeper_of(visit))


@signed_in
async def renew_recovery_codes(visit: Visit) -> Response:
    """Ten new codes, shown this once. Those before work no more."""
    form = visit.form("recovery", *PROOF)
    keeper = await keeper_of(visit)
    if not keeper.has_factor:
        return see_other(SECURITY)
    if not await is_proved(visit, keeper, form):
        return _recovery_page(visit, keeper, status=422, is_wrong=True)
    codes = _new_codes(visit.parts)
    macs = _macs(visit.parts, visit.person, codes)
    letters = letter_to(visit, keeper, "recovery_renewed")
    refused = await _set(visit, keeper, totp_sealed=keeper.login.totp_sealed, recovery=macs, letters=letters)
    if refused is not None:
        return visit.go(SECURITY, "totp.changed")
    return visit.page("account/recovery_codes.html", codes=codes, is_first=False)


async def _set(
    visit: Visit, keeper: Keeper, *, totp_sealed: bytes | None, recovery: bytes, letters: tuple[Letter, ...]
) -> Refused | None:
    """A refusal tells that the second factor is another than it was a moment ago."""
    outcome = await visit.parts.engine.submit(
        SetSecondFactor(
            email=keeper.login.email,
            person=visit.person,
            totp_sealed=totp_sealed,
            totp_step=keeper.login.totp_step,
            recovery=recovery,
            letters=letters,
            instead_of=keeper.login.totp_sealed,
        )
    )
    if type(outcome) is Refused and outcome.why is not Refusal.MOVE_NOT_ALLOWED:
        raise problem_of(outcome)
    return outcome if type(outcome) is Refused else None


def _new_codes(parts: Parts) -> list[str]:
    """Letters and digits none of which is taken for another."""
    return [b32encode(parts.entropy(_CODE_CHARACTERS)).decode()[:_CODE_CHARACTERS] for _ in range(RECOVERY_CODES)]


def _macs(parts: Parts, person: int, codes: list[str]) -> bytes:
    macs = [parts.keyring.code_mac(RECOVERY, str(person), code) for code in codes]
    assert {len(mac) for mac in macs} == {_MAC_BYTES}
    return b"".join(macs)


def _purpose(visit: Visit) -> bytes:
    # A seed goes with the form, and only the session that got it can bring it back.
    return b"new totp " + visit.session


def _unsealed(visit: Visit, given: str) -> str | None:
    try:
        seed = visit.parts.keyring.unseal(b64decode(given, altchars=b"-_", validate=True), _purpose(visit))
    except ValueError:
        return None
    return None if seed is None else seed.decode()


def _seed_page(visit: Visit, keeper: Keeper, seed: str, *, status: int = 200, why: str = "") -> Response:
    sealed = visit.parts.keyring.seal(seed.encode(), _purpose(visit))
    return visit.page(
        "account/totp.html",
        status=status,
        why=why,
        seed=seed,
        sealed=urlsafe_b64encode(sealed).decode(),
        uri=setup_uri(seed, keeper.login.email),
        qr_svg=qr_svg,
        email=keeper.login.email,
    )


def _off_page(visit: Visit, keeper: Keeper, *, status: int = 200, is_wrong: bool = False) -> Response:
    if not keeper.has_factor:
        return see_other(SECURITY)
    return visit.page("account/totp_off.html", status=status, is_operator=keeper.is_operator, is_wrong=is_wrong)


def _recovery_page(visit: Visit, keeper: Keeper, *, status: int = 200, is_wrong: bool = False) -> Response:
    if not keeper.has_factor:
        return see_other(SECURITY)
    return visit.page("account/recovery.html", status=status, codes_left=codes_left(keeper.login), is_wrong=is_wrong)
