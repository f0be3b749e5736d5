"""Pages of the demo. In any other service their addresses are unknown."""

from typing import Final

from qirsh.web.demo.demo_mail import show_demo_mail
from qirsh.web.http.context import Context
from qirsh.web.http.route import Route


def _keeps_mail(context: Context) -> bool:
    return context.keeps_mail


ROUTES: Final = (Route("GET", "/demo/mail", show_demo_mail, token=None, is_page=True, is_there=_keeps_mail),)
