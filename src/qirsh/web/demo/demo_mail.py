"""The demo sends no mail: what it would have sent is read here. Nowhere else does this page exist."""

import re
from typing import Any, Final

from qirsh.domain.limits import MAIL_SHOWN_MAX
from qirsh.engine.mail_crypto import opened
from qirsh.language.catalog import language
from qirsh.language.mail_text import compose
from qirsh.store.reads import queries
from qirsh.web.html.rendering import render_page
from qirsh.web.http.context import Context
from qirsh.web.http.message import Request, Response

# Alone on its line, a link is our own: what people gave us never begins a line as it stands.
_LINK: Final = re.compile(r"https?://\S+")


async def show_demo_mail(context: Context, request: Request) -> Response:
    """The last ones, newest first."""
    rows = await context.store.search(queries.LAST_MAIL, MAIL_SHOWN_MAX)
    shown = [_shown(context, mail_id, sealed, created_at) for mail_id, sealed, created_at in rows]
    return render_page(
        context.site,
        request,
        "demo/demo_mail.html",
        mails=[mail for mail in shown if mail is not None],
        sender=context.mail_from,
    )


def _shown(context: Context, mail_id: str, sealed: bytes, at: int) -> dict[str, Any] | None:
    envelope = opened(context.keyring, sealed, mail_id)
    if envelope is None:
        return None
    subject, body = compose(
        envelope.kind,
        envelope.language,
        envelope.words,
        at=at,
        base_url=context.base_url,
        zone=context.time_zone,
    )
    return {
        "to": envelope.to,
        "subject": subject,
        "at": at,
        "lines": [(line, bool(_LINK.fullmatch(line))) for line in body.splitlines()],
        "language": language(envelope.language),
    }
