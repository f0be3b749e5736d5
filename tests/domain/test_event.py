"""Events: what each tells."""

from hypothesis import given
from hypothesis import strategies as st

from qirsh.domain import event
from qirsh.domain.payment import MOVES, Status, moved, refunded
from tests.domain.market import Market
from tests.each import each


@each("to", ["paid", "cancelled", "expired"])
def test_an_event_tells_what_changed_and_when(to: Status) -> None:
    changed = moved(Market().create(), to, 5000, payer=None)
    assert event.of_change(changed, sequence=3, epoch=2) == event.Event(
        account=changed.merchant,
        sequence=3,
        epoch=2,
        type=f"remote_payment.{to}",
        payment=changed.number,
        version=2,
        created_at=5000,
    )


def test_every_move_of_a_payment_and_a_refund_has_a_type_and_no_type_is_without_its_change() -> None:
    assert sorted(event.TYPES) == sorted(["refund.created", *(f"remote_payment.{to}" for to in MOVES["pending"])])


def test_a_change_that_is_no_move_has_its_own_type() -> None:
    paid = moved(Market().create(), "paid", 5000, payer=1)
    told = event.of_change(refunded(paid, 40, 6000), sequence=4, epoch=0, type=event.REFUND_CREATED)
    assert (told.type, told.version, told.created_at, told.account) == ("refund.created", 3, 6000, paid.merchant)


@given(
    account=st.integers(100_000_000_000, 999_999_999_999),
    sequence=st.integers(1, 10**18 - 1),
    epoch=st.integers(0, 999_999),
)
def test_an_id_is_read_as_it_was_written(account: int, sequence: int, epoch: int) -> None:
    written = event.event_id(account=account, sequence=sequence, epoch=epoch)
    assert written == f"evt_{epoch}_{account}_{sequence}"
    assert event.parse_event_id(written) == (account, sequence, epoch)


def test_an_id_says_the_epoch_first_then_whose_it_is_then_where_it_stands() -> None:
    assert event.event_id(account=123_456_789_012, sequence=7, epoch=3) == "evt_3_123456789012_7"


@each(
    "text",
    [
        "",
        "evt_",
        "evt_0_123456789012",
        "evt_0_123456789012_0",
        "evt_0_123456789012_01",
        "evt_00_123456789012_1",
        "evt_01_123456789012_1",
        "evt_0_023456789012_1",
        "evt_0_12345678901_1",
        "evt_0_1234567890123_1",
        "evt_1000000_123456789012_1",
        "evt_0_123456789012_1000000000000000000",
        "evt_0_123456789012_-1",
        "evt_-1_123456789012_1",
        "evt_0_123456789012_1 ",
        "evt_0_123456789012_1\n",
        " evt_0_123456789012_1",
        "EVT_0_123456789012_1",
        "evt_0_123456789012_\u0661",
        "evt_0_\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19\uff10\uff11\uff12_1",
        "evt_0_123456789012_1_1",
        "evt_0_123_456789012_1",
        "re_0_123456789012_1",
    ],
)
def test_what_is_no_id_of_ours_is_nothing(text: str) -> None:
    assert event.parse_event_id(text) is None


@given(st.text(max_size=40) | st.from_regex(r"evt_[0-9]{0,8}_[0-9]{0,14}_[0-9]{0,20}", fullmatch=True))
def test_there_is_one_way_to_write_an_id(text: str) -> None:
    if (read := event.parse_event_id(text)) is not None:
        account, sequence, epoch = read
        assert event.event_id(account=account, sequence=sequence, epoch=epoch) == text
