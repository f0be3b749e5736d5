"""A letter of every kind, with the words that it takes."""

from typing import Final

BASE_URL: Final = "https://pay.example"
EVERY_LETTER: Final[dict[str, dict[str, str | int]]] = {
    "sign_up_code": {"code": "482913"},
    "already_joined": {"sign_in_url": f"{BASE_URL}/sign-in", "forgot_url": f"{BASE_URL}/forgot"},
    "reset_password": {"url": f"{BASE_URL}/reset/h3gTQ0yZpEJp"},
    "password_changed": {},
    "email_change": {"url": f"{BASE_URL}/email/h3gTQ0yZpEJp"},
    "email_changed": {"new_email": "sara@home.example"},
    "pin_code": {"code": "482913"},
    "pin_changed": {},
    "second_factor_on": {},
    "second_factor_off": {},
    "recovery_renewed": {},
    "passkey_added": {"name": "هاتف سارة"},
    "passkey_removed": {"name": "Sara's phone"},
    "identity_verified": {"wallet_url": f"{BASE_URL}/wallet"},
    "identity_rejected": {"reason": "The picture is too dark", "identity_url": f"{BASE_URL}/wallet/identity"},
    "business_approved": {"name": "سوق النور", "url": f"{BASE_URL}/wallet/business/100000000016"},
    "business_rejected": {"name": "Yılmaz Kitabevi", "reason": "Vergi levhası eksik"},
    "account_suspended": {"name": "Souq Al-Nour"},
    "operator_link": {"by": "Samir Haddad", "url": f"{BASE_URL}/operator/h3gTQ0yZpEJp"},
    "operator_asked": {"by": "Samir Haddad", "name": "Hala Aydın", "new_email": "hala@home.example"},
    "operator_begun": {"name": "هالة أيدن", "new_email": "hala@home.example"},
    "operator_end_asked": {"by": "سمير حداد", "new_email": "hala@home.example"},
    "operator_ended": {"name": "Hala Aydın", "new_email": "hala@home.example"},
    "paid": {
        "amount": 10_098,
        "currency": "USD",
        "payee": "سوق النور",
        "payment": "4821907735501264",
        "receipt_url": f"{BASE_URL}/receipt/h3gTQ0yZpEJp",
    },
    "refunded": {"amount": 500, "currency": "TRY", "payee": "Yılmaz Kitabevi", "payment": "4821907735501264"},
    "deposited": {"amount": 1_000_000_00, "currency": "SYP"},
    "payout_paid": {"amount": 7_550, "currency": "EUR", "reference": "FT26319-0042"},
    "payout_refused": {"amount": 7_550, "currency": "EUR", "reason": "The name of the bank account is another one"},
}
