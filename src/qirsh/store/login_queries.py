"""How people sign in and what was mailed to them, found by other things than the address."""

from typing import Final

from qirsh.store.queries import Query

ADDRESS_OF_PERSON: Final = Query("SELECT email FROM login WHERE person = $1")
# Whom a link was mailed to.
CHALLENGED_ADDRESS: Final = Query("SELECT email FROM challenge WHERE purpose = $1 AND token_hash = $2")
