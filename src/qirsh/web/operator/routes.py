"""What a browser opens of the operators' side: an appointment, behind its mailed link."""

from typing import Final

from qirsh.web.http.route import BY_LINK, page
from qirsh.web.operator.appointment_page import accept_appointment, show_appointment

ROUTES: Final = (
    page("GET", "/operator/{token}", show_appointment, right=BY_LINK),
    page("POST", "/operator/{token}", accept_appointment, right=BY_LINK),
)
