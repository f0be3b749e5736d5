"""`python -m qirsh` is `qirsh`."""

from qirsh.cli.main import main

main()
