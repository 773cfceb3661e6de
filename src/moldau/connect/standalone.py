"""The connectors of a standalone worker, which come from files on the command line."""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from moldau.connect.data.errors import ConnectError
from moldau.connect.herder_api import Herder

log = logging.getLogger(__name__)


class GivenConnector(NamedTuple):
    """A connector and the file that describes it."""

    path: str
    name: str
    config: Mapping[str, str]
    initial_state: str | None = None


def create_all(herder: Herder, connectors: Sequence[GivenConnector]) -> None:
    """Create the connectors of a worker that has just started.

    Raises:
        ConnectError: one of them is not valid; the message names its file.
    """
    for each in connectors:
        try:
            herder.create(each.name, each.config, each.initial_state)
        except ConnectError as error:
            raise ConnectError(f"{each.path}: {error}") from error
        log.info("Created connector %s", each.name)
