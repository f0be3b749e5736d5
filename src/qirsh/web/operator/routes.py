"""What a browser opens of the operators' side: the console, and an appointment behind its mailed link."""

from typing import Final

from qirsh.domain.operator_role import OperatorRight
from qirsh.web.http.route import BY_LINK, BY_PROOF, page
from qirsh.web.operator.account_page import ACCOUNT_ROUTES
from qirsh.web.operator.act_pages import ACT_ROUTES
from qirsh.web.operator.appointment_page import accept_appointment, show_appointment
from qirsh.web.operator.audit_pages import AUDIT_ROUTES
from qirsh.web.operator.bank_import_pages import BANK_IMPORT_ROUTES
from qirsh.web.operator.bank_pages import BANK_ROUTES
from qirsh.web.operator.brand_pages import BRAND_ROUTES
from qirsh.web.operator.business_pages import BUSINESS_ROUTES
from qirsh.web.operator.console_page import console_page
from qirsh.web.operator.decision_pages import QUEUE_ROUTES
from qirsh.web.operator.home_page import HOME_ROUTES
from qirsh.web.operator.identity_pages import IDENTITY_ROUTES
from qirsh.web.operator.ledger_pages import LEDGER_ROUTES
from qirsh.web.operator.money_pages import MONEY_ROUTES
from qirsh.web.operator.operator_pages import OPERATOR_ROUTES
from qirsh.web.operator.payment_page import PAYMENT_ROUTES
from qirsh.web.operator.payout_pages import PAYOUT_ROUTES
from qirsh.web.operator.person_page import PERSON_ROUTES
from qirsh.web.operator.proposal_pages import PROPOSAL_ROUTES
from qirsh.web.operator.recovery_pages import RECOVERY_ROUTES
from qirsh.web.operator.search_page import SEARCH_ROUTES
from qirsh.web.operator.sign_in_page import (
    console_sign_in,
    console_sign_in_with_passkey,
    console_sign_out,
    show_console_sign_in,
)
from qirsh.web.operator.system_pages import SYSTEM_ROUTES

ROUTES: Final = (
    page("GET", "/operator/appointments/{token}", show_appointment, right=BY_LINK),
    page("POST", "/operator/appointments/{token}", accept_appointment, right=BY_LINK),
    page("GET", "/operator/sign-in", show_console_sign_in, right=BY_PROOF),
    page("POST", "/operator/sign-in", console_sign_in, right=BY_PROOF),
    page("POST", "/operator/sign-in/passkey", console_sign_in_with_passkey, right=BY_PROOF),
    console_page("POST", "/sign-out", console_sign_out, right=OperatorRight.LOOK),
    *HOME_ROUTES,
    *PROPOSAL_ROUTES,
    *OPERATOR_ROUTES,
    *MONEY_ROUTES,
    *PAYOUT_ROUTES,
    *LEDGER_ROUTES,
    *AUDIT_ROUTES,
    *SYSTEM_ROUTES,
    *BANK_ROUTES,
    *BANK_IMPORT_ROUTES,
    *SEARCH_ROUTES,
    *PERSON_ROUTES,
    *ACCOUNT_ROUTES,
    *PAYMENT_ROUTES,
    *ACT_ROUTES,
    *QUEUE_ROUTES,
    *IDENTITY_ROUTES,
    *BUSINESS_ROUTES,
    *BRAND_ROUTES,
    *RECOVERY_ROUTES,
)
