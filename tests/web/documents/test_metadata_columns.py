"""Metadata in columns: each value as it was sent, and nothing lost."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qirsh.web.documents.export_table import Cell
from qirsh.web.documents.metadata_columns import metadata_cells, metadata_columns


@pytest.mark.parametrize(
    ("sent", "cell"),
    [
        ('"Order 7"', "Order 7"),
        (r'"a\"bسوق"', 'a"bسوق'),
        ("7", 7),
        ("-0", 0),
        ("1.50", Decimal("1.50")),
        ("1e3", Decimal("1E+3")),
        ("999999999999999", 999_999_999_999_999),
        ("1234567890123456", "1234567890123456"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("0.1234567890123456789", "0.1234567890123456789"),
        ("true", "true"),
        ("null", None),
        ("[1, 2.50]", "[1, 2.50]"),
        ('{"b": 1.0}', '{"b": 1.0}'),
    ],
)
def test_a_value_is_what_was_sent(sent: str, cell: Cell) -> None:
    [read, rest] = metadata_cells(f'{{"key": {sent}}}', ["key"])
    assert (read, type(read), rest) == (cell, type(cell), None)


def test_keys_without_a_column_stand_together_as_they_were_sent() -> None:
    cells = metadata_cells('{"a": 1.0, "b": "x", "c": [1.50], "d": null}', ["b", "z"])
    assert cells == ["x", None, '{"a":1.0,"c":[1.50],"d":null}']
    assert metadata_cells("{}", ["b", "z"]) == [None, None, None]
    assert [column.name for column in metadata_columns(["b", "=z"])] == ["metadata.b", "metadata.=z", "metadata"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(metadata=st.dictionaries(st.text(max_size=4), JSON, max_size=6), data=st.data())
def test_nothing_is_lost_whichever_keys_have_columns(metadata: dict[str, object], data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.sampled_from([*metadata, "other"]), unique=True)) if metadata else ["other"]
    *cells, rest = metadata_cells(json.dumps(metadata), keys)
    read = json.loads(str(rest)) if rest is not None else {}
    for key, cell in zip(keys, cells, strict=True):
        value = metadata.get(key)
        if type(value) is str or value is None:
            assert cell == value
        elif type(value) is int or type(value) is float:
            assert Decimal(str(cell)) == Decimal(json.dumps(value))
        else:
            assert json.loads(str(cell)) == value
    assert read == {key: value for key, value in metadata.items() if key not in keys}
