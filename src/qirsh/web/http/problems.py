"""Every answer that is not a success, in one table: what the caller hears for each refusal and each bad request."""

from typing import Final

import msgspec

from qirsh.domain.limits import REFUNDS_MAX
from qirsh.domain.refusal import Refusal, Refused


class ProblemType(msgspec.Struct, frozen=True):
    """One kind of problem: its status, its title, and what the caller can do about it."""

    status: int
    title: str
    detail: str
    retry_after_s: int | None = None


class FieldError(msgspec.Struct, frozen=True):
    """What is wrong with one field."""

    field: str
    code: str
    detail: str


class Problem(Exception):
    """A bad request, found at the edge before any command was made."""

    def __init__(self, code: str, *, errors: list[FieldError] | None = None, detail: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.errors = errors or []
        self.detail = detail
        self.attempts_left: int | None = None
        self.retry_after_s: int | None = None  # None: as its kind says.
        self.named: tuple[str, ...] = ()  # What a page says in words of its own.


def scope_needed(scope: str) -> str:
    """What a caller hears whose key lacks it."""
    return f"This call needs a key with the scope {scope}."


# Codes are stable: v1 only gains new ones.
PROBLEM_TYPES: Final[dict[str, ProblemType]] = {
    # The request.
    "bad_request": ProblemType(400, "Bad request", "The request is not valid HTTP for this service."),
    "invalid_json": ProblemType(
        400, "Unreadable JSON", "Send one JSON object in UTF-8, without duplicate keys or NaN."
    ),
    "unauthorized": ProblemType(
        401, "Not authenticated", "Send a valid key or session as `Authorization: Bearer <token>`."
    ),
    "missing_scope": ProblemType(403, "Missing scope", "This key does not have the scope that the call needs."),
    "address_not_allowed": ProblemType(
        403, "Address not allowed", "This key may not be used from the address that the call came from."
    ),
    "not_found": ProblemType(404, "Not found", "It does not exist, or you do not have access to it."),
    "unknown_address": ProblemType(
        404, "Unknown address", "There is no such address. See /docs for all addresses; none ends with a slash."
    ),
    "method_not_allowed": ProblemType(
        405, "Method not allowed", "See the Allow header for the methods of this address."
    ),
    "request_timeout": ProblemType(408, "Request timeout", "The request did not arrive in time."),
    "body_too_large": ProblemType(413, "Body too large", "Send less than 128 KiB."),
    "uri_too_long": ProblemType(414, "Address too long", "Send a shorter address."),
    "unsupported_media_type": ProblemType(
        415, "Unsupported media type", "Send `Content-Type: application/json`, in UTF-8, not compressed."
    ),
    "validation_failed": ProblemType(
        422, "Validation failed", "Some fields are not valid; `errors` lists all of them."
    ),
    "headers_too_large": ProblemType(431, "Headers too large", "Send fewer or shorter headers."),
    "rate_limited": ProblemType(429, "Too many calls", "Wait for the number of seconds in the Retry-After header.", 1),
    "wrong_credentials": ProblemType(401, "Wrong credentials", "Incorrect e-mail, password or code."),
    "stale_form": ProblemType(403, "Form not valid", "Nothing was done. Open the page again and use the form on it."),
    # The service.
    "internal_error": ProblemType(
        500, "Internal error", "Something went wrong on our side. Contact support and quote the request id."
    ),
    "overloaded": ProblemType(503, "Overloaded", "Nothing was done. Try again in a moment.", 1),
    "unavailable": ProblemType(
        503, "Unavailable", "Changes are not possible at the moment. Nothing was done. Try again.", 5
    ),
    "outcome_unknown": ProblemType(
        503, "Outcome unknown", "It may or may not have been done. Retry with the same Idempotency-Key.", 5
    ),
    # Refusals, in the words of the domain.
    "idempotency_key_reused": ProblemType(
        422,
        "Idempotency-Key reused",
        "This key was used for another request. Use a new key for a new request.",
    ),
    "money_stopped": ProblemType(
        503,
        "Payments paused",
        "No money moves until the operators have looked into a fault and lifted the stop."
        " Nothing was done. Reading, creating and cancelling still work.",
        60,
    ),
    "not_operator": ProblemType(
        403,
        "Not an operator",
        "This person is no longer an operator, or their own account is suspended or closed. Nothing was done.",
    ),
    "code_not_valid": ProblemType(
        403, "Code not valid", "The code or link is incorrect, was already used, or has expired. Request a new one."
    ),
    "password_spent": ProblemType(
        403,
        "Password no longer valid",
        "Too many incorrect verification codes followed the right password, which no longer works. The person sets a"
        " new one with “Forgot your password?” on the sign-in page.",
    ),
    "account_suspended": ProblemType(
        403, "Account suspended", "The account is suspended or closed; reading still works."
    ),
    "not_verified": ProblemType(403, "Not verified", "The personal account must be verified first."),
    "not_approved": ProblemType(403, "Not approved", "The commercial account must be approved first."),
    "missing_right": ProblemType(403, "Missing right", "Your role at this business does not allow this."),
    "own_request": ProblemType(403, "Own request", "You cannot decide on your own request or account."),
    "second_operator_needed": ProblemType(403, "Second operator needed", "Another operator must confirm this."),
    "asker_not_operator": ProblemType(
        403,
        "Requested by a former operator",
        "The person who requested this is no longer an operator, or is suspended. Another operator must request it.",
    ),
    "appointed_recently": ProblemType(
        403,
        "Appointed recently",
        "One of the two was appointed less than seven days ago, by the other or together with them. Let someone else"
        " confirm this, or wait.",
    ),
    "last_admin": ProblemType(403, "Last admin", "There is no other admin. Give another operator this role first."),
    "already_decided": ProblemType(409, "Already decided", "This proposal has been decided."),
    "proposal_lapsed": ProblemType(409, "Too old", "This proposal is older than seven days. Request it again."),
    "not_paid": ProblemType(409, "Not paid", "The payment has not been paid, so there is nothing to refund."),
    "already_paid": ProblemType(409, "Already paid", "The payment has been paid."),
    "cancelled": ProblemType(409, "Cancelled", "The payment has been cancelled by the merchant."),
    "expired": ProblemType(409, "Expired", "The payment has expired. Create a new one."),
    "not_expired": ProblemType(409, "Not expired", "The payment has not expired yet."),
    "move_not_allowed": ProblemType(409, "Not possible now", "The current state does not allow this."),
    "email_taken": ProblemType(409, "E-mail taken", "Another account already uses this e-mail address."),
    "name_taken": ProblemType(409, "Name taken", "Another house account has this name."),
    "reference_used": ProblemType(409, "Reference used", "An order with this reference exists for this house account."),
    "already_reversed": ProblemType(409, "Already reversed", "This bank order has been reversed."),
    "refund_exceeds": ProblemType(
        409, "Refund exceeds", "The refund is more than what is left of the payment; see `refundedAmount`."
    ),
    "too_many_refunds": ProblemType(
        409,
        "Too many refunds",
        f"A payment can be refunded {REFUNDS_MAX} times. Pay the customer back outside of Qirsh.",
    ),
    "money_left": ProblemType(409, "Money left", "The account still has money, an open payout or an open business."),
    "replay_running": ProblemType(
        409, "Replay running", "A replay to this endpoint is under way. Start another when it has ended."
    ),
    "bank_account_new": ProblemType(
        409, "Bank account too new", "A bank account can be paid to one day after it was added."
    ),
    "secret_already_shown": ProblemType(
        409,
        "Secret already shown",
        "This request was carried out before, and its secret was shown then. Rotate the secret to get another.",
    ),
    "too_many": ProblemType(409, "Too many", "The maximum number is reached."),
    "already_matched": ProblemType(
        409, "Already matched", "The bank line or the bank order is matched with another one. Nothing was done."
    ),
    "line_differs": ProblemType(
        409, "Not the same money", "Amount, currency or direction of the bank line and the bank order differ."
    ),
    "test_and_live": ProblemType(409, "Test and live", "Test money and live money cannot be mixed."),
    "same_account": ProblemType(409, "Same account", "An account cannot pay itself."),
    "merchant_suspended": ProblemType(409, "Merchant suspended", "The merchant cannot take payments at the moment."),
    "payer_closed": ProblemType(
        409,
        "Payer closed",
        "The customer's account is permanently closed. Pay them back outside of Qirsh.",
    ),
    "url_not_registered": ProblemType(422, "Validation failed", "Must be on an origin registered for the account."),
    "pin_locked": ProblemType(403, "PIN locked", "Too many incorrect PINs. The person sets a new one in the wallet."),
    "wrong_pin": ProblemType(403, "Wrong PIN", "Incorrect PIN; `attemptsLeft` says how many attempts are left."),
    "passkey_not_valid": ProblemType(403, "Passkey not valid", "This passkey is not known for this account."),
    "sign_in_blocked": ProblemType(403, "Sign-in blocked", "Sign-in to this account is blocked. Contact support."),
    "insufficient_funds": ProblemType(409, "Insufficient funds", "The account does not hold enough of this currency."),
    "merchant_balance_short": ProblemType(
        409, "Merchant balance short", "The merchant's account does not hold enough of this currency for the refund."
    ),
    "balance_limit": ProblemType(409, "Balance limit", "The receiving account cannot hold this amount."),
    "changed_meanwhile": ProblemType(
        409, "Changed meanwhile", "Someone else has changed it since you opened the page. Nothing was done."
    ),
    "own_payment": ProblemType(409, "Own payment", "You paid this yourself. Ask a colleague to refund it."),
    "refund_cap": ProblemType(409, "Refund cap", "This is more than you may refund today in this currency."),
}

assert all(refusal.value in PROBLEM_TYPES for refusal in Refusal)


def to_problem(refused: Refused) -> Problem:
    """A refusal as the caller hears it."""
    if refused.fields:
        # Told like other field errors, under the names of the body.
        detail = PROBLEM_TYPES[refused.why.value].detail
        names = [_camel(field) for field in refused.fields]
        return Problem("validation_failed", errors=[FieldError(name, refused.why.value, detail) for name in names])
    problem = Problem(refused.why.value)
    problem.attempts_left = refused.attempts_left
    return problem


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def problem_body(problem: Problem, request_id: str) -> bytes:
    """RFC 9457."""
    kind = PROBLEM_TYPES[problem.code]
    fields: dict[str, object] = {
        "type": f"urn:qirsh:problem:{problem.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": problem.detail or kind.detail,
        "code": problem.code,
        "errors": problem.errors,
        "requestId": request_id,
    }
    if problem.attempts_left is not None:
        fields["attemptsLeft"] = problem.attempts_left
    return msgspec.json.encode(fields)
