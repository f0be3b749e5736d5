"""What `qirsh doctor` counts of a rotation is everything that is kept under a secret."""

import re

from qirsh.backup.layout import layout
from qirsh.doctor.secret_checks import UNDER
from qirsh.store import migrate

# Begins with the fingerprint of its secret too, and is renewed with the facts beside it.
WITH_ANOTHER = {("identity", "document_mac")}


def test_no_column_under_a_secret_is_forgotten() -> None:
    newest = migrate.migrations("sqlite")[-1].number
    columns = {
        (table.name, column)
        for table in layout(newest)
        for column in table.binary
        if column.endswith(("sealed", "mac", "recovery"))
    }
    counted = {re.findall(r"SELECT (\w+) FROM (\w+)", sql)[0][::-1] for sql in UNDER.values()}
    assert columns - WITH_ANOTHER == counted - {("constant", "value")}
