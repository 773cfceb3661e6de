"""Server-side assignors (KIP-848)."""

from typing import Final

from moldau.group_coordinator.consumer.assignors.range import assign_range
from moldau.group_coordinator.consumer.assignors.spec import Assignor
from moldau.group_coordinator.consumer.assignors.uniform import assign_uniform

ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
