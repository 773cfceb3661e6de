"""A simulated computer, and the node that runs on it.

The disk, the clock and the address of a machine outlive its processes. A process can end in every
way that a real one does: it stops when told to, gives up by itself, is killed, or goes with the
power of its machine. Who runs the machine starts it again, as a service manager does.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from moldau.broker.format import FormatError
from moldau.broker.node import Node
from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.errors import ApiError
from moldau.network.network import ListenError
from moldau.simulator.clock import SimulatedClock
from moldau.simulator.disk import KeepRule, SimulatedDisk
from moldau.simulator.disk_faults import PowerCut
from moldau.simulator.executor import SimulatedExecutor
from moldau.simulator.expected import describe
from moldau.simulator.loop import SimulatedLoop
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.world import US_PER_S, Event, World

# A service manager waits so long before it starts a process again that gave up.
RESTART_US: Final = 2 * US_PER_S
# The processor time of one step of large work, which is done in shares.
_STEP_S: Final = 0.0001
_LONGEST_UPTIME_US: Final = 10_000 * US_PER_S
_REFUSALS: Final = (ApiError, ConfigError, FormatError, ListenError, OSError)


class Process:
    """One run of a node, from its start to its end."""

    def __init__(self, machine: "Machine", number: int) -> None:
        world, name = machine.world, machine.name
        self.is_ready = False
        self.executor = SimulatedExecutor(world, world.random(f"{name}/threads/{number}"))
        self.loop = SimulatedLoop(  # type: ignore[abstract]
            world, machine.clock, name, self.executor
        )
        self._worked_s = 0.0
        self.node = self.loop.run_turn(
            lambda: Node(
                machine.config,
                clock=machine.clock,
                disk=machine.disk,
                rng=world.random(f"{name}/node/{number}"),
                executor=self.executor,
                network=machine.host.network(self.loop),
                stopwatch=self._stopwatch,
            )
        )

    def die(self) -> None:
        self.is_ready = False
        self.loop.die()
        self.executor.die()

    def _stopwatch(self) -> float:
        self._worked_s += _STEP_S
        return self._worked_s


class Machine:
    """A computer that runs one node of a cluster."""

    def __init__(
        self,
        world: World,
        network: SimulatedNetwork,
        name: str,
        config: BrokerConfig,
        drift_ppm: int = 0,
    ) -> None:
        self.world = world
        self.name = name
        self.config = config
        self._rng = world.random(f"{name}/machine")
        self.clock = SimulatedClock(world, begin_us=self._uptime_us(), drift_ppm=drift_ppm)
        self.disk = SimulatedDisk(self._rng.getrandbits(32), self.clock)
        self.host = network.host(name)
        self.process: Process | None = None
        self.runs = 0
        # Whether a process that ends by itself is started again.
        self.is_wanted = True
        # Called with this machine when its node is ready for requests.
        self.on_ready: Callable[[Machine], None] | None = None
        # Some of its data is not what was written. If the node notices when it starts, whoever
        # runs the machine is called, and puts another disk into it.
        self.is_damaged = False
        self.on_damage: Callable[[Machine], None] | None = None
        # The power has just gone, and the current callback does not know it yet.
        self._falling: Event | None = None
        # Their coroutines must not be collected before the end of the world.
        self._dead: list[Process] = []

    @property
    def node(self) -> Node | None:
        """The node, if it is ready."""
        process = self.process
        return process.node if process is not None and process.is_ready else None

    @property
    def is_paused(self) -> bool:
        return self.process is not None and self.process.loop.is_paused

    # --- life ---

    def start(self) -> None:
        """Start a process, unless one is running or the power is off."""
        if self.process is not None or not self.host.is_up:
            return
        self.runs += 1
        process = self.process = Process(self, self.runs)
        self._tell("starts")
        process.loop.run_turn(lambda: process.loop.create_task(self._live(process)))

    async def _live(self, process: Process) -> None:
        node = process.node
        starting = process.loop.create_task(node.start())
        failing = process.loop.create_task(node.failed.wait())
        await asyncio.wait([starting, failing], return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            # As the process of a real node does: what has failed does not wait for others.
            starting.cancel()
            self._tell(f"gives up: {node.failure}")
            self._exit_soon(process)
            return
        failing.cancel()
        try:
            await starting
        except PowerCut:
            return
        except _REFUSALS as error:
            self._tell(f"does not start: {error}")
            self._exit_soon(process)
            return
        except Exception as error:
            if self.is_damaged:
                self._tell(f"does not start: {error}")
            else:
                self.world.surprise(self.name, f"did not start: {describe(error)}")
            self._exit_soon(process, is_refusal=True)
            return
        process.is_ready = True
        self._tell("is ready")
        if self.on_ready is not None:
            self.on_ready(self)
        await node.failed.wait()
        process.is_ready = False
        self._tell(f"gives up: {node.failure}")
        try:
            await node.abandon()
        finally:
            self._exit_soon(process)

    def stop(self) -> None:
        """Ask the process to end, as SIGTERM does."""
        process = self.process
        if process is not None and process.is_ready:
            self._tell("is stopped")
            process.is_ready = False
            process.loop.run_turn(lambda: process.loop.create_task(self._stop(process)))

    async def _stop(self, process: Process) -> None:
        try:
            await process.node.stop()
            self._tell("has stopped")
        except PowerCut:
            return
        except _REFUSALS as error:
            self._tell(f"ends uncleanly: {error}")
        except Exception as error:
            self.world.surprise(self.name, f"did not stop: {describe(error)}")
        self._exit_soon(process)

    def kill(self) -> None:
        """End the process at once; the disk keeps all that it has written."""
        if self._end_process():
            self._tell("is killed")
            self.host.process_died()
            self.disk.kill()

    def cut_power(
        self, *, lose_pages: bool = True, lose_names: bool = True, keep: KeepRule | None = None
    ) -> None:
        """Switch the machine off; the disk keeps what was synced, and some of the rest."""
        if self.host.is_up:
            self._tell("loses its power")
            self._lose_power(lose_pages, lose_names, keep)

    def return_power(self) -> None:
        """Switch the machine on. Its process is started separately."""
        if self._falling is not None:
            self._lose_power(True, True)
        if not self.host.is_up:
            self.host.power_returned()
            self.clock.reboot(self._uptime_us())
            self._tell("has power again")

    def cut_power_after(self, operations: int) -> None:
        """Switch the machine off just before one of the next operations of its disk."""
        self.disk.on_power_cut = self._on_power_cut
        self.disk.cut_power_after(operations)

    def pause(self) -> None:
        """Let the process hang, as SIGSTOP does."""
        if self.process is not None and not self.is_paused:
            self._tell("hangs")
            self.process.loop.pause()
            self.process.executor.pause()

    def resume(self) -> None:
        if self.process is not None and self.is_paused:
            self._tell("goes on")
            self.process.loop.resume()
            self.process.executor.resume()

    def wipe(self) -> None:
        """Replace the disk by an empty one. The process must have ended."""
        assert self.process is None, f"{self.name} is running"
        self._tell("has a new disk")
        self.is_damaged = False
        self.disk = SimulatedDisk(self._rng.getrandbits(32), self.clock, self.disk.capacity)

    def bury(self) -> None:
        """Let go of everything, at the end of the world."""
        self._end_process()
        for process in self._dead:
            process.loop.bury()
        self._dead.clear()

    # --- ends ---

    def _on_power_cut(self) -> None:
        """The disk has reached the operation at which the power goes; we are inside the node."""
        self._tell("loses its power while it writes")
        if self.process is not None:
            self.process.die()
        self.host.power_lost()
        self._falling = self.world.after(0, self._lose_power, True, True)

    def _lose_power(self, lose_pages: bool, lose_names: bool, keep: KeepRule | None = None) -> None:
        if self._falling is not None:
            self._falling.cancel()
            self._falling = None
        self._end_process()
        self.host.power_lost()
        self.disk.on_power_cut = None
        self.disk.crash(keep, lose_pages=lose_pages, lose_names=lose_names)

    def _end_process(self) -> bool:
        process, self.process = self.process, None
        if process is None:
            return False
        process.die()
        self._dead.append(process)
        return True

    def _exit_soon(self, process: Process, *, is_refusal: bool = False) -> None:
        """End a process from within; ``is_refusal`` if its node does not want these data."""
        self.world.after(0, self._exit, process, is_refusal)

    def _exit(self, process: Process, is_refusal: bool) -> None:
        if self.process is process and self._end_process():
            self.host.process_died()
            self.disk.kill()
            if is_refusal and self.is_damaged and self.on_damage is not None:
                self.on_damage(self)
            if self.is_wanted:
                self.world.after(RESTART_US, self.start)

    def _uptime_us(self) -> int:
        return self._rng.randint(0, _LONGEST_UPTIME_US)

    def _tell(self, what: str) -> None:
        self.world.tell(self.name, what)
