"""Which language a page is in, who remembers it, and what a page in another language must keep."""

import html
import re
from typing import Final

import httpx2
import pytest

from qirsh.language.catalog import LANGUAGES
from tests.altered import alter
from tests.live import PASSWORD, WRONG_PIN, Call, InProcess, Live, World
from tests.visitor import Visitor
from tests.web.pay.test_pay_page_guards import over_https

YEAR: Final = "Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000"


def at(world: World, **fields: object) -> Visitor:
    return Visitor(world, world.payment(world.merchants[0], **fields))


def code_of(answer: httpx2.Response) -> str:
    [(code, direction)] = re.findall(r'<html lang="(\w+)" dir="(\w+)">', answer.text)
    assert direction == ("rtl" if code == "ar" else "ltr")
    return str(code)


def asked(visitor: Visitor, query: str, step: str = "", **headers: str) -> httpx2.Response:
    call = visitor.call("GET", step, None, **headers)
    return visitor.seen(visitor.world.send(call._replace(path=call.path + query)))


def test_the_address_wins_over_the_cookie_and_the_cookie_over_the_browser(world: Live) -> None:
    visitor = at(world)
    assert code_of(visitor.open()) == "en"
    assert code_of(visitor.open(accept_language="tr-TR,tr;q=0.9,ar;q=0.5")) == "tr"
    assert "qirsh-language" not in visitor.cookies
    answer = asked(visitor, "?lang=ar", accept_language="tr")
    assert code_of(answer) == "ar"
    assert answer.headers.get_list("set-cookie")[-1] == f"qirsh-language=ar; {YEAR}"
    assert code_of(visitor.open(accept_language="tr")) == "ar"
    assert code_of(asked(visitor, "?lang=tr")) == "tr"
    assert code_of(visitor.open(accept_language="ar")) == "tr"


@pytest.mark.parametrize("query", ["?lang=", "?lang=de", "?lang=AR", "?lang=ar%00", "?lang", "?Lang=ar", "?lang[]=ar"])
def test_what_is_no_language_of_ours_changes_nothing(world: Live, query: str) -> None:
    visitor = at(world)
    assert code_of(asked(visitor, query)) == "en"
    assert "qirsh-language" not in visitor.cookies
    visitor.cookies["qirsh-language"] = "de"
    assert code_of(visitor.open(accept_language="tr")) == "tr"


def test_the_cookie_is_given_when_the_choice_is_new_and_only_to_pages(world: Live) -> None:
    visitor = at(world)
    asked(visitor, "?lang=ar")
    assert "set-cookie" not in asked(visitor, "?lang=ar").headers
    for path in ("/openapi.json?lang=ar", "/healthz?lang=ar", "/nothing?lang=ar", "/static/qirsh.css?lang=ar"):
        assert "set-cookie" not in world.send(Call("GET", path)).headers


def test_over_https_the_choice_belongs_to_this_host_alone(still: InProcess) -> None:
    path = f"/pay/{still.payment(still.merchants[0])}"
    assert b'lang="ar"' in over_https(still, "GET", path, cookie="__Host-qirsh-language=ar").body
    assert b'lang="en"' in over_https(still, "GET", path, cookie="qirsh-language=ar").body


def test_the_switch_keeps_the_page_and_what_else_the_address_says(world: Live) -> None:
    visitor = at(world)
    asked(visitor, "?x=%22%3E%3Cb%3E&lang=tr&y=a%26lang%3Den")
    links = [html.unescape(link) for link in re.findall(r'<a href="(\?[^"]*)" lang="(?:\w+)"', visitor.page)]
    assert links == [f"?x=%22%3E%3Cb%3E&y=a%26lang%3Den&lang={code}" for code in ("en", "ar")]
    assert code_of(asked(visitor, links[1])) == "ar"


def test_the_switch_after_a_refused_form_leads_to_the_page_that_has_it(world: Live) -> None:
    visitor = at(world)
    visitor.open()
    visitor.post("sign-in", {**visitor.form("sign-in"), "email": "x", "password": "x"})
    answer = asked(visitor, "?lang=ar", "sign-in")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{visitor.payment_id}")
    assert code_of(visitor.open()) == "ar"


@pytest.mark.parametrize("path", ["/pay/*/confirm", "/pay/../confirm", "/pay/a%0d%0ab/confirm", "/pay/%2e%2e/confirm"])
def test_no_other_address_is_sent_back(world: Live, path: str) -> None:
    answer = world.send(Call("GET", path))
    assert answer.status_code == 404
    assert "location" not in answer.headers


def test_problems_are_told_in_the_language_of_the_page(world: Live) -> None:
    told = {}
    for code in LANGUAGES:
        answers = [
            world.send(Call("GET", f"/pay/1?lang={code}")),
            world.send(Call("DELETE", "/pay/1", headers=(("accept-language", code),))),
            world.send(Call("POST", "/pay/1/confirm", content=b"", headers=(("cookie", f"qirsh-language={code}"),))),
        ]
        assert [answer.status_code for answer in answers] == [404, 405, 415]
        assert {code_of(answer) for answer in answers} == {code}
        told[code] = [re.findall(r"<h1>(.*?)</h1>", answer.text) for answer in answers]
    assert told["ar"] == [["غير موجود"], ["تعذّرت قراءة هذا الطلب"], ["تعذّرت قراءة هذا الطلب"]]
    assert len({str(words) for words in told.values()}) == 3


def test_the_reference_stays_english(world: Live) -> None:
    assert code_of(world.send(Call("GET", "/docs?lang=ar"))) == "en"
    assert code_of(world.send(Call("GET", "/docs", headers=(("accept-language", "ar"),)))) == "en"


def test_the_same_customer_pays_in_arabic(world: Live) -> None:
    visitor = at(world, amount=123450, currency="SYP", note="<b>{{ 7*7 }}")
    asked(visitor, "?lang=ar")
    customer = world.person(verified=True)
    world.deposit(customer.account, 500_000, "SYP")
    form = {**visitor.form("sign-in"), "email": customer.email, "password": PASSWORD}
    assert visitor.post("sign-in", form).status_code == 303
    visitor.open()
    assert "الرصيد بعد العملية 3,765.50 ليرة سورية" in visitor.text
    assert '<bdi class="num">1,234.50</bdi> ليرة سورية' in visitor.page
    assert "&lt;b&gt;{{ 7*7 }}" in visitor.page
    visitor.confirm(WRONG_PIN)
    visitor.open()
    assert "الرقم السري للدفع غير صحيح. بقيت 4 محاولات قبل قفله. لم يُدفع شيء." in visitor.text
    visitor.confirm()
    visitor.open()
    assert "يمكنك إغلاق هذه الصفحة." in visitor.text
    assert "UTC" in visitor.text
    asked(visitor, "?lang=tr")
    assert "1.234,50 SYP" in visitor.text


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", ["%(x)s %s 100%", "<b>&amp;", "{{ 7*7 }}{% raw %}", "{0.__class__}"])
def test_names_in_sentences_are_text_in_every_language(still: InProcess, name: str, code: str) -> None:
    merchant = still.merchant()
    alter(still, merchant.account, name=name)
    visitor = Visitor(still, still.payment(merchant))
    for step in ("", "cancel"):
        answer = asked(visitor, f"?lang={code}", step)
        assert (answer.status_code, code_of(answer)) == (200, code)
        assert name in html.unescape(visitor.page)
        assert "<b>" not in visitor.page
