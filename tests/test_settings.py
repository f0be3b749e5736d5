"""The address of a PostgreSQL database: which are taken, and that none shows its password."""

import pytest

from qirsh.settings import BadSetting, PostgresUrl, read_settings

TAKEN = {
    "postgresql://u:secret@host/db": "postgresql://u@host/db",
    "postgres://u:sec%2Fret%40@host:5432/db?sslmode=require": "postgres://u@host:5432/db?sslmode=require",
    "postgresql://u:secret@one:1,two:2/db": "postgresql://u@one:1,two:2/db",
    "postgresql://u:secret@[::1]:5432/db": "postgresql://u@[::1]:5432/db",
    "postgresql://host:5432/db?user=u&password=secret@1": "postgresql://host:5432/db?user=u&password=...",
    "postgresql:///db?host=/run/postgresql&password=secret": "postgresql:///db?host=/run/postgresql&password=...",
    "postgresql://host/db?sslpassword=secret": "postgresql://host/db?sslpassword=...",
    "postgresql://u@/db": "postgresql://u@/db",
}
REFUSED = ["u:secret/1@host/db", "u:secret?1@host/db", "u:secret#1@host/db", "u:secret@1@host/db", "u:secret:1@host/db"]


@pytest.mark.parametrize("address", TAKEN)
def test_an_address_is_taken_and_shown_without_its_password(address: str) -> None:
    database = read_settings({"QIRSH_DATABASE_URL": address}).database
    assert isinstance(database, PostgresUrl)
    assert (str(database), database.shown) == (address, TAKEN[address])


@pytest.mark.parametrize("place", REFUSED)
def test_a_password_with_an_odd_letter_is_refused_before_the_driver_quotes_it(place: str) -> None:
    with pytest.raises(BadSetting, match="%2F") as told:
        read_settings({"QIRSH_DATABASE_URL": f"postgresql://{place}"})
    assert "secret" not in str(told.value)
    assert PostgresUrl(f"postgresql://{place}").shown == "postgresql://u@host/db"
