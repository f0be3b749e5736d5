"""`python -m qirsh` is `qirsh`."""

import signal

# Ctrl-C while it is being loaded ends it in silence: nothing has begun that there were to tell of.
_interrupt = signal.getsignal(signal.SIGINT)
if _interrupt is signal.default_int_handler:  # Whoever ignores it, as of jobs in the background, has a reason.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from qirsh.cli.main import main  # noqa: E402 - this is what takes time

signal.signal(signal.SIGINT, _interrupt)

if __name__ == "__main__":
    main()
