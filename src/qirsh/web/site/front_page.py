"""The front page, and the operator's texts: what a stranger reads first."""

from qirsh.web.html.page_context import page_context_of
from qirsh.web.html.rendering import render_page, see_other
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem


async def show_front_page(context: Context, request: Request) -> Response:
    """What this is, who runs it, and the doors. Who is signed in is at home already."""
    page = await page_context_of(context, request)
    if page.caller is not None:
        return see_other("/wallet")
    return page.render("site/front.html", has_mail=context.has_mail, keeps_mail=context.keeps_mail)


async def show_information(context: Context, request: Request) -> Response:
    """A text of the operator's."""
    found = context.site.page(request.path.removeprefix("/"), request.language)
    if found is None:
        raise Problem("unknown_address")
    return render_page(context.site, request, "site/information.html", information=found)
