"""Messages of operators about a business, for its owner, who may answer. They go on where a business is suspended."""

from qirsh.domain.commands.shop_message import ReadShopMessages, WriteToOperators
from qirsh.domain.limits import BODY_BYTES_MAX, MESSAGE_CHARACTERS_MAX, MESSAGES_IN_A_ROW_MAX
from qirsh.domain.refusal import Refusal, Refused
from qirsh.store.reads.shop_messages import messages_of, unread_by_owner
from qirsh.web.business.once_form import new_nonce, once_form
from qirsh.web.business.shop_page import ShopPage
from qirsh.web.html.input_text import message_text
from qirsh.web.http.message import Response
from qirsh.web.http.problems import Problem, to_problem


async def show_messages(page: ShopPage) -> Response:
    """The latest of them, oldest first, and the form to answer."""
    return await _page(page, "", "")


async def mark_messages_read(page: ShopPage) -> Response:
    """All that operators have written so far. Twice is once."""
    page.form("read-messages", bound=(str(_thread(page)),))
    await _read(page)
    return page.redirect(f"{page.shop.address}/messages")


async def answer_operators(page: ShopPage) -> Response:
    """However often the form is sent, it is one message. Whoever answers has read what there was."""
    number = _thread(page)
    # All that the connection takes: what is too long is told beside the field, and nobody writes it again.
    typed = once_form(page, "message", "text", bound=(str(number),), bytes_max=BODY_BYTES_MAX)
    text = message_text(typed["text"], MESSAGE_CHARACTERS_MAX)
    if not text:
        return await _page(page, typed["text"], "text" if typed["text"].strip() else "empty", status=422)
    command = WriteToOperators(f"msg_{typed['nonce']}", number, text, page.person)
    outcome = await page.context.engine.submit(command)
    if type(outcome) is Refused:
        if outcome.why is Refusal.TOO_MANY:
            return await _page(page, typed["text"], "too_many", status=422)
        raise to_problem(outcome)
    await _read(page)
    return page.redirect(f"{page.shop.address}/messages", f"{number}.message-sent")


def _thread(page: ShopPage) -> int:
    """A business has one, at its live account."""
    if page.shop.mode != "live":
        raise Problem("not_found")
    return page.shop.live.number


async def _read(page: ShopPage) -> None:
    number = page.shop.live.number
    unread = tuple(message.id for message in await unread_by_owner(page.context.store, number))
    if unread:
        outcome = await page.context.engine.submit(ReadShopMessages(number, unread, member=page.person))
        if type(outcome) is Refused:
            raise to_problem(outcome)


async def _page(page: ShopPage, typed: str, error: str, status: int = 200) -> Response:
    number = _thread(page)
    return page.render(
        "business/messages.html",
        status=status,
        messages=await messages_of(page.context.store, number),
        typed=typed,
        error=error,
        nonce=new_nonce(page),
        characters_max=MESSAGE_CHARACTERS_MAX,
        in_a_row_max=MESSAGES_IN_A_ROW_MAX,
        word=page.flash_about(str(number)),
    )
