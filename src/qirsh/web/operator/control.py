"""The control socket: operators' acts from the CLI, one JSON line in, one JSON line out.

Only the service's own user can open it, or a group that a setting names; and every act takes an operator's password and
second factor too.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from qirsh.domain.commands.audit_log import RecordFailure
from qirsh.domain.commands.session import UseLoginCode
from qirsh.domain.limits import BANK_FILE_BYTES_MAX
from qirsh.domain.operator import Operator, may_act
from qirsh.domain.operator_role import OperatorRight, may
from qirsh.domain.person import normal_email
from qirsh.domain.refusal import Refused
from qirsh.domain.tables import Tables
from qirsh.engine.batcher import Overloaded
from qirsh.engine.passwords import TooManySignIns
from qirsh.store.interface import OutcomeUnknown, StoreUnavailable
from qirsh.store.reads import queries
from qirsh.web.auth.credentials import VerifiedLogin, authenticate
from qirsh.web.http.context import Context
from qirsh.web.http.problems import PROBLEM_TYPES, Problem
from qirsh.web.http.streams import Chunks
from qirsh.web.operator.action import CHUNKS, ActionRefused, Actor, missing_right
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.operator.peer import peer_user, user_name

log = logging.getLogger(__name__)


_LINE_BYTES_MAX: Final = BANK_FILE_BYTES_MAX * 4 // 3 + 65_536  # A file of the bank, in letters, and some words.
_LINE_S_MAX: Final = 10  # Who connects is a program that has its line ready, on a machine that may stand still.
_LAST_LINE_S_MAX: Final = 2  # The same, when the service is to end.
_FINISH_S_MAX: Final = 5


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


Take = Callable[[Chunks], None]  # Gets the bytes that follow an answer, to send and close.


async def perform(
    context: Context, request: OperatorRequest, user: int | None = None, take: Take | None = None
) -> OperatorReply:
    """Carry out an act for a user of this machine. Never raises: whatever happens is told."""
    try:
        act = ACTIONS.get(request.act)
        if act is None:
            return OperatorReply(code="unknown_act", detail=f"There is no act {request.act!r}.")
        actor = await _actor(context, request, act.right, await user_name(user))
        done = await act.run(context, actor, request.params)
        if (chunks := done.pop(CHUNKS, None)) is not None:
            if take is None:
                await chunks.aclose()
            else:
                take(chunks)
        return OperatorReply(done=done)
    except ActionRefused as error:
        return OperatorReply(code=error.code, detail=error.detail)
    except Problem as problem:
        return OperatorReply(code=problem.code, detail=PROBLEM_TYPES[problem.code].detail)
    except (Overloaded, TooManySignIns):
        return OperatorReply(code="overloaded", detail=PROBLEM_TYPES["overloaded"].detail)
    except StoreUnavailable:
        return OperatorReply(code="unavailable", detail=PROBLEM_TYPES["unavailable"].detail)
    except OutcomeUnknown:
        return OperatorReply(code="outcome_unknown", detail="It may have been done or not: look before you try again.")
    except Exception:
        log.exception("act %r failed", request.act)
        return OperatorReply(code="internal_error", detail="Something broke; the server's log says what.")


async def _actor(context: Context, request: OperatorRequest, right: OperatorRight, peer: str) -> Actor:
    rows = await context.store.select(queries.OPERATORS)
    if rows[0][0] == 0:
        if request.act == "operator create":
            return Actor(None, peer)
        raise ActionRefused("no_operator", "There is no operator yet: run `qirsh operator create` first.")
    if not request.email:
        raise ActionRefused("credentials_needed", "This requires an operator's e-mail, password and verification code.")
    operator = await _proved(context, request, peer)
    if not await _is_acting(context, operator):
        raise ActionRefused("not_operator")
    if not may(operator.roles, right):
        raise missing_right(right)
    return Actor(operator.person, peer)


async def _proved(context: Context, request: OperatorRequest, peer: str) -> Operator:
    """Wrong tries are counted by e-mail address, apart from those of the pages, which anybody can make."""
    address = normal_email(request.email) or ""
    if context.limits is not None and (seconds := context.limits.count_operator(address)):
        raise ActionRefused("rate_limited", "Too many incorrect attempts: wait %(seconds)s seconds.", seconds=seconds)
    verified = await authenticate(context, email=address, password=request.password, code=request.totp)
    operator = None if verified is None else await context.store.find(Tables.operators, verified.login.person)
    if verified is None or operator is None or not await _used_up(context, verified):
        subject = "nobody" if verified is None else f"person {verified.login.person}"
        await context.engine.submit(RecordFailure(subject, peer or "somebody"))
        raise ActionRefused("wrong_credentials", "Incorrect operator's e-mail, password or code.")
    if (
        verified.login.totp_sealed is None
    ):  # It was removed by two admins: nobody runs the service with a password alone.
        raise ActionRefused(
            "second_factor_needed", "You have no second factor: turn on two-step verification in your wallet first."
        )
    if context.limits is not None:
        context.limits.forgive_operator(address)
    return operator


async def _used_up(context: Context, verified: VerifiedLogin) -> bool:
    """A recovery code serves one act.

    A code of the app may serve several of its half minute: only who can open the socket gets here.
    """
    if not verified.recovery_hash:
        return True
    login = verified.login
    used = UseLoginCode(login.person, login.email, login.password_hash, 0, verified.recovery_hash)
    return type(await context.engine.submit(used)) is not Refused


async def _is_acting(context: Context, operator: Operator) -> bool:
    """A first look, before anything is read for them. Whatever changes something asks again in its commit."""
    person = await context.store.find(Tables.people, operator.person)
    account = None if person is None else await context.store.find(Tables.accounts, person.account)
    return may_act(operator, person, account)


async def framed(chunks: Chunks) -> AsyncGenerator[bytes, None]:
    """Each piece behind its length, and a zero at the end: without it whoever reads knows that something is missing."""
    try:
        async for piece in chunks:
            if piece:
                yield b"%d\n%b" % (len(piece), piece)
        yield b"0\n"
    except (Problem, StoreUnavailable) as error:
        log.warning("what an operator takes away was cut: %s", error)


def scratch_path(path: Path) -> Path:
    """Where a socket is made before it takes its path. Not longer than the usual one, which has just room."""
    return path.with_name("control.new")


class Control:
    """Listens while the service runs."""

    def __init__(self, context: Context, path: Path, group: int | None = None) -> None:
        self._context = context
        self._path = path
        self._group = group  # Whose members may connect, beside the service's own user.
        self._file: os.stat_result | None = None
        self._server: asyncio.Server | None = None
        self.under_way: set[asyncio.Task[None]] = set()
        self._silent: set[asyncio.Timeout] = set()  # Of those whose line has not arrived yet.

    async def open(self) -> None:
        """Takes the path over in one step, from a process that is being replaced or one that was killed."""
        listener = socket.socket(socket.AF_UNIX)
        scratch = scratch_path(self._path)
        scratch.unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            listener.bind(str(scratch))
        except OSError as error:
            listener.close()
            message = f"the control socket {self._path} cannot be made: {error.strerror}; see QIRSH_CONTROL_SOCKET"
            raise OSError(message) from error
        finally:
            os.umask(mask)
        if self._group is not None:
            self._open_to_group(scratch, self._group)
        listener.listen()
        self._file = scratch.stat()
        scratch.rename(self._path)
        self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=_LINE_BYTES_MAX)

    def _open_to_group(self, scratch: Path, group: int) -> None:
        try:
            os.chown(scratch, -1, group)
        except PermissionError as error:
            scratch.unlink()
            message = (
                f"QIRSH_OPERATORS_GROUP: the service may not give its control socket to the group {group}:"
                " let its user be a member"
            )
            raise PermissionError(message) from error
        scratch.chmod(0o660)

    async def close(self) -> None:
        """No new acts; those under way are finished."""
        if self._server is None or self._file is None:
            return
        self._server.close()
        with contextlib.suppress(FileNotFoundError):  # By now it may be the path of another process.
            if os.path.samestat(self._path.stat(), self._file):
                self._path.unlink()
        soon = asyncio.get_running_loop().time() + _LAST_LINE_S_MAX
        for timeout in self._silent:
            if not timeout.expired():
                timeout.reschedule(soon)
        if self.under_way:
            await asyncio.wait(self.under_way, timeout=_FINISH_S_MAX)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        following: list[Chunks] = []
        try:
            await self._answer(reader, writer, following)
        finally:
            for chunks in following:
                await chunks.aclose()
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, following: list[Chunks]
    ) -> None:
        try:
            line = await self._line(reader)
            request = msgspec.json.decode(line, type=OperatorRequest)
        except (msgspec.MsgspecError, ValueError, TimeoutError) as error:
            reply = OperatorReply(code="bad_request", detail=str(error) or "The line did not arrive in time.")
        else:
            reply = await perform(self._context, request, peer_user(writer.get_extra_info("socket")), following.append)
        with contextlib.suppress(ConnectionError):  # The caller may have left, or only looked whether we listen.
            writer.write(msgspec.json.encode(reply) + b"\n")
            await writer.drain()
            for chunks in following:
                async for piece in framed(chunks):
                    writer.write(piece)
                    await writer.drain()

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        async with asyncio.timeout(_LINE_S_MAX) as timeout:
            self._silent.add(timeout)
            try:
                return await reader.readline()
            finally:
                self._silent.discard(timeout)
