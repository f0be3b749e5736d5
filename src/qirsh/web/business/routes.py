"""The businesses of a person, and all pages of one business, each with the right that it needs."""

from typing import Final

from qirsh.domain.staff import Right
from qirsh.web.business.activity_page import download_activity, show_activity
from qirsh.web.business.bank_account_pages import add_bank_account, remove_bank_account, show_bank_accounts
from qirsh.web.business.brand_pages import (
    BODY_BYTES_MAX,
    request_brand_change,
    set_brand_colour,
    show_brand,
    show_brand_again,
    withdraw_brand_change,
)
from qirsh.web.business.businesses import request_business, show_businesses
from qirsh.web.business.delivery_pages import (
    resend_from_page,
    send_again,
    show_deliveries,
    show_delivery,
    show_send_again,
)
from qirsh.web.business.endpoint_forms import (
    create_endpoint_from_page,
    edit_endpoint,
    rotate_secret_from_page,
    show_edit_endpoint,
    show_new_endpoint,
    show_rotate_secret,
)
from qirsh.web.business.endpoint_pages import (
    ping_from_page,
    remove_endpoint_from_page,
    set_endpoint_state,
    show_endpoint,
    show_endpoints,
    show_remove_endpoint,
    show_verification,
)
from qirsh.web.business.export_pages import download_export, show_exports
from qirsh.web.business.invitation_pages import answer_invitation, invite_member, show_invitation, show_invite
from qirsh.web.business.key_pages import issue_api_key, revoke_api_key, show_keys, show_revoke_api_key
from qirsh.web.business.key_rotation import rotate_api_key, show_rotate_api_key
from qirsh.web.business.message_pages import answer_operators, mark_messages_read, show_messages
from qirsh.web.business.newer_payments import show_newer
from qirsh.web.business.overview import show_overview
from qirsh.web.business.payment_pages import cancel_payment, show_payment, show_payments
from qirsh.web.business.payout_page import download_payout_transactions, show_payout
from qirsh.web.business.payout_pages import cancel_shop_payout, request_shop_payout, show_shop_payouts
from qirsh.web.business.refund_page import refund_payment, show_refund
from qirsh.web.business.report_pages import show_report
from qirsh.web.business.request_pages import show_request, show_requests
from qirsh.web.business.saved_view_pages import remove_view, save_view
from qirsh.web.business.settings_pages import set_payment_defaults, set_time_zone, show_settings
from qirsh.web.business.shop_page import business_page
from qirsh.web.business.staff_pages import (
    change_member,
    leave,
    remove_member,
    set_staff_policy,
    show_change_member,
    show_leave,
    show_remove_member,
    show_staff,
    withdraw_invitation,
)
from qirsh.web.business.statement_pages import download_monthly_statement, show_statements
from qirsh.web.business.take_pages import sell, show_sale, show_sell, show_take, take_payment
from qirsh.web.business.till_pages import (
    close_till,
    download_poster,
    open_till,
    show_close_till,
    show_till_of_shop,
    show_tills,
)
from qirsh.web.http.route import SIGNED_IN, page

