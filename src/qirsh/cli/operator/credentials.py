"""Secrets for the command line: from the environment, a terminal without echo, or standard input. Never arguments."""

import binascii
import sys

import click
import msgspec
import pyotp

from qirsh.cli.errors import Stopped
from qirsh.settings import operator_credentials


class Credentials(msgspec.Struct, frozen=True):
    """What an operator proves themselves with."""

    email: str
    password: str
    code: str


def ask_credentials() -> Credentials:
    """As far as the environment has them from there, the rest from the terminal."""
    known = operator_credentials()
    email = known.get("email") or _ask("Operator's e-mail", is_secret=False)
    password = known.get("password") or _ask("Operator's password")
    secret = known.get("totp_secret")
    code = _code(secret) if secret else _ask("Operator's code (six digits)")
    return Credentials(email, password, code.replace(" ", ""))  # Apps show it as two groups.


def new_secret(what: str, *, from_stdin: bool) -> str:
    """A password or PIN that is being set: the next line of standard input, or typed twice."""
    if from_stdin:
        line: str = sys.stdin.readline().rstrip("\r\n")
        if not line:
            message = f"standard input has no line for the {what}"
            raise Stopped(message)
        return line
    if not _has_terminal():
        message = f"there is no terminal to ask for the {what}: give it on standard input with --{what.lower()}-stdin"
        raise Stopped(message)
    return str(click.prompt(f"New {what}", hide_input=True, confirmation_prompt=True, err=True))


def _ask(what: str, *, is_secret: bool = True) -> str:
    if not _has_terminal():
        message = (
            f"there is no terminal to ask for: {what}. "
            "Set QIRSH_OPERATOR_EMAIL, QIRSH_OPERATOR_PASSWORD and QIRSH_OPERATOR_TOTP_SECRET"
        )
        raise Stopped(message)
    # On stderr, so that the answer alone is on stdout.
    return str(click.prompt(what, hide_input=is_secret, err=True))


def _has_terminal() -> bool:
    return sys.stdin.isatty()


def _code(secret: str) -> str:
    try:
        return pyotp.TOTP(secret).now()
    except (binascii.Error, ValueError):
        message = "QIRSH_OPERATOR_TOTP_SECRET: must be the authenticator key in base32"
        raise Stopped(message) from None
