"""What becomes of each kind of command: the rules of all subjects, in one table."""

from typing import Final

from qirsh.domain.rule import Rules
from qirsh.domain.rules import (
    access_order,
    account,
    audit_log,
    bank_order,
    constant,
    idempotency,
    identity,
    lease,
    login_credentials,
    mail,
    metadata_index,
    operator,
    payment,
    payout,
    person,
    refund,
    reseal,
    seal,
    session,
    stop,
    test_mode,
)

RULES: Final[Rules] = {
    **payment.RULES,
    **refund.RULES,
    **test_mode.RULES,
    **account.RULES,
    **bank_order.RULES,
    **payout.RULES,
    **person.RULES,
    **session.RULES,
    **login_credentials.RULES,
    **identity.RULES,
    **operator.RULES,
    **access_order.RULES,
    **mail.RULES,
    **metadata_index.RULES,
    **lease.RULES,
    **constant.RULES,
    **reseal.RULES,
    **idempotency.RULES,
    **seal.RULES,
    **stop.RULES,
    **audit_log.RULES,
}