_PAYMENTS: Final = (
    business_page("GET", "/payments", show_payments, right=Right.SEE_PAYMENTS),
    business_page("GET", "/payments/newer", show_newer, right=Right.SEE_PAYMENTS),
    business_page("POST", "/payments/views", save_view, right=Right.SEE_PAYMENTS),
    business_page("POST", "/payments/views/{id}/remove", remove_view, right=Right.SEE_PAYMENTS),
    business_page("GET", "/payments/{id}", show_payment, right=Right.SEE_PAYMENTS),
    business_page("POST", "/payments/{id}/cancel", cancel_payment, right=Right.TAKE_PAYMENTS),
    business_page("GET", "/payments/{id}/refund", show_refund, right=Right.REFUND),
    business_page("POST", "/payments/{id}/refund", refund_payment, right=Right.REFUND),
    business_page("GET", "/take", show_take, right=Right.TAKE_PAYMENTS),
    business_page("POST", "/take", take_payment, right=Right.TAKE_PAYMENTS),
    business_page("GET", "/sell", show_sell, right=Right.TAKE_PAYMENTS),
    business_page("POST", "/sell", sell, right=Right.TAKE_PAYMENTS),
    business_page("GET", "/sell/{id}", show_sale, right=Right.TAKE_PAYMENTS),
)
_PAYOUTS: Final = (
    business_page("GET", "/payouts", show_shop_payouts, right=Right.SEE_MONEY),
    business_page("POST", "/payouts", request_shop_payout, right=Right.REQUEST_PAYOUTS),
    business_page("GET", "/payouts/{id}", show_payout, right=Right.SEE_MONEY),
    business_page("POST", "/payouts/{id}/cancel", cancel_shop_payout, right=Right.REQUEST_PAYOUTS),
    business_page("POST", "/payouts/{id}/transactions", download_payout_transactions, right=Right.EXPORT),
    business_page("GET", "/bank-accounts", show_bank_accounts, right=Right.MANAGE_BANK_ACCOUNTS),
    business_page("POST", "/bank-accounts", add_bank_account, right=Right.MANAGE_BANK_ACCOUNTS),
    business_page("POST", "/bank-accounts/{id}/remove", remove_bank_account, right=Right.MANAGE_BANK_ACCOUNTS),
)
_TILLS: Final = tuple(
    business_page(method, path, handler, right=Right.MANAGE_SHOP)
    for method, path, handler in (
        ("GET", "/tills", show_tills),
        ("POST", "/tills", open_till),
        ("GET", "/tills/{id}", show_till_of_shop),
        ("GET", "/tills/{id}/poster", download_poster),
        ("GET", "/tills/{id}/close", show_close_till),
        ("POST", "/tills/{id}/close", close_till),
    )
)
_SETTINGS: Final = (
    business_page("GET", "/settings", show_settings, right=Right.INTEGRATE),
    business_page("POST", "/settings", set_payment_defaults, right=Right.INTEGRATE),
    business_page("POST", "/settings/time-zone", set_time_zone, right=Right.MANAGE_SHOP),
    business_page("GET", "/brand", show_brand, right=Right.MANAGE_SHOP),
    business_page(
        "POST",
        "/brand",
        request_brand_change,
        right=Right.MANAGE_SHOP,
        body_bytes_max=BODY_BYTES_MAX,
        on_refused=show_brand_again,
    ),
    business_page("POST", "/brand/withdraw", withdraw_brand_change, right=Right.MANAGE_SHOP),
    business_page("POST", "/brand/colour", set_brand_colour, right=Right.MANAGE_SHOP),
)
_EXPORTS: Final = (
    business_page("GET", "/reports", show_report, right=Right.SEE_MONEY),
    business_page("GET", "/statements", show_statements, right=Right.SEE_MONEY),
    business_page("POST", "/statements", download_monthly_statement, right=Right.EXPORT),
    business_page("GET", "/exports", show_exports, right=Right.EXPORT),
    business_page("POST", "/exports", download_export, right=Right.EXPORT),
)
_KEYS: Final = (
    business_page("GET", "/keys", show_keys, right=Right.SEE_KEYS),
    business_page("POST", "/keys", issue_api_key, right=Right.MANAGE_KEYS),
    business_page("GET", "/keys/{id}/rotate", show_rotate_api_key, right=Right.MANAGE_KEYS),
    business_page("POST", "/keys/{id}/rotate", rotate_api_key, right=Right.MANAGE_KEYS),
    business_page("GET", "/keys/{id}/revoke", show_revoke_api_key, right=Right.MANAGE_KEYS),
    business_page("POST", "/keys/{id}/revoke", revoke_api_key, right=Right.MANAGE_KEYS),
    business_page("GET", "/requests", show_requests, right=Right.SEE_KEYS),
    business_page("GET", "/requests/{id}", show_request, right=Right.SEE_KEYS),
)
_WEBHOOKS: Final = tuple(
    business_page(method, path, handler, right=Right.INTEGRATE)
    for method, path, handler in (
        ("GET", "/webhooks", show_endpoints),
        ("GET", "/webhooks/new", show_new_endpoint),
        ("POST", "/webhooks/new", create_endpoint_from_page),
        ("GET", "/webhooks/{id}", show_endpoint),
        ("GET", "/webhooks/{id}/edit", show_edit_endpoint),
        ("POST", "/webhooks/{id}/edit", edit_endpoint),
        ("POST", "/webhooks/{id}/state", set_endpoint_state),
        ("POST", "/webhooks/{id}/ping", ping_from_page),
        ("GET", "/webhooks/{id}/rotate", show_rotate_secret),
        ("POST", "/webhooks/{id}/rotate", rotate_secret_from_page),
        ("GET", "/webhooks/{id}/remove", show_remove_endpoint),
        ("POST", "/webhooks/{id}/remove", remove_endpoint_from_page),
        ("GET", "/webhooks/{id}/verify", show_verification),
        ("GET", "/webhooks/{id}/again", show_send_again),
        ("POST", "/webhooks/{id}/again", send_again),
        ("GET", "/webhooks/{id}/deliveries", show_deliveries),
        ("GET", "/deliveries/{id}", show_delivery),
        ("POST", "/deliveries/{id}/resend", resend_from_page),
    )
)
_STAFF: Final = (
    business_page("GET", "/activity", show_activity, right=Right.SEE_ACTIVITY),
    business_page("GET", "/activity.csv", download_activity, right=Right.SEE_ACTIVITY),
    business_page("GET", "/staff", show_staff, right=Right.SEE_STAFF),
    business_page("GET", "/staff/invite", show_invite, right=Right.MANAGE_STAFF),
    business_page("POST", "/staff/invite", invite_member, right=Right.MANAGE_STAFF),
    business_page("POST", "/staff/policy", set_staff_policy, right=Right.SET_STAFF_POLICY),
    business_page("GET", "/staff/{id}", show_change_member, right=Right.MANAGE_STAFF),
    business_page("POST", "/staff/{id}", change_member, right=Right.MANAGE_STAFF),
    business_page("GET", "/staff/{id}/remove", show_remove_member, right=Right.MANAGE_STAFF),
    business_page("POST", "/staff/{id}/remove", remove_member, right=Right.MANAGE_STAFF),
    business_page("POST", "/invitations/{id}/withdraw", withdraw_invitation, right=Right.MANAGE_STAFF),
    business_page("GET", "/leave", show_leave, right=Right.BELONG),
    business_page("POST", "/leave", leave, right=Right.BELONG),
    page("GET", "/invitations/{id}", show_invitation),
    page("POST", "/invitations/{id}", answer_invitation),
)
ROUTES: Final = (
    page("GET", "/business", show_businesses, right=SIGNED_IN),
    page("POST", "/business", request_business, right=SIGNED_IN),
    business_page("GET", "", show_overview, right=Right.BELONG),
    business_page("GET", "/messages", show_messages, right=Right.ANSWER_OPERATORS),
    business_page("POST", "/messages", answer_operators, right=Right.ANSWER_OPERATORS),
    business_page("POST", "/messages/read", mark_messages_read, right=Right.ANSWER_OPERATORS),
    *_PAYMENTS,
    *_TILLS,
    *_PAYOUTS,
    *_STAFF,
    *_SETTINGS,
    *_EXPORTS,
    *_KEYS,
    *_WEBHOOKS,
)
