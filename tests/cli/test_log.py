"""The log is one line per event, whatever the event holds."""

import json
import logging
import re
import sys

from hypothesis import given
from hypothesis.strategies import text

from qirsh.cli.log import JsonFormatter, LineFormatter, one_line


@given(text())
def test_any_text_becomes_one_printable_line_from_which_it_can_be_read_back(anything: str) -> None:
    line = one_line(anything)
    assert line.isprintable()
    assert line.encode("ascii", "backslashreplace").decode("unicode_escape") == anything


def record() -> logging.LogRecord:
    """Of a failure whose words would look like a second line, or turn text around."""
    try:
        raise ValueError("a\n2026-01-01T00:00:00.000Z INFO forged\x1b[31m")  # noqa: TRY301 - what is logged
    except ValueError:
        return logging.LogRecord("qirsh", logging.ERROR, "", 0, "failed: %s", ("\u202eabc",), sys.exc_info())


def test_an_event_with_a_traceback_and_a_forged_second_line_is_one_line() -> None:
    line = LineFormatter().format(record())
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ERROR qirsh failed: \\u202eabc\\nTraceback", line)
    assert line.isprintable()
    assert "ValueError: a\\n2026" in line


def test_as_json_it_is_one_object_with_nothing_but_ascii() -> None:
    line = JsonFormatter().format(record())
    assert line.isascii()
    assert line.isprintable()
    told = json.loads(line)
    assert list(told) == ["time", "level", "logger", "message", "traceback"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told["time"])
    assert (told["level"], told["logger"], told["message"]) == ("ERROR", "qirsh", "failed: \u202eabc")
    assert "ValueError: a\n2026" in told["traceback"]
