"""The front page and the operator's texts."""

from typing import Final

from qirsh.web.http.route import page
from qirsh.web.http.site import INFORMATION
from qirsh.web.site.front_page import show_front_page, show_information
from qirsh.web.site.security_file import SECURITY_FILE, show_security_file

ROUTES: Final = (
    page("GET", "/", show_front_page),
    *(page("GET", f"/{name}", show_information) for name in INFORMATION),
    page("GET", SECURITY_FILE, show_security_file),
)
