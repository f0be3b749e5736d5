"""Recovery codes are short: what is kept of one is as slow to try as a password, also for who has the secret key."""

from collections.abc import Iterator

import msgspec
import pytest
from argon2 import Type
from argon2.low_level import hash_secret

from qirsh.domain.person import Login
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.passwords import Passwords
from qirsh.web.auth.credentials import authenticate
from qirsh.web.auth.recovery_codes import HASH_BYTES, RECOVERY, new_codes, recovery_hashes, used_hash
from qirsh.web.http.context import Context
from tests.live import PASSWORD, InProcess, in_process
from tests.quick_passwords import quick_hasher
from tests.web.tenant import code_of, login_of, tenant, turn_on

SALT = b"of one person in one service"
# The cost of those that are handed out must never change: nobody could use theirs any more.
SLOW = "$argon2id$v=19$m=65536,t=3,p=4$b2Ygb25lIHBlcnNvbiBpbiBvbmUgc2VydmljZQ$"


@pytest.fixture(scope="module")
def house() -> Iterator[InProcess]:
    with in_process(people=8) as world:
        world.change(has_mail=True)
        yield world


class Counted(Passwords):
    """Counts the slow work."""

    def __init__(self) -> None:
        super().__init__()
        self._hasher = self._code_hasher = quick_hasher()
        self.stretched = 0

    async def stretch(self, code: str, salt: bytes) -> str:
        self.stretched += 1
        return await super().stretch(code, salt)


def counted(context: Context) -> tuple[Context, Counted]:
    passwords = Counted()
    return msgspec.structs.replace(context, passwords=passwords), passwords


def kept(login: Login) -> list[bytes]:
    return [login.recovery[start : start + HASH_BYTES] for start in range(0, len(login.recovery), HASH_BYTES)]


def test_a_recovery_code_is_kept_under_argon2id_with_a_salt_of_the_person_and_then_a_mac(house: InProcess) -> None:
    customer, guest = tenant(house)
    codes = [code.replace("-", "") for code in turn_on(house, guest)[1]]
    login, keyring = login_of(house, customer.email), house.context.keyring
    person = str(login.person)
    assert not set(kept(login)) & {keyring.code_mac(RECOVERY, person, code) for code in codes}
    salt = keyring.code_mac("recovery salt", person)
    cost = {"time_cost": 1, "memory_cost": 8, "parallelism": 1, "hash_len": 32}
    slow = [hash_secret(code.encode(), salt, **cost, type=Type.ID).decode() for code in codes]
    assert kept(login) == [keyring.code_mac(RECOVERY, person, each) for each in slow]


def test_the_same_code_of_two_people_is_kept_differently(house: InProcess) -> None:
    first, second = (house.run(recovery_hashes(house.context, person, ["ABCDEFGH23"])) for person in (7, 8))
    assert first[:4] == second[:4]
    assert first[4:] != second[4:]


def test_a_code_takes_as_much_work_as_a_password(house: InProcess) -> None:
    passwords = Passwords()
    assert house.run(passwords.stretch("ABCDEFGH23", SALT)) == f"{SLOW}Q1536baM+O2cSKKIsL8qFjtUeFsQkVXaxcJ25O55ZyU"
    passwords.close()


def test_a_try_costs_one_computation_and_a_code_of_the_app_none(house: InProcess) -> None:
    customer, guest = tenant(house)
    seed, codes = turn_on(house, guest)
    context, passwords = counted(house.context)

    def tries(code: str) -> tuple[bool, int]:
        passwords.stretched = 0
        proved = house.run(authenticate(context, email=customer.email, password=PASSWORD, code=code))
        return proved is not None, passwords.stretched

    assert tries(codes[3]) == (True, 1)
    assert tries(codes[4].lower().replace("-", " ")) == (True, 1)
    assert tries("ABCDEFGH23") == (False, 1)
    assert tries(code_of(house, seed)) == (True, 0)
    assert tries("000000") == (False, 0)
    assert tries(codes[0][:-1]) == (False, 0)
    passwords.close()


def test_codes_outlive_a_change_of_the_secret_as_long_as_the_old_one_is_named(house: InProcess) -> None:
    old, new = b"o" * 32, b"n" * 32
    before, both, after = (
        msgspec.structs.replace(house.context, keyring=Keyring(secrets, system_entropy))
        for secrets in ([old], [new, old], [new])
    )
    codes = new_codes(house.context.entropy)
    login = login_of(house, tenant(house)[0].email)

    async def made(context: Context) -> Login:
        return msgspec.structs.replace(login, recovery=await recovery_hashes(context, login.person, codes))

    login_before = house.run(made(before))
    during, passwords = counted(both)
    for code, hashed in zip(codes, kept(login_before), strict=True):
        assert house.run(used_hash(before, login_before, code)) == hashed
        assert house.run(used_hash(during, login_before, code)) == hashed
        assert house.run(used_hash(after, login_before, code)) is None
    assert passwords.stretched == len(codes)
    # New ones are made under the new one.
    login_after = house.run(made(both))
    assert house.run(used_hash(after, login_after, codes[0])) == kept(login_after)[0]
    assert house.run(used_hash(before, login_after, codes[0])) is None
    passwords.close()


def test_who_has_none_left_has_nothing_to_find(house: InProcess) -> None:
    context, passwords = counted(house.context)
    login = msgspec.structs.replace(login_of(house, tenant(house)[0].email), recovery=b"")
    assert house.run(used_hash(context, login, "ABCDEFGH23")) is None
    assert passwords.stretched == 0
    passwords.close()
