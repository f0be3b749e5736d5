"""`python -m qirsh` is `qirsh`."""

import signal


def main() -> None:
    """The program. Ctrl-C while it is being loaded ends it in silence: nothing has begun that there were to tell of."""
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:  # Whoever ignores it, as of jobs in the background, has a reason.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from qirsh.cli.main import main as run  # noqa: PLC0415 - this is what takes time

    signal.signal(signal.SIGINT, interrupt)
    run()


if __name__ == "__main__":
    main()
