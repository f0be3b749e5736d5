"""Probes for load balancers and supervisors."""

from typing import Final

from qirsh.web.http.route import Route
from qirsh.web.server.health import show_liveness, show_readiness

ROUTES: Final = (
    Route("GET", "/healthz", show_liveness, token=None, is_counted=False),
    Route("GET", "/readyz", show_readiness, token=None, is_counted=False),
)
