"""Finds the few faults that a failing simulation needs.

Faults are taken away, first in large groups and then one by one, as long as the simulation still
fails. It need not fail in the same way: whatever is left is easier to understand.
"""

from collections.abc import Callable, Sequence

from moldau.simulator.faults import Fault
from moldau.simulator.simulation import Plan


def shrink(planned: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """A plan with as few faults as possible that still fails; ``planned`` must."""
    kept = list(planned.faults)
    size = max(len(kept) // 2, 1)
    while kept:
        smaller = _without_a_group(planned, kept, size, fails)
        if smaller is not None:
            kept = smaller
            size = min(size, max(len(kept) // 2, 1))
        elif size == 1:
            break
        else:
            size //= 2
    return planned._replace(faults=tuple(kept))


def _without_a_group(
    planned: Plan, kept: Sequence[Fault], size: int, fails: Callable[[Plan], bool]
) -> list[Fault] | None:
    for start in range(0, len(kept), size):
        rest = [*kept[:start], *kept[start + size :]]
        if fails(planned._replace(faults=tuple(rest))):
            return rest
    return None
