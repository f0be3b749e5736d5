"""A person's businesses and their API keys."""

from typing import Final

from qirsh.web.business.business_keys import (
    issue_api_key,
    revoke_api_key,
    show_business,
    show_business_after_keys,
    show_revoke_api_key,
)
from qirsh.web.business.business_page import request_business, show_businesses
from qirsh.web.http.route import page

ROUTES: Final = (
    page("GET", "/wallet/business", show_businesses),
    page("POST", "/wallet/business", request_business),
    page("GET", "/wallet/business/{account}", show_business),
    page("GET", "/wallet/business/{account}/keys", show_business_after_keys),
    page("POST", "/wallet/business/{account}/keys", issue_api_key),
    page("GET", "/wallet/keys/{id}/revoke", show_revoke_api_key),
    page("POST", "/wallet/keys/{id}/revoke", revoke_api_key),
)
