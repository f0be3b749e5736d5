"""Style sheets, scripts and fonts of all pages."""

from typing import Final

from qirsh.web.html.static_files import serve_file
from qirsh.web.http.route import Route

ROUTES: Final = (Route("GET", "/static/{file}", serve_file, token=None, is_counted=False),)
