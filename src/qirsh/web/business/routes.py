"""A person's businesses, their API keys and their webhooks."""

from typing import Final

from qirsh.web.business.business_keys import (
    issue_api_key,
    revoke_api_key,
    show_business,
    show_business_after_keys,
    show_revoke_api_key,
)
from qirsh.web.business.business_page import request_business, show_businesses
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
from qirsh.web.http.route import page

ROUTES: Final = (
    page("GET", "/wallet/business", show_businesses),
    page("POST", "/wallet/business", request_business),
    page("GET", "/wallet/business/{account}", show_business),
    page("GET", "/wallet/business/{account}/keys", show_business_after_keys),
    page("POST", "/wallet/business/{account}/keys", issue_api_key),
    page("GET", "/wallet/keys/{id}/revoke", show_revoke_api_key),
    page("POST", "/wallet/keys/{id}/revoke", revoke_api_key),
    page("GET", "/wallet/business/{account}/webhooks", show_endpoints),
    page("GET", "/wallet/business/{account}/webhooks/new", show_new_endpoint),
    page("POST", "/wallet/business/{account}/webhooks/new", create_endpoint_from_page),
    page("GET", "/wallet/webhooks/{id}", show_endpoint),
    page("GET", "/wallet/webhooks/{id}/edit", show_edit_endpoint),
    page("POST", "/wallet/webhooks/{id}/edit", edit_endpoint),
    page("POST", "/wallet/webhooks/{id}/state", set_endpoint_state),
    page("POST", "/wallet/webhooks/{id}/ping", ping_from_page),
    page("GET", "/wallet/webhooks/{id}/rotate", show_rotate_secret),
    page("POST", "/wallet/webhooks/{id}/rotate", rotate_secret_from_page),
    page("GET", "/wallet/webhooks/{id}/remove", show_remove_endpoint),
    page("POST", "/wallet/webhooks/{id}/remove", remove_endpoint_from_page),
    page("GET", "/wallet/webhooks/{id}/verify", show_verification),
    page("GET", "/wallet/webhooks/{id}/again", show_send_again),
    page("POST", "/wallet/webhooks/{id}/again", send_again),
    page("GET", "/wallet/webhooks/{id}/deliveries", show_deliveries),
    page("GET", "/wallet/deliveries/{id}", show_delivery),
    page("POST", "/wallet/deliveries/{id}/resend", resend_from_page),
)
