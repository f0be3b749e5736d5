"""A person's money: balances, history, statements, payments and payouts."""

from typing import Final

from qirsh.web.http.route import page
from qirsh.web.wallet.history_page import show_history
from qirsh.web.wallet.payout_page import cancel_payout, request_payout, show_payouts
from qirsh.web.wallet.statement_page import download_statement_csv, download_statement_pdf, show_statement
from qirsh.web.wallet.wallet_page import show_wallet
from qirsh.web.wallet.wallet_pay_page import BODY_BYTES_MAX, find_payment, show_pay_by_id, show_pay_by_id_again

ROUTES: Final = (
    page("GET", "/wallet", show_wallet),
    page("GET", "/wallet/history", show_history),
    page("GET", "/wallet/statement", show_statement),
    page("GET", "/wallet/statement.csv", download_statement_csv),
    page("GET", "/wallet/statement.pdf", download_statement_pdf),
    page("GET", "/wallet/pay", show_pay_by_id),
    page("POST", "/wallet/pay", find_payment, body_bytes_max=BODY_BYTES_MAX, on_refused=show_pay_by_id_again),
    page("GET", "/wallet/payouts", show_payouts),
    page("POST", "/wallet/payouts", request_payout),
    page("POST", "/wallet/payouts/{id}/cancel", cancel_payout),
)
