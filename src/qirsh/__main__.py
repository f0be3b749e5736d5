"""`python -m qirsh` is `qirsh`."""

from qirsh.cli.loading import loaded


def main() -> None:
    """The program."""
    loaded("qirsh.cli.main").main()


if __name__ == "__main__":
    main()
