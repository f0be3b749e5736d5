"""The pay page arrives quickly on a slow line: all that a first visit loads, in bytes."""

import random
import re
from io import BytesIO
from typing import Final

from PIL import Image

from qirsh.domain.limits import LOGO_BYTES_MAX
from tests.guest import Guest
from tests.live import Call, InProcess, Live, World
from tests.visitor import Visitor

FIRST_VISIT_BYTES_MAX: Final = 100_000
SCRIPT_BYTES_MAX: Final = 3_000


def loaded(world: World, page: str) -> dict[str, int]:
    """What the page names, with its size. The Arabic font is named by the sheet alone, and loaded by Arabic pages."""
    found = re.findall(r'(?:src|href)="(/(?:static|brand)/[^"]*)"', page)
    sizes = {}
    for address in found:
        answer = world.send(Call("GET", address))
        assert answer.status_code == 200
        sizes[address.partition("?")[0]] = len(answer.content) + len(str(answer.headers))
    return sizes


def test_a_first_visit_is_small_even_with_the_code_for_the_phone(world: Live) -> None:
    visitor = Visitor(world, world.payment(world.merchants[0], note="n" * 500, returnUrl="https://shop.example"))
    pages = [visitor.open(accept_language=language) for language in ("en", "ar", "tr")]
    pages.append(visitor.signed_in(world.customer()).open())
    code = world.send(Call("GET", f"/pay/{visitor.payment_id}/qr"))
    for answer in pages:
        sizes = loaded(world, answer.text)
        assert {"/static/qirsh.css", "/static/pay.js", "/static/qirsh.svg"} <= sizes.keys()
        total = len(answer.content) + len(str(answer.headers)) + len(code.content) + sum(sizes.values())
        assert total < FIRST_VISIT_BYTES_MAX, (total, sizes)
        # By a long way: whoever adds a framework notices here.
        assert total < FIRST_VISIT_BYTES_MAX / 2, (total, sizes)


def test_a_first_visit_is_small_also_with_the_largest_logo_and_a_colour(still: InProcess) -> None:
    merchant = still.merchant()
    noise = Image.frombytes("RGB", (400, 400), random.Random(7).randbytes(400 * 400 * 3))
    out = BytesIO()
    noise.save(out, "PNG")
    boss, path = Guest(still).signed_in(merchant.email), f"/business/{merchant.account}/brand"
    boss.open(path)
    boss.post(f"{path}/colour", colour="#0b3d91")
    boss.open(path)
    boss.upload(path, {"logo": out.getvalue()}, name="Shop")
    still.act("brand approve", account=merchant.account, id=still.act("brand show", account=merchant.account)["id"])
    visitor = Visitor(still, still.payment(merchant, note="n" * 500))
    answer = visitor.open()
    sizes = loaded(still, answer.text)
    assert {"/brand/colour/0b3d91", "/static/qirsh.css"} <= sizes.keys()
    assert LOGO_BYTES_MAX / 3 < max(sizes.values()) < LOGO_BYTES_MAX + 1000
    code = still.send(Call("GET", f"/pay/{visitor.payment_id}/qr"))
    total = len(answer.content) + len(str(answer.headers)) + len(code.content) + sum(sizes.values())
    assert total < FIRST_VISIT_BYTES_MAX, (total, sizes)


def test_the_script_is_small(world: Live) -> None:
    assert len(world.send(Call("GET", "/static/pay.js")).content) < SCRIPT_BYTES_MAX
