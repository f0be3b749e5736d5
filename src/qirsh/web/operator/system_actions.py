"""How the service does, at the operators' desk."""

from typing import Final

from qirsh.contract.timestamps import timestamp
from qirsh.domain.operator_role import OperatorRight
from qirsh.web.http.context import Context
from qirsh.web.operator.action import Action, Actor, Params
from qirsh.web.operator.system_view import system_view


async def show_system(context: Context, _actor: Actor, _params: Params) -> Params:
    """Nothing of it is secret."""
    view = await system_view(context)
    return {
        "version": view.version,
        "schema": view.schema,
        "engine": f"{view.engine} {view.engine_version}",
        "processes": [
            {
                "process": process.name,
                "answers": process.is_this,
                "roles": "every role" if view.plays_all else ", ".join(process.roles),
            }
            for process in view.processes
        ],
        "vacantRoles": view.vacant,
        "troubles": view.troubles,
        "queues": [_waits(one.name, one.count, one.oldest_at) for one in view.queues],
        "workers": [_waits(one.worker, one.count, one.oldest_at) for one in view.waiting],
        "auditedAt": _time(view.audited_at),
        "sendsMail": view.has_mail,
        "diskFreeBytes": None if view.disk is None else view.disk.free,
        "diskBytes": None if view.disk is None else view.disk.total,
        "lastBackup": _time(view.last_backup_at) or "none recorded",
        "settings": view.settings,
        "doctor": None if view.findings is None else [finding._asdict() for finding in view.findings],
    }


def _waits(name: str, count: int, oldest_at: int | None) -> Params:
    return {"name": name, "waiting": count, "oldest": _time(oldest_at)}


def _time(at: int | None) -> str:
    return "" if at is None else timestamp(at)


SYSTEM_ACTIONS: Final[dict[str, Action]] = {
    "system show": Action(show_system, OperatorRight.SEE_SYSTEM),
}
