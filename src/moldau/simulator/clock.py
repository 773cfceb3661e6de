"""The clocks of one simulated machine.

Every machine has its own idea of time. Its monotonic clock begins at some value when the machine
boots and runs a little fast or slow; its wall clock follows it, and may be set at any moment.
"""

from typing import Final

from moldau.simulator.world import US_PER_MS, US_PER_S, World

# Tuesday, 14 November 2023: where the wall clocks of a simulation begin.
EPOCH_MS: Final = 1_700_000_000_000
_MILLION: Final = 1_000_000


class SimulatedClock:
    """See ``Clock``. A loop of the same machine takes its time from here."""

    def __init__(self, world: World, *, begin_us: int = 0, drift_ppm: int = 0) -> None:
        """``begin_us`` is the monotonic time at which the machine boots: now."""
        assert abs(drift_ppm) < _MILLION, f"a clock cannot drift by {drift_ppm} ppm"
        self._world = world
        self._booted_us = world.now_us
        self._begin_us = begin_us
        self._rate = _MILLION + drift_ppm
        # Between the wall clock of this machine and the true one.
        self._wall_error_us = 0

    def reboot(self, begin_us: int) -> None:
        """The machine boots again: the monotonic clock begins anew, the wall clock is right."""
        self._booted_us = self._world.now_us
        self._begin_us = begin_us
        self._wall_error_us = 0

    def monotonic_us(self) -> int:
        passed_us = self._world.now_us - self._booted_us
        return self._begin_us + passed_us * self._rate // _MILLION

    def monotonic_ms(self) -> int:
        return self.monotonic_us() // US_PER_MS

    def wall_ms(self) -> int:
        passed_us = self._booted_us + self.monotonic_us() - self._begin_us
        return EPOCH_MS + (passed_us + self._wall_error_us) // US_PER_MS

    def step_wall(self, delta_ms: int) -> None:
        """Set the wall clock forward or back; no time passes."""
        self._wall_error_us += delta_ms * US_PER_MS

    def correct_wall(self) -> None:
        """Set the wall clock right."""
        self._wall_error_us = self._world.now_us - (
            self._booted_us + self.monotonic_us() - self._begin_us
        )

    def world_us(self, monotonic_s: float) -> int:
        """The earliest time in the world at which this clock shows ``monotonic_s`` or more."""
        wanted_us = -int(-monotonic_s * US_PER_S // 1)
        passed_us = -(-(wanted_us - self._begin_us) * _MILLION // self._rate)
        return self._booted_us + passed_us
