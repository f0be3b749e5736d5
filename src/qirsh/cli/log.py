"""The log: one line per event on stderr, whatever the event holds, so that nobody can write a second line into it."""

import json
import logging
import sys
import threading
import time
from types import TracebackType


class LineFormatter(logging.Formatter):
    """`2026-03-01T09:30:00.125Z WARNING qirsh.service words`, with a traceback on the same line."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"
    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The line without its end."""
        return one_line(super().format(record))


class JsonFormatter(logging.Formatter):
    """The same as one object of JSON: time, level, logger, message, and a traceback under its own name."""

    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        """The line without its end."""
        told = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told)  # In ASCII: nothing in it ends a line or turns text around.


def one_line(text: str) -> str:
    """Line breaks, terminal codes and characters that turn text around, written out as in a Python string."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(
        character if character.isprintable() and character != "\\" else character.encode("unicode_escape").decode()
        for character in text
    )


def log_to_stderr(level: int = logging.INFO, *, is_json: bool = False) -> None:
    """For commands that serve; the others say what they have to say by themselves."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if is_json else LineFormatter())
    logging.basicConfig(level=level, handlers=[handler])
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda raised: _log_uncaught(raised.exc_type, raised.exc_value, raised.exc_traceback)
    # It tells of each start and stop, which is told already.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def _log_uncaught(kind: type[BaseException], error: BaseException | None, traceback: TracebackType | None) -> None:
    logging.getLogger(__name__).critical("uncaught", exc_info=(kind, error or kind(), traceback))
