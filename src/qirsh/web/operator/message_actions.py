"""What operators write to owners of businesses, and what those answer."""

from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain import limits
from qirsh.domain.commands.shop_message import ReadShopMessages, WriteToShop
from qirsh.domain.operator_role import OperatorRight
from qirsh.domain.shop_message import ShopMessage
from qirsh.domain.tables import Tables
from qirsh.store.reads.shop_messages import messages_of, unread_by_operators
from qirsh.web.auth.outgoing_mail import letters_to_person
from qirsh.web.html.input_text import message_text
from qirsh.web.http.context import Context
from qirsh.web.operator.action import READABLE, Action, ActionRefused, Actor, Params, account_number, made_id, submit


async def list_messages(context: Context, _actor: Actor, _params: Params) -> Params:
    """What owners wrote and no operator has read, the oldest first."""
    found = await unread_by_operators(context.store, limits.LIST_ITEMS_MAX)
    return {"messages": [await _message_words(context, message) for message in found]}


async def show_messages(context: Context, actor: Actor, params: Params) -> Params:
    """The latest messages about one business. What its owner wrote counts as read."""
    number = account_number(params)
    account = await context.store.find(Tables.accounts, number)
    if account is None:
        raise ActionRefused("not_found")
    found = await messages_of(context.store, number)
    unread = tuple(message.id for message in found if message.author == "owner" and message.read_at is None)
    if unread:
        await submit(context, ReadShopMessages(number, unread, operator=actor.id))
    return {"messages": [await _message_words(context, message) for message in found]}


async def send_message(context: Context, actor: Actor, params: Params) -> Params:
    """To the owner, who hears by mail that there is one."""
    number, given = account_number(params), params.get("text")
    text = message_text(given, limits.MESSAGE_CHARACTERS_MAX) if type(given) is str else None
    if not text:
        raise ActionRefused("invalid", READABLE, field="text", most=limits.MESSAGE_CHARACTERS_MAX)
    account = await context.store.find(Tables.accounts, number)
    letters = (
        ()
        if account is None
        else await letters_to_person(
            context, account.owner, "shop_message", name=account.name, url=f"{context.base_url}/business"
        )
    )
    message = await submit(
        context, WriteToShop(made_id(context, params, "msg"), number, text, actor.id, actor.name, letters)
    )
    return {"id": message.id, "account": str(number), "name": account.name if account else ""}


MESSAGE_ACTIONS: Final[dict[str, Action]] = {
    "message list": Action(list_messages, OperatorRight.LOOK),
    "message show": Action(show_messages, OperatorRight.WRITE_TO_SHOPS),
    "message send": Action(send_message, OperatorRight.WRITE_TO_SHOPS),
}


async def _message_words(context: Context, message: ShopMessage) -> Params:
    account = await context.store.find(Tables.accounts, message.account)
    return {
        "id": message.id,
        "account": str(message.account),
        "name": account.name if account else "",
        "from": message.author,
        "at": timestamp(message.at),
        "readAt": timestamp(message.read_at) if message.read_at is not None else "",
        "text": message.text,
    }
