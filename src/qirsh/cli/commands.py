"""Every command but those of `main`. To load them takes most of a second, so it is done when one of them is called."""

from typing import Final

import click

from qirsh.cli.backup.backup import backup_group
from qirsh.cli.backup.migrate_store import migrate_store_command
from qirsh.cli.backup.restore import restore_command
from qirsh.cli.demo.command import demo_command
from qirsh.cli.developer.events import events_group
from qirsh.cli.developer.listen import listen_command
from qirsh.cli.developer.trigger import trigger_command
from qirsh.cli.doctor.command import doctor_command
from qirsh.cli.migrate import migrate_command
from qirsh.cli.operator import access, operators, people
from qirsh.cli.operator import command as operator_command
from qirsh.cli.operator.bank import bank_group
from qirsh.cli.operator.brands import brand_group
from qirsh.cli.operator.ledger import ledger_group, system_group
from qirsh.cli.operator.messages import message_group
from qirsh.cli.operator.money import adjust_group, house_group, reverse_group
from qirsh.cli.operator.payouts import payout_group
from qirsh.cli.operator.proposals import proposal_group
from qirsh.cli.operator.recovery import recovery_group
from qirsh.cli.operator.refunds import refund_group
from qirsh.cli.operator.search import note_group, search_command
from qirsh.cli.restored import restored_command
from qirsh.cli.serve.command import serve_command
from qirsh.cli.status import status_command
from qirsh.cli.verify import verify_command

COMMANDS: Final[dict[str, click.Command]] = {
    str(command.name): command
    for command in (
        demo_command,
        serve_command,
        migrate_command,
        status_command,
        verify_command,
        doctor_command,
        backup_group,
        restore_command,
        migrate_store_command,
        restored_command,
        operators.operator_group,
        operator_command.person_group,
        access.access_group,
        people.identity_group,
        operator_command.account_group,
        operator_command.key_group,
        operator_command.deposit_group,
        operator_command.withdraw_group,
        payout_group,
        proposal_group,
        adjust_group,
        reverse_group,
        house_group,
        brand_group,
        bank_group,
        message_group,
        search_command,
        note_group,
        refund_group,
        recovery_group,
        operator_command.audit_group,
        ledger_group,
        system_group,
        listen_command,
        trigger_command,
        events_group,
    )
}
