"""Every URL of the service: the routes of all rooms."""

from typing import Final

from qirsh.web.account.routes import ROUTES as ACCOUNT_ROUTES
from qirsh.web.api.routes import ROUTES as API_ROUTES
from qirsh.web.business.routes import ROUTES as BUSINESS_ROUTES
from qirsh.web.demo.routes import ROUTES as DEMO_ROUTES
from qirsh.web.html.static_files import ROUTES as STATIC_ROUTES
from qirsh.web.openapi.routes import ROUTES as REFERENCE_ROUTES
from qirsh.web.operator.routes import ROUTES as OPERATOR_ROUTES
from qirsh.web.pay.routes import ROUTES as PAY_ROUTES
from qirsh.web.server.health import ROUTES as HEALTH_ROUTES
from qirsh.web.server.metrics import ROUTES as METRICS_ROUTES
from qirsh.web.site.routes import ROUTES as SITE_ROUTES
from qirsh.web.wallet.routes import ROUTES as WALLET_ROUTES

PAGE_ROUTES: Final = (*PAY_ROUTES, *ACCOUNT_ROUTES, *WALLET_ROUTES, *BUSINESS_ROUTES, *OPERATOR_ROUTES, *SITE_ROUTES)
ROUTES: Final = (
    *API_ROUTES,
    *PAGE_ROUTES,
    *REFERENCE_ROUTES,
    *DEMO_ROUTES,
    *STATIC_ROUTES,
    *HEALTH_ROUTES,
    *METRICS_ROUTES,
)
