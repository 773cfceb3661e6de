"""Modules that are imported when they are first needed, in steps.

A broker starts without the coordinator of groups, which takes ten milliseconds and a megabyte.
Later, all other requests would wait for the import. So it is divided: each of these modules needs
only few that are not imported with those before it.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from moldau.network.turns import Steps

GROUP_COORDINATOR: Final = (
    "moldau.protocol.records.group_coordinator",
    "moldau.group_coordinator.records",
    "moldau.group_coordinator.classic_join",
    "moldau.group_coordinator.consumer.member",
    "moldau.group_coordinator.consumer.group",
    "moldau.group_coordinator.consumer.consumer_protocol",
    "moldau.group_coordinator.consumer.assignors",
    "moldau.group_coordinator.consumer.group_update",
    "moldau.group_coordinator.consumer.upkeep",
    "moldau.group_coordinator.consumer.classic_protocol",
    "moldau.group_coordinator.consumer.groups",
    "moldau.group_coordinator.shard",
    "moldau.broker.group_loading",
)
TRANSACTION_COORDINATOR: Final = (
    "moldau.transaction_coordinator.shard",
    "moldau.broker.transaction_loading",
    "moldau.broker.marker_sending",
)


def importing(modules: Sequence[str]) -> Steps[None]:
    """Import the modules, one per step."""
    for name in modules:
        import_module(name)
        yield
