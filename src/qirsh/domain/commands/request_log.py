"""Commands about the log of requests, by those who write it behind the calls and tidy it."""

from qirsh.domain.command import Command
from qirsh.domain.request_log import KeyUse, LoggedRequest


class RecordRequests(Command[int], frozen=True):
    """A process tells what keys were used for. The outcome is how many requests were new."""

    requests: tuple[LoggedRequest, ...]
    uses: tuple[KeyUse, ...] = ()


class ForgetRequests(Command[int], frozen=True):
    """Old requests go. The outcome is how many."""

    ids: tuple[str, ...]
