"""What pages share: who is signed in, tokens of forms, and the word from the last page."""

from typing import Final
from urllib.parse import urlencode

import pytest

from qirsh.web.html.page_context import PageContext, page_context_of, signed_in
from qirsh.web.http.message import Request, Response
from qirsh.web.http.problems import Problem
from tests.guest import FORM
from tests.live import InProcess
from tests.visitor import Visitor

FAMILIAR: Final = b"qirsh-visit=" + b"0" * 32


def request(cookie: bytes = b"", form: dict[str, str] | None = None) -> Request:
    headers = {b"cookie": cookie, b"content-type": FORM.encode()}
    return Request("req_1", "GET" if form is None else "POST", "/x", b"", headers, urlencode(form or {}).encode())


def visit(world: InProcess, cookie: bytes = b"", form: dict[str, str] | None = None) -> PageContext:
    return world.run(page_context_of(world.context, request(cookie, form)))


def session(world: InProcess) -> bytes:
    visitor = Visitor(world, world.payment(world.merchants[0])).signed_in(world.customer())
    return f"qirsh={visitor.cookies['qirsh']}; qirsh-visit={visitor.cookies['qirsh-visit']}".encode()


async def _name(one: PageContext) -> Response:
    return Response(200, str(one.person).encode())


def test_a_page_for_the_signed_in_sends_others_to_sign_in(still: InProcess) -> None:
    handler = signed_in(_name)
    for cookie in (b"", FAMILIAR, b"qirsh=qp_x", b"qirsh=" + still.customers[0].token.encode()):
        answer = still.run(handler(still.context, request(cookie)))
        assert (answer.status, answer.headers) == (303, [(b"location", b"/sign-in?next=%2Fx")])
    answer = still.run(handler(still.context, request(session(still))))
    assert answer.status == 200
    assert answer.body.isdigit()


def test_a_form_of_the_signed_in_is_read_with_its_token_only(still: InProcess) -> None:
    mine, theirs = session(still), session(still)
    token = visit(still, mine).csrf.token("pin", "7")
    form = {"token": token, "a": "1"}
    assert visit(still, mine, form).form("pin", "a", "b", bound=("7",)) == {"a": "1", "b": ""}
    wrong = [
        (theirs, form, "pin", "7"),
        (b"", form, "pin", "7"),
        (mine, form, "pins", "7"),
        (mine, form, "pin", "8"),
        (mine, {"a": "1"}, "pin", "7"),
        (mine, {"a": "1", "token": visit(still, mine).csrf.open_token("pin", "7")}, "pin", "7"),
    ]
    for cookie, sent, purpose, bound in wrong:
        with pytest.raises(Problem, match="stale_form"):
            visit(still, cookie, sent).form(purpose, "a", bound=(bound,))


def test_an_open_form_is_tied_to_the_browser_that_got_it(still: InProcess) -> None:
    first = visit(still)
    token = first.csrf.open_token("sign-up")
    assert first.csrf.open_token("sign-up") == token
    [(_, given)] = first.csrf.cookies
    cookie = given.partition(b";")[0]
    form = {"token": token}
    assert visit(still, cookie, form).open_form("sign-up") == {}
    for other in (b"", FAMILIAR, cookie + b"0", b"qirsh-visit="):
        with pytest.raises(Problem, match="stale_form"):
            visit(still, other, form).open_form("sign-up")
    # Also where somebody has signed in meanwhile, in another tab.
    assert visit(still, cookie + b"; " + session(still), form).open_form("sign-up") == {}
    # And a form of the browser is none of whoever signs in.
    with pytest.raises(Problem, match="stale_form"):
        visit(still, cookie + b"; " + session(still), form).form("sign-up")


def test_a_word_is_said_once_and_about_one_thing(still: InProcess) -> None:
    [_, (_, given)] = visit(still).redirect("/wallet", "pin.changed").headers
    cookie = given.partition(b";")[0]
    assert cookie == b"qirsh-said=pin.changed"
    told = visit(still, cookie)
    assert (told.flash_about("pin"), told.flash_about("password")) == ("changed", "")
    assert told.csrf.cookies == [(b"set-cookie", b"qirsh-said=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0")]
    for planted in (b"qirsh-said=<b>.x", b"qirsh-said=pin", b"qirsh-said=pin.", b"qirsh-said=pin." + b"x" * 99):
        assert visit(still, planted).flash_about("pin") == ""
    with pytest.raises(AssertionError):
        visit(still).redirect("/wallet", "a sentence; and more")
