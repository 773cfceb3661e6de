"""A PostgreSQL server for a test, which is skipped where there is none."""

import pytest
from tools import postgres_server
from tools.brokers import HOST

__all__ = ["HOST", "PostgresServer"]


class PostgresServer(postgres_server.PostgresServer):
    """Use as a context manager."""

    def __init__(self, **settings: str) -> None:
        try:
            super().__init__(**settings)
        except postgres_server.NotInstalledError as error:
            pytest.skip(str(error))
