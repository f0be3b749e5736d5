"""What SQLite reads to keep references: a row that others refer to looks for them when another is not there yet."""

from typing import Final

import apsw
import pytest

from qirsh.store import migrate

# They grow with every payment; two people who sign up in one commit must not read them to their end.
LARGE: Final = ("payment", "transfer", "event", "refund")


@pytest.mark.parametrize("table", LARGE)
def test_every_reference_of_a_large_table_has_an_index(table: str) -> None:
    connection = apsw.Connection(":memory:")
    for migration in migrate.migrations("sqlite"):
        connection.execute(migration.sql)
    keys = {row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5] == 1}
    for index in connection.execute(f"PRAGMA index_list({table})").fetchall():
        is_partial = bool(index[4])
        if not is_partial:
            keys.add(connection.execute(f"PRAGMA index_info({index[1]})").fetchall()[0][2])
    references = connection.execute(f"PRAGMA foreign_key_list({table})").fetchall()
    assert references
    assert {row[3] for row in references if row[2] in {"account", "person"}} <= keys
