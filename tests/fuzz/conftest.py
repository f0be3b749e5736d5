"""The engines that the tests of the web have too."""

from tests.web.conftest import engine, postgres

__all__ = ["engine", "postgres"]
