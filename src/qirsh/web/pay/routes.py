"""The pay page, its status and receipts."""

from typing import Final

from qirsh.web.http.route import Route, page
from qirsh.web.pay.brand_files import serve_brand_colour, serve_brand_logo
from qirsh.web.pay.pay_page import (
    begin_with_number,
    confirm_with_passkey,
    confirm_with_pin,
    leave_pay_page,
    show_pay_page,
    sign_in_and_pay_with_passkey,
    sign_in_to_pay,
    sign_out_of_pay_page,
)
from qirsh.web.pay.payment_status import show_paid_elsewhere, show_payment_status, show_phone_qr
from qirsh.web.pay.receipt import download_receipt, show_receipt
from qirsh.web.pay.test_mode import simulate_outcome
from qirsh.web.pay.till_page import create_at_till, show_till

ROUTES: Final = (
    page("GET", "/pay", begin_with_number),
    page("GET", "/pay/{id}", show_pay_page),
    page("GET", "/pay/{id}/cancel", leave_pay_page),
    page("POST", "/pay/{id}/sign-in", sign_in_to_pay),
    page("POST", "/pay/{id}/sign-in/passkey", sign_in_and_pay_with_passkey),
    page("POST", "/pay/{id}/sign-out", sign_out_of_pay_page),
    page("POST", "/pay/{id}/confirm", confirm_with_pin),
    page("POST", "/pay/{id}/passkey", confirm_with_passkey),
    page("POST", "/pay/{id}/test", simulate_outcome),
    Route("GET", "/pay/{id}/state", show_payment_status, token=None),
    page("GET", "/pay/{id}/back", show_paid_elsewhere),
    Route("GET", "/pay/{id}/qr", show_phone_qr, token=None),
    page("GET", "/till/{id}", show_till),
    page("POST", "/till/{id}", create_at_till),
    Route("GET", "/brand/colour/{id}", serve_brand_colour, token=None, is_counted=False),
    Route("GET", "/brand/logo/{id}", serve_brand_logo, token=None),
    page("GET", "/receipt/{token}", show_receipt),
    page("GET", "/receipt/{token}/pdf", download_receipt),
)
