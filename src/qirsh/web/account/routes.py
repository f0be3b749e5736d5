"""Signing in and up, identity, security and settings of a person."""

from typing import Final

from qirsh.web.account.email_change import confirm_email, show_email_confirmation
from qirsh.web.account.erase_page import erase_account, show_erase
from qirsh.web.account.identity_page import BODY_BYTES_MAX, show_identity, show_identity_again, submit_identity
from qirsh.web.account.passkey_page import (
    add_passkey,
    prepare_passkey,
    remove_passkey,
    show_new_passkey,
    show_passkeys,
    show_remove_passkey,
)
from qirsh.web.account.password_page import (
    change_password,
    request_email_change,
    show_email_change,
    show_password_change,
)
from qirsh.web.account.password_reset import reset_password, send_reset_link, show_forgot_password, show_password_reset
from qirsh.web.account.pin import change_pin, show_pin, show_pin_code, unlock_pin
from qirsh.web.account.second_factor import (
    renew_recovery_codes,
    show_recovery_codes,
    show_totp_off,
    show_totp_setup,
    turn_off_totp,
    turn_on_totp,
)
from qirsh.web.account.second_factor_code import mail_factor_code
from qirsh.web.account.security import (
    end_session,
    keep_secret,
    show_end_session,
    show_security,
    show_sign_out_everywhere,
    sign_out_everywhere,
)
from qirsh.web.account.settings_page import change_settings, choose_language, show_settings
from qirsh.web.account.sign_in import (
    show_sign_in,
    show_sign_in_code,
    sign_in,
    sign_in_with_passkey,
    sign_out,
    submit_sign_in_code,
)
from qirsh.web.account.sign_up import finish_sign_up, show_sign_up, show_sign_up_code, start_sign_up
from qirsh.web.http.route import page

ROUTES: Final = (
    page("GET", "/sign-in", show_sign_in),
    page("POST", "/sign-in", sign_in),
    page("GET", "/sign-in/code", show_sign_in_code),
    page("POST", "/sign-in/code", submit_sign_in_code),
    page("POST", "/sign-in/passkey", sign_in_with_passkey),
    page("POST", "/sign-out", sign_out),
    page("GET", "/sign-up", show_sign_up),
    page("POST", "/sign-up", start_sign_up),
    page("GET", "/sign-up/code", show_sign_up_code),
    page("POST", "/sign-up/code", finish_sign_up),
    page("GET", "/forgot", show_forgot_password),
    page("POST", "/forgot", send_reset_link),
    page("GET", "/reset/{token}", show_password_reset),
    page("POST", "/reset/{token}", reset_password),
    page("GET", "/email/{token}", show_email_confirmation),
    page("POST", "/email/{token}", confirm_email),
    page("GET", "/wallet/identity", show_identity),
    page("POST", "/wallet/identity", submit_identity, body_bytes_max=BODY_BYTES_MAX, on_refused=show_identity_again),
    page("GET", "/wallet/security", show_security),
    page("POST", "/wallet/security/keep", keep_secret),
    page("GET", "/wallet/security/sessions", show_sign_out_everywhere),
    page("POST", "/wallet/security/sessions", sign_out_everywhere),
    page("GET", "/wallet/security/sessions/{id}/end", show_end_session),
    page("POST", "/wallet/security/sessions/{id}/end", end_session),
    page("GET", "/wallet/security/password", show_password_change),
    page("POST", "/wallet/security/password", change_password),
    page("GET", "/wallet/security/email", show_email_change),
    page("POST", "/wallet/security/email", request_email_change),
    page("GET", "/wallet/security/totp", show_totp_setup),
    page("POST", "/wallet/security/totp", turn_on_totp),
    page("POST", "/wallet/security/totp/code", mail_factor_code),
    page("GET", "/wallet/security/totp/off", show_totp_off),
    page("POST", "/wallet/security/totp/off", turn_off_totp),
    page("GET", "/wallet/security/recovery", show_recovery_codes),
    page("POST", "/wallet/security/recovery", renew_recovery_codes),
    page("GET", "/wallet/security/passkeys", show_passkeys),
    page("POST", "/wallet/security/passkeys", prepare_passkey),
    page("GET", "/wallet/security/passkeys/new", show_new_passkey),
    page("POST", "/wallet/security/passkeys/new", add_passkey),
    page("GET", "/wallet/security/passkeys/{id}/remove", show_remove_passkey),
    page("POST", "/wallet/security/passkeys/{id}/remove", remove_passkey),
    page("GET", "/wallet/pin", show_pin),
    page("POST", "/wallet/pin", change_pin),
    page("GET", "/wallet/pin/code", show_pin_code),
    page("POST", "/wallet/pin/code", unlock_pin),
    page("GET", "/wallet/settings", show_settings),
    page("POST", "/wallet/settings", change_settings),
    page("POST", "/wallet/language", choose_language),
    page("GET", "/wallet/erase", show_erase),
    page("POST", "/wallet/erase", erase_account),
)
