"""Statements of the bank from the command line: how its files are written, their import, and what they show."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import click

from qirsh.cli.operator.command import as_json_option, print_done, send_action
from qirsh.domain.bank_format import DATE_FORMS, DECIMAL_SIGNS, ENCODINGS, SEPARATORS
from qirsh.domain.limits import BANK_FILE_BYTES_MAX
from qirsh.domain.money import CURRENCIES

_house = click.option(
    "--house", default="", help="The house account, by its number or name. Without it: the first one, `bank`."
)
_AMOUNT_WIDTH: Final = 16


@click.group("bank")
def bank_group() -> None:
    """What the bank says: its files, their lines, and the bank orders that they show. Nothing here moves money."""


@bank_group.command("format")
@_house
@click.option("--encoding", type=click.Choice(ENCODINGS), required=True)
@click.option("--separator", type=click.Choice(SEPARATORS), required=True, help="Between the cells of a line.")
@click.option("--decimal", type=click.Choice(DECIMAL_SIGNS), required=True, help="Between whole and hundredths.")
@click.option("--date", type=click.Choice(DATE_FORMS), required=True)
@click.option("--day-column", required=True, help="Each column: its name in the file's header, or its number from 1.")
@click.option("--amount-column", default="", help="With a sign: what left is below zero. Or the next two:")
@click.option("--debit-column", default="", help="What left.")
@click.option("--credit-column", default="", help="What came in.")
@click.option("--reference-column", default="", help="By which lines and bank orders are matched.")
@click.option("--text-column", default="")
@click.option("--currency", default="", type=click.Choice(["", *CURRENCIES]), help="Of all lines. Or:")
@click.option("--currency-column", default="")
@click.option("--balance-column", default="", help="After each line. Without it, say --closing at each import.")
@click.option("--skipped", type=int, default=0, help="Lines above the table and its header.")
@click.option("--account", default="", help="The bank's number or IBAN, which each file must name:")
@click.option("--account-column", default="", help="in this column. Without it: in a line above the table.")
@click.option("--time-zone", default="UTC", show_default=True, help="Of the bank's day, such as Asia/Damascus.")
@as_json_option
def bank_format(*, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - as click has them
    """Say how the bank of a house account writes its CSV files. Once; again when the bank changes it."""
    send_action(
        "bank format", given, as_json=as_json, show=lambda _: click.echo("Kept: files are read so from now on.")
    )


@bank_group.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_house
@click.option("--yes", is_flag=True, help="Import it. Without it, what was understood is shown, and nothing is kept.")
@click.option(
    "--closing",
    "closings",
    multiple=True,
    type=(str, click.Choice(list(CURRENCIES))),
    metavar="AMOUNT CURRENCY",
    help="What the bank says is left, where the file does not tell it: 1234.50 USD; can be repeated.",
)
@as_json_option
@click.pass_context
def bank_import(
    context: click.Context, *, file: Path, house: str, yes: bool, closings: tuple[tuple[str, str], ...], as_json: bool
) -> None:
    """Read a CSV file of the bank, and import it with --yes. Exit 1: lines of it cannot be understood."""
    if file.stat().st_size > BANK_FILE_BYTES_MAX:
        message = f"larger than {BANK_FILE_BYTES_MAX // 1024 // 1024} MiB: import it in parts"
        raise click.BadParameter(message, param_hint="FILE")
    data = file.read_bytes()
    params = {"house": house, "name": file.name, "file": urlsafe_b64encode(data).decode()}
    params |= {f"closing{currency}": amount for amount, currency in closings}
    if yes:
        params["digest"] = sha256(data).hexdigest()
        send_action("bank import", params, as_json=as_json, show=_show_imported)
    elif send_action("bank import", params, as_json=as_json, show=_show_preview)["faults"]:
        context.exit(1)


@bank_group.command("list")
@_house
@click.option(
    "--what",
    type=click.Choice(["statements", "lines", "orders"]),
    default="statements",
    show_default=True,
    help="Statements; lines of the bank that show no order; or orders that no line shows.",
)
@as_json_option
def bank_list(*, house: str, what: str, as_json: bool) -> None:
    """List the newest statements, or the oldest of what is matched with nothing."""
    send_action("bank list", {"house": house, "what": what}, as_json=as_json, show=_show_items)


@bank_group.command("match")
@_house
@click.option("--line", default="", help="One line, by its id; and the order that it shows:")
@click.option("--reference", default="", help="the bank's reference of the order.")
@as_json_option
def bank_match(*, house: str, line: str, reference: str, as_json: bool) -> None:
    """Match lines with bank orders: all that have the same reference and money, or one by hand."""
    if bool(line) != bool(reference):
        message = "--line and --reference go together"
        raise click.UsageError(message)
    params = {"house": house} | ({"line": line, "reference": reference} if line else {})
    send_action("bank match", params, as_json=as_json, show=lambda done: print_done("Matched. No money moves.", done))


@bank_group.command("unmatch")
@click.argument("line")
@_house
@as_json_option
def bank_unmatch(*, line: str, house: str, as_json: bool) -> None:
    """Take a match back: the line shows nothing again."""
    params = {"house": house, "line": line}
    send_action("bank unmatch", params, as_json=as_json, show=lambda done: print_done("Taken back.", done))


@bank_group.command("undo")
@click.argument("statement_id")
@as_json_option
def bank_undo(*, statement_id: str, as_json: bool) -> None:
    """Take an import back, with its matches and the lines that no other file has. Also one that was interrupted."""
    send_action("bank undo", {"id": statement_id}, as_json=as_json, show=lambda done: print_done("Undone.", done))


@bank_group.command("reconcile")
@_house
@click.option("--statement", default="", help="By its id. Without it: the latest.")
@as_json_option
@click.pass_context
def bank_reconcile(context: click.Context, *, house: str, statement: str, as_json: bool) -> None:
    """Compare the bank's closing balance with the books, by currency. Exit 1: something is in neither list."""
    done = send_action("bank reconcile", {"house": house, "id": statement}, as_json=as_json, show=_show_reconciled)
    if any(item["state"] == "wrong" for item in done["items"]):
        context.exit(1)


