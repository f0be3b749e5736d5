"""The control socket: operators' acts from the CLI, one JSON line in, one JSON line out.

Only the service's own user can open it, and every act still takes an operator's password and second factor.
"""

import asyncio
import contextlib
import logging
import os
import socket
from pathlib import Path
from typing import Any, Final

import msgspec

from qirsh.domain.operator import Operator, may_act
from qirsh.domain.tables import Tables
from qirsh.engine.batcher import Overloaded
from qirsh.engine.passwords import TooManySignIns
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.store.reads import queries
from qirsh.web.auth.credentials import authenticate
from qirsh.web.http.context import Context
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.operator.action import ActionRefused, Actor
from qirsh.web.operator.actions import ACTIONS

log = logging.getLogger(__name__)


_LINE_BYTES_MAX: Final = 65_536
_LINE_S_MAX: Final = 2  # Who connects is a program that has its line ready.
_FINISH_S_MAX: Final = 5
_SCRATCH: Final = "control.new"  # Not longer than the path it becomes, which has just room.


class OperatorRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What an operator wants done, and who they say they are."""

    act: str
    params: dict[str, Any]
    email: str = ""
    password: str = ""
    totp: str = ""


class OperatorReply(msgspec.Struct, omit_defaults=True):
    """What was done, or why not."""

    done: dict[str, Any] | None = None
    code: str = ""
    detail: str = ""


async def perform(context: Context, request: OperatorRequest) -> OperatorReply:
    """Carry out an act. Never raises: whatever happens is told."""
    try:
        act = ACTIONS.get(request.act)
        if act is None:
            return OperatorReply(code="unknown_act", detail=f"There is no act {request.act!r}.")
        return OperatorReply(done=await act(context, await _actor(context, request), request.params))
    except ActionRefused as error:
        return OperatorReply(code=error.code, detail=error.detail)
    except (Overloaded, TooManySignIns):
        return OperatorReply(code="overloaded", detail=PROBLEM_TYPES["overloaded"].detail)
    except StoreUnavailable:
        return OperatorReply(code="unavailable", detail=PROBLEM_TYPES["unavailable"].detail)
    except OutcomeUnknown:
        return OperatorReply(code="outcome_unknown", detail="It may have been done or not: look before you try again.")
    except Exception:
        log.exception("act %r failed", request.act)
        return OperatorReply(code="internal_error", detail="Something broke; the server's log says what.")


async def _actor(context: Context, request: OperatorRequest) -> Actor:
    rows = await context.store.select(queries.OPERATORS)
    if rows[0][0] == 0:
        if request.act == "operator create":
            return Actor(None)
        raise ActionRefused("no_operator", "There is no operator yet: run `qirsh operator create` first.")
    # A code may serve several acts of its half minute: only who can open the socket gets here.
    verified = await authenticate(context, email=request.email, password=request.password, code=request.totp)
    operator = None if verified is None else await context.store.find(Tables.operators, verified.login.person)
    if operator is None:
        raise ActionRefused("wrong_credentials", "Operator's e-mail, password or second factor are wrong.")
    if not await _is_acting(context, operator):
        raise ActionRefused("not_operator", PROBLEM_TYPES["not_operator"].detail)
    return Actor(operator.person)


async def _is_acting(context: Context, operator: Operator) -> bool:
    """A first look, before anything is read for them. Whatever changes something asks again in its commit."""
    person = await context.store.find(Tables.people, operator.person)
    account = None if person is None else await context.store.find(Tables.accounts, person.account)
    return may_act(operator, account)


class Control:
    """Listens while the service runs."""

    def __init__(self, context: Context, path: Path) -> None:
        self._context = context
        self._path = path
        self._file: os.stat_result | None = None
        self._server: asyncio.Server | None = None
        self.under_way: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Takes the path over in one step, from a process that is being replaced or one that was killed."""
        listener = socket.socket(socket.AF_UNIX)
        scratch = self._path.with_name(_SCRATCH)
        scratch.unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            listener.bind(str(scratch))
        finally:
            os.umask(mask)
        listener.listen()
        self._file = scratch.stat()
        scratch.rename(self._path)
        self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=_LINE_BYTES_MAX)

    async def close(self) -> None:
        """No new acts; those under way are finished."""
        if self._server is None or self._file is None:
            return
        self._server.close()
        with contextlib.suppress(FileNotFoundError):  # By now it may be the path of another process.
            if os.path.samestat(self._path.stat(), self._file):
                self._path.unlink()
        if self.under_way:
            await asyncio.wait(self.under_way, timeout=_FINISH_S_MAX)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        try:
            async with asyncio.timeout(_LINE_S_MAX):
                line = await reader.readline()
            request = msgspec.json.decode(line, type=OperatorRequest)
        except (msgspec.MsgspecError, ValueError, TimeoutError) as error:
            reply = OperatorReply(code="bad_request", detail=str(error) or "The line did not arrive in time.")
        else:
            reply = await perform(self._context, request)
        with contextlib.suppress(ConnectionError):  # The caller may have left, or only looked whether we listen.
            writer.write(msgspec.json.encode(reply) + b"\n")
            await writer.drain()
        writer.close()
