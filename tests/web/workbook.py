"""A workbook as a spreadsheet would read it: by the standard library, from the parts that its own index names."""

# It was written by us.
# ruff: noqa: S314

import io
import re
import zipfile
from decimal import Decimal
from typing import Final
from xml.etree import ElementTree as ET

import msgspec

MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
OFFICE: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_ESCAPED: Final = re.compile("_x([0-9A-Fa-f]{4})_")


class ReadCell(msgspec.Struct, frozen=True):
    """Its value, a text or a number, and how it is shown."""

    value: str | Decimal
    number_format: str = ""


class Sheet(msgspec.Struct, frozen=True):
    """One of them, with its head row first."""

    name: str
    rows: list[dict[str, ReadCell]]  # By the letters of their columns.
    frozen_rows: int

    @property
    def values(self) -> list[dict[str, str | Decimal]]:
        """By the names in the head row, of all rows below it."""
        head = {letters: str(cell.value) for letters, cell in self.rows[0].items()}
        return [{head[letters]: cell.value for letters, cell in row.items()} for row in self.rows[1:]]


def read_workbook(data: bytes) -> list[Sheet]:
    """All sheets. Whatever is not as the standards say, or is a formula, fails."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        parts = {name: archive.read(name) for name in archive.namelist()}
    overrides = {
        override.get("PartName"): str(override.get("ContentType"))
        for override in ET.fromstring(parts["[Content_Types].xml"])
        if override.get("PartName")
    }
    relations = {
        relation.get("Id"): f"xl/{relation.get('Target')}"
        for relation in ET.fromstring(parts["xl/_rels/workbook.xml.rels"])
    }
    styles = ET.fromstring(parts["xl/styles.xml"])
    codes = {own.get("numFmtId"): str(own.get("formatCode")) for own in styles.iter(f"{MAIN}numFmt")}
    codes |= {"0": "General", "3": "#,##0", "4": "#,##0.00", "49": "@"}
    [xfs] = styles.iter(f"{MAIN}cellXfs")
    formats = [codes[str(xf.get("numFmtId"))] for xf in xfs]
    sheets = []
    for sheet in ET.fromstring(parts["xl/workbook.xml"]).iter(f"{MAIN}sheet"):
        path = relations[sheet.get(f"{OFFICE}id")]
        assert overrides[f"/{path}"].endswith("worksheet+xml")
        sheets.append(_sheet(str(sheet.get("name")), ET.fromstring(parts[path]), formats))
    return sheets


def _sheet(name: str, root: ET.Element, formats: list[str]) -> Sheet:
    [pane] = root.iter(f"{MAIN}pane")
    assert pane.get("state") == "frozen"
    rows = []
    for number, row in enumerate(root.iter(f"{MAIN}row"), 1):
        assert row.get("r") == str(number)
        cells = {}
        for cell in row:
            found = re.fullmatch(r"([A-Z]+)(\d+)", str(cell.get("r")))
            assert found is not None
            assert found[2] == str(number)
            cells[found[1]] = _cell(cell, formats)
        assert list(cells) == sorted(cells, key=lambda letters: (len(letters), letters))
        rows.append(cells)
    return Sheet(name, rows, int(str(pane.get("ySplit"))))


def _cell(cell: ET.Element, formats: list[str]) -> ReadCell:
    assert {part.tag for part in cell.iter()} <= {MAIN + tag for tag in ("c", "v", "is", "t")}, "a formula?"
    number_format = formats[int(str(cell.get("s")))]
    if cell.get("t") == "inlineStr":
        [text] = cell.iter(f"{MAIN}t")
        return ReadCell(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), text.text or ""), number_format)
    assert cell.get("t") is None
    [value] = cell.iter(f"{MAIN}v")
    return ReadCell(Decimal(str(value.text)), number_format)
