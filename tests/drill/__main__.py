"""`python -m tests.drill`: ends with 0, or says what is wrong."""

import sys
import tempfile
from pathlib import Path
from typing import Final

import click

from tests import postgres
from tests.cli.program import House
from tests.drill.drill import Drill, Outside
from tests.drill.shop import DrillFailed
from tests.faults.webhook_receiver import webhook_receiver
from tests.workers.post_office import post_office

_PAYMENTS: Final = 200


def main() -> int:
    """On loopback, in a folder that goes when it ends."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="qirsh-drill-") as name,
            webhook_receiver() as receiver,
            post_office() as office,
            postgres.server() as server,
            server.database() as url,
        ):
            folder = Path(name)
            Drill(House(folder / "demo"), folder, Outside(receiver, office), click.echo, _PAYMENTS).run(url)
    except DrillFailed as failure:
        click.echo(f"the drill failed: {failure}", err=True)
        return 1
    click.echo("The drill is passed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
