"""What hands might type about the staff of a business: `test_schema_refuses_bad_money` types it."""

# Every part of every statement is a constant of this file.
# ruff: noqa: S608

from typing import Final

_MEMBER: Final = "INSERT INTO member VALUES ({}, {}, '{}', :first, 1, 1)"
_CAP: Final = "UPDATE member_cap SET {} WHERE account = :shop"
_TALLY: Final = "UPDATE refund_tally SET {} WHERE account = :shop"
_NOTHING: Final = "(SELECT secret_sealed FROM webhook_endpoint WHERE id = 'we_gone')"  # As bytes.
_CHECK: Final = "statement_notice_\\w*check|member\\w*_check|invitation_\\w*check|payment_act_\\w*check|CHECK"

_TILL: Final = (
    "INSERT INTO till (id, account, name, currency, amount, minimum, maximum, note, created_by, created_at)"
    " VALUES ('till_new', {}, '{}', 'USD', {}, {}, {}, '', :first, 1)"
)
_TILL_CHECK: Final = "till_\\w+|CHECK"
_TILL_STAYS: Final = "nothing else of it changes"

BAD_STAFF: Final[dict[str, tuple[str, str]]] = {
    "the owner of a shop as a member": (
        _MEMBER.format(":shop", "(SELECT owner FROM account WHERE number = :shop)", "viewer"),
        "not of a live business, or its owner",
    ),
    "a member of a test account": (_MEMBER.format(":till", ":second", "viewer"), "not of a live business"),
    "a member of a personal account": (_MEMBER.format(":customer", ":second", "viewer"), "not of a live business"),
    "a second owner": (_MEMBER.format(":shop", ":second", "owner"), _CHECK),
    "a member with a role that there is not": ("UPDATE member SET role = 'boss'", _CHECK),
    "a member of another shop": ("UPDATE member SET account = :hooked", "their business never changes"),
    "another person in a member's place": (
        "UPDATE member SET person = :second WHERE role = 'viewer'",
        "their business never changes",
    ),
    "what was refunded, forgotten": (_TALLY.format("used = 0"), "only grows"),
    "a day that comes back": (_TALLY.format("since = since - 1, used = 0"), "only grows"),
    "a day that is too short": (_TALLY.format("since = since + 79199999, used = 0"), "only grows"),
    "a tally of another currency": (_TALLY.format("currency = 'SYP'"), "only grows"),
    "a tally that vanished": ("DELETE FROM refund_tally", "never vanish"),
    "a tally of less than nothing": (
        _TALLY.format("since = since + 79200000, used = -1"),
        "refund_tally_used_check|CHECK",
    ),
    "a cap of another currency": (_CAP.format("currency = 'SYP'"), "never changes"),
    "a cap of nothing": (_CAP.format("amount = 0"), _CHECK),
    "a bank account that was always there": ("UPDATE bank_account SET created_at = 1", "its age never change"),
    "a bank account of another shop": ("UPDATE bank_account SET account = :hooked", "its age never change"),
    "a bank account of nothing": (
        f"UPDATE bank_account SET details_sealed = {_NOTHING}",
        "bank_account_details_sealed_check|CHECK",
    ),
    "a till of a person": (_TILL.format(":customer", "x", 1, "NULL", "NULL"), "not of a business"),
    "a till without a name": (_TILL.format(":shop", "", 1, "NULL", "NULL"), _TILL_CHECK),
    "a till that takes nothing": (_TILL.format(":shop", "x", 0, "NULL", "NULL"), _TILL_CHECK),
    "a till that takes too much": (_TILL.format(":shop", "x", 10**15, "NULL", "NULL"), _TILL_CHECK),
    "a till with an amount and bounds": (_TILL.format(":shop", "x", 1, 1, 2), _TILL_CHECK),
    "a till with neither": (_TILL.format(":shop", "x", "NULL", "NULL", "NULL"), _TILL_CHECK),
    "a till with half of its bounds": (_TILL.format(":shop", "x", "NULL", 1, "NULL"), _TILL_CHECK),
    "a till from nothing": (_TILL.format(":shop", "x", "NULL", 0, 1), _TILL_CHECK),
    "a till whose bounds cross": (_TILL.format(":shop", "x", "NULL", 2, 1), _TILL_CHECK),
    "a till whose bounds are too wide": (_TILL.format(":shop", "x", "NULL", 1, 10**15), _TILL_CHECK),
    "a till of another shop": ("UPDATE till SET account = :hooked", _TILL_STAYS),
    "a till that takes more than is printed": ("UPDATE till SET maximum = maximum + 1", _TILL_STAYS),
    "a till that is opened again": ("UPDATE till SET closed_at = NULL WHERE id = 'till_closed'", _TILL_STAYS),
    "a till that vanished": ("DELETE FROM till", "tills never vanish"),
    "a brand of a test account": (f"INSERT INTO brand VALUES (:till, '', '', {_NOTHING})", "not of a live business"),
    "a brand of another shop": ("UPDATE brand SET account = :hooked", "its business never changes"),
    "a brand that vanished": ("DELETE FROM brand", "never vanish"),
    "a logo without its picture": (f"UPDATE brand SET picture = {_NOTHING}", "brand_check|CHECK"),
    "a colour that is none": ("UPDATE brand SET colour = 'red'", "brand_colour_check|CHECK"),
    "a request for a logo of another": ("UPDATE brand_change SET account = :hooked", "as it was asked for"),
    "a request that says otherwise": ("UPDATE brand_change SET name = 'Qirsh'", "as it was asked for"),
    "a request that was approved by nobody": (
        f"UPDATE brand_change SET state = 'approved', picture = {_NOTHING}",
        "brand_change_check|CHECK",
    ),
    "a request that was approved by who asked": (
        (
            f"UPDATE brand_change SET state = 'approved', picture = {_NOTHING}, asked_by = :first, id = 'bc_3',"
            " decided_at = 1, decided_by = :first"
        ),
        "brand_change_check|CHECK",
    ),
    "a picture that nobody sees": ("UPDATE brand_change SET state = 'withdrawn'", "brand_change_check|CHECK"),
    "a decision that is taken back": (
        f"UPDATE brand_change SET state = 'withdrawn', picture = {_NOTHING}; UPDATE brand_change SET state = 'waiting'",
        "decided once",
    ),
    "a request of a test account": (
        (
            "INSERT INTO brand_change SELECT :till, id, name, logo, picture, state, reason, asked_by, asked_at, "
            "decided_by, decided_at FROM brand_change"
        ),
        "not of a live business",
    ),
    "a request that vanished": ("DELETE FROM brand_change", "never vanish"),
    "a message that says something else": ("UPDATE shop_message SET text = 'x'", "never change"),
    "a message that was not read after all": ("UPDATE shop_message SET read_at = NULL WHERE id = 'msg_2'", "read once"),
    "a message that vanished": ("DELETE FROM shop_message", "never vanish"),
    "a message of nothing": (
        "INSERT INTO shop_message VALUES ('msg_3', :shop, 'owner', :first, '', 1, NULL)",
        "shop_message_\\w*check|CHECK",
    ),
    "a message from somebody else": (
        "INSERT INTO shop_message VALUES ('msg_3', :shop, 'customer', :first, 'x', 1, NULL)",
        "shop_message_\\w*check|CHECK",
    ),
    "a statement that is told of again": ("UPDATE statement_notice SET month = month - 1", "only go on"),
    "a statement of no month": ("UPDATE statement_notice SET month = 202613", _CHECK),
    "a notice of a statement that vanished": ("DELETE FROM statement_notice", "never vanish"),
    "an invitation to something else": ("UPDATE invitation SET role = 'manager'", "never change"),
    "a key that never ends after all": (
        "UPDATE api_key SET expires_at = 1, name = 'x'; UPDATE api_key SET expires_at = NULL",
        "end once and never later",
    ),
    "a key with another successor": (
        "UPDATE api_key SET replaced_by = id, name = 'x'; UPDATE api_key SET replaced_by = NULL",
        "end once and never later",
    ),
    "a logged request that says otherwise": ("UPDATE request_log SET status = 200", "never change"),
    "a logged request without a status": (
        (
            "INSERT INTO request_log SELECT 'req_3', at, key, account, method, path, 0, code, payment, took_ms,"
            " address, skipped FROM request_log WHERE id = 'req_1'"
        ),
        "request_log_status_check|CHECK",
    ),
    "a saved view of something else": ("UPDATE saved_view SET query = 'status=pending'", "never change"),
    "a saved view too many": (
        "INSERT INTO saved_view VALUES (:shop, :first, 'live', 21, 'sv_9', 'x', 'status=paid', 1)",
        "saved_view_place_check|CHECK",
    ),
    "a saved view without a name": (
        "INSERT INTO saved_view VALUES (:shop, :first, 'live', 1, 'sv_9', '', 'status=paid', 1)",
        "saved_view_name_check|CHECK",
    ),
    "a failed attempt for another reason": ("UPDATE payment_attempt SET reason = 'other'", "never change"),
    "a failed attempt for no reason": (
        "INSERT INTO payment_attempt VALUES (:pending, 3, 'pa_9', 1, 'poverty')",
        "payment_attempt_reason_check|CHECK",
    ),
    "a failed attempt too many": (
        "INSERT INTO payment_attempt VALUES (:pending, 21, 'pa_9', 1, 'other')",
        "payment_attempt_place_check|CHECK",
    ),
    "a payment act that never was": (
        "INSERT INTO payment_act VALUES (:pending, 2, :first, :shop, 'created', 1)",
        "of a version that never was",
    ),
    "a payment act by somebody else": ("UPDATE payment_act SET person = :second", "never change"),
    "a payment act that vanished": ("DELETE FROM payment_act", "never vanish"),
}
GOOD_STAFF: Final[dict[str, str]] = {
    "a till that takes the largest amount": _TILL.format(":shop", "x", 999999999999999, "NULL", "NULL"),
    "a till whose bounds meet": _TILL.format(":till", "x", "NULL", 999999999999999, 999999999999999),
    "a new day of a cashier": _TALLY.format("since = since + 79200000, used = 0"),
}
STAFF_TO_NOWHERE: Final[dict[str, str]] = {
    "a till of no currency": _TILL.format(":shop", "x", 1, "NULL", "NULL").replace("'USD'", "'XXX'"),
    "a message about no shop": "INSERT INTO shop_message VALUES ('msg_3', 404, 'owner', :first, 'x', 1, NULL)",
    "a message of nobody": "INSERT INTO shop_message VALUES ('msg_3', :shop, 'owner', 404, 'x', 1, NULL)",
    "a statement of nobody": "INSERT INTO statement_notice VALUES (404, 202611)",
    "a use of no key": "INSERT INTO api_key_use VALUES ('key_404', 1, '')",
    "a saved view of nobody": "INSERT INTO saved_view VALUES (:shop, 404, 'live', 1, 'sv_9', 'x', 'status=paid', 1)",
    "a cap of nobody": "INSERT INTO member_cap VALUES (:hooked, :first, 'USD', 1)",
    "a tally of nobody": "INSERT INTO refund_tally VALUES (:shop, 404, 'USD', 1, 0)",
}
REPLACED_STAFF: Final[dict[str, tuple[str, str]]] = {
    "a member replaced": (
        "INSERT OR REPLACE INTO member SELECT account, person, 'manager', invited_by, 1, 1 FROM member LIMIT 1",
        "never replaced",
    ),
    "a cap replaced": (
        "INSERT OR REPLACE INTO member_cap SELECT account, person, currency, 999 FROM member_cap LIMIT 1",
        "never replaced",
    ),
    "a tally replaced": (
        "INSERT OR REPLACE INTO refund_tally SELECT account, person, currency, 0, since FROM refund_tally LIMIT 1",
        "never replaced",
    ),
    "a till replaced": (
        (
            "INSERT OR REPLACE INTO till SELECT id, account, name, currency, 1, NULL, NULL, note, created_by, 1, NULL"
            " FROM till LIMIT 1"
        ),
        "never replaced",
    ),
    "a message replaced": (
        "INSERT OR REPLACE INTO shop_message SELECT id, account, author, person, 'x', at, read_at FROM shop_message",
        "never replaced",
    ),
    "a notice of a statement replaced": (
        "INSERT OR REPLACE INTO statement_notice SELECT account, 202601 FROM statement_notice",
        "never replaced",
    ),
    "a bank account replaced": (
        "INSERT OR REPLACE INTO bank_account SELECT id, account, details_sealed, created_by, 1 FROM bank_account",
        "never replaced",
    ),
    "a brand replaced": ("INSERT OR REPLACE INTO brand SELECT account, '', '', x'' FROM brand", "never replaced"),
    "a request for a brand replaced": (
        (
            "INSERT OR REPLACE INTO brand_change SELECT account, 'bc_3', 'x', '', x'', state, reason, asked_by, "
            "asked_at, decided_by, decided_at FROM brand_change"
        ),
        "never replaced",
    ),
    "an invitation replaced": (
        "INSERT OR REPLACE INTO invitation SELECT id, account, email, role, caps, invited_by, 1, 2 FROM invitation",
        "never replaced",
    ),
    "a saved view replaced": (
        "INSERT OR REPLACE INTO saved_view SELECT account, person, mode, 9, id, name, 'q=1', 1 FROM saved_view LIMIT 1",
        "never replaced",
    ),
    "a failed attempt replaced": (
        "INSERT OR REPLACE INTO payment_attempt SELECT payment, place, id, 1, 'other' FROM payment_attempt LIMIT 1",
        "never replaced",
    ),
    "a logged request replaced": (
        (
            "INSERT OR REPLACE INTO request_log SELECT id, at, key, account, method, path, 200, '', payment, took_ms,"
            " address, skipped FROM request_log WHERE id = 'req_1'"
        ),
        "never replaced",
    ),
    "a payment act replaced": (
        "INSERT OR REPLACE INTO payment_act SELECT payment, version, 1, account, act, at FROM payment_act LIMIT 1",
        "never replaced",
    ),
}