def _show_preview(done: dict[str, Any]) -> None:
    for fault in done["faults"]:
        click.echo(f"line {fault['line']}: {fault['told']}")
    if done["faults"]:
        click.echo("Nothing can be imported until every line is understood.")
        return
    click.echo(
        f"{done['lines']} lines from {done['days'][0]} to {done['days'][1]}: {done['new']} new, "
        f"{done['known']} known already" + (f", {done['zeros']} of nothing left out" if done["zeros"] else "")
    )
    for total in done["totals"]:
        closing = done["closing"].get(total["currency"])
        told = f"; left at the end {closing}" if closing else ""
        click.echo(f"{total['currency']}: in {total['in']}, out {total['out']}{told}")
    for line in done["first"]:
        _show_line(line)
    click.echo("Nothing was imported: --yes does.")


def _show_imported(done: dict[str, Any]) -> None:
    print_done("Imported.", {name: done[name] for name in ("id", "house", "lines", "new", "matched", "closing")})


def _show_line(line: dict[str, Any]) -> None:
    known = line.get("line") or f"{line['number']:>6}"
    told = " ".join(filter(None, (line["reference"], line["text"])))
    click.echo(f"{known}  {line['day']}  {line['amount']:>{_AMOUNT_WIDTH}} {line['currency']}  {told}")


def _show_items(done: dict[str, Any]) -> None:
    if not done["items"]:
        click.echo("None.")
    for item in done["items"]:
        if done["what"] == "lines":
            _show_line(item)
        elif done["what"] == "orders":
            amount = f"{item['amount']:>{_AMOUNT_WIDTH}} {item['currency']}"
            click.echo(f"{item['bookedAt']}  {amount}  {item['reference']}  account {item['account']}")
        else:
            days = f"{item['firstDay']} to {item['lastDay']}"
            click.echo(f"{item['id']}  {item['state']:<8}  {days}  {item['lines']} lines  {item['file']}")


def _show_reconciled(done: dict[str, Any]) -> None:
    click.echo(f"{done['house']}, at the end of {done['day']}")
    for item in done["items"]:
        click.echo(item["currency"])
        for name, told in (
            ("bank", item["bank"] or "not told"),
            ("books", item["books"]),
            ("unmatched lines", f"{item['unmatchedLines']} ({item['unmatchedLinesCount']})"),
            ("unmatched orders", f"{item['unmatchedOrders']} ({item['unmatchedOrdersCount']})"),
            ("unexplained", item["unexplained"] or "not known"),
        ):
            click.echo(f"  {name:<17} {told}")
