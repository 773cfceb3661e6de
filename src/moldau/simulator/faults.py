"""What goes wrong in a simulation: each fault has a beginning, and is over after some time.

A seed draws which kinds of faults it has at all, and how many (a swarm: most bugs need few kinds of
faults, but those often). A fault carries everything that it needs, and throws no dice when it
happens; so a failing simulation can be run again without some of its faults.
"""

import errno
import random
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from moldau.ids import METADATA_TOPIC
from moldau.simulator.cluster import DATA_DIR, SECOND_DIR, Cluster, Topology
from moldau.simulator.machine import Machine
from moldau.simulator.world import US_PER_MS

# A topic that is written once, before anything goes wrong.
ARCHIVE: Final = "archive"
ROT: Final = "bit rot"
# A node that clients reach, and other nodes do not: it leads on without knowing better.
SEPARATION: Final = "separation"
# The second log directory fails, and comes back with a restart: as it was, or empty.
FAILED_DIRECTORY: Final = "failed directory"
REPLACED_DIRECTORY: Final = "replaced directory"
_FAILING: Final = ("append", "fsync")
_ALWAYS: Final = 1 << 30
# The base offset and the length of a batch, and where its checksum is.
_BATCH_OVERHEAD: Final = 12
_CHECKSUM_AT: Final = 17
_LARGE_PRIME: Final = 7_919
# A clean stop takes less, and the next start comes later.
_STOPPED_US: Final = 1_500 * US_PER_MS
_SHORT_MS: Final = (50, 1_000)
_LONG_MS: Final = (1_000, 15_000)


class Fault(NamedTuple):
    """Something that goes wrong at ``at_ms``, and is put right after ``for_ms``."""

    at_ms: int
    for_ms: int
    kind: str
    node: str
    peer: str = ""
    size: int = 0

    def __str__(self) -> str:
        peer = f" and {self.peer}" if self.peer else ""
        size = f", {self.size}" if self.size else ""
        return f"{self.kind} of {self.node}{peer} for {self.for_ms} ms{size}"


# --- processes and machines ---


def _kill(cluster: Cluster, fault: Fault) -> None:
    machine = cluster.machine(fault.node)
    machine.kill()
    _later(cluster, fault, machine.start)


def _stop(cluster: Cluster, fault: Fault) -> None:
    # A process that ends is started again by itself.
    cluster.machine(fault.node).stop()


def _pause(cluster: Cluster, fault: Fault) -> None:
    machine = cluster.machine(fault.node)
    machine.pause()
    _later(cluster, fault, machine.resume)


def _cut_power(cluster: Cluster, fault: Fault) -> None:
    machine = cluster.machine(fault.node)
    machine.cut_power()
    _later(cluster, fault, lambda: _power_up(machine))


def _cut_power_while_writing(cluster: Cluster, fault: Fault) -> None:
    machine = cluster.machine(fault.node)
    machine.cut_power_after(fault.size)
    _later(cluster, fault, lambda: _power_up(machine))


def _power_up(machine: Machine) -> None:
    machine.disk.heal()
    machine.return_power()
    machine.start()


def _step_wall(cluster: Cluster, fault: Fault) -> None:
    clock = cluster.machine(fault.node).clock
    cluster.world.tell(fault.node, f"has its clock set by {fault.size / 1000:+g} s")
    clock.step_wall(fault.size)
    _later(cluster, fault, clock.correct_wall)


# --- disks ---


def _slow_disk(cluster: Cluster, fault: Fault) -> None:
    machine = cluster.machine(fault.node)
    process = machine.process
    if process is not None:
        cluster.world.tell(fault.node, f"has a disk {fault.size} times slower")
        process.executor.slowness = fault.size
        _later(cluster, fault, lambda: setattr(process.executor, "slowness", 1))


def _full_disk(cluster: Cluster, fault: Fault) -> None:
    disk = cluster.machine(fault.node).disk
    disk.capacity = disk.used_bytes() + fault.size
    cluster.world.tell(fault.node, f"has {fault.size} bytes of disk left")
    _later(cluster, fault, lambda: setattr(disk, "capacity", None))


def _disk_error(cluster: Cluster, fault: Fault) -> None:
    disk = cluster.machine(fault.node).disk
    cluster.world.tell(fault.node, f"cannot {fault.peer} on its disk, {fault.size} times")
    disk.fail_next(fault.peer, f"{DATA_DIR}/*", errno.EIO, fault.size)
    _later(cluster, fault, disk.heal_failures)


def _fail_directory(cluster: Cluster, fault: Fault) -> None:
    machine = cluster.machine(fault.node)
    cluster.world.tell(fault.node, f"{SECOND_DIR} fails")
    for operation in _FAILING:
        machine.disk.fail_next(operation, f"{SECOND_DIR}/*", errno.EIO, _ALWAYS)
    _later(cluster, fault, lambda: _restart(cluster, machine, fault))


def _restart(cluster: Cluster, machine: Machine, fault: Fault) -> None:
    machine.disk.heal_failures()
    machine.kill()
    if fault.kind == REPLACED_DIRECTORY:
        cluster.replace_directory(machine, SECOND_DIR)
    machine.start()


def _wipe(cluster: Cluster, fault: Fault) -> None:
    machine = cluster.machine(fault.node)
    machine.cut_power()
    cluster.replace_disk(machine)
    _later(cluster, fault, lambda: _power_up(machine))


def _rot(cluster: Cluster, fault: Fault) -> None:
    """Change one bit on the disk, while the node is down: after a crash, or a clean stop."""
    machine = cluster.machine(fault.node)
    if fault.size % 2:
        machine.stop()
        cluster.world.after(_STOPPED_US, _flip, cluster, machine, fault)
    else:
        _flip(cluster, machine, fault)


def _checked_position(data: bytes, position: int) -> int:
    """``position``, or that of the checksum if its batch does not cover it.

    Base offset and leader epoch are written by the broker, in front of what the producer has
    summed: in Kafka's format nothing tells if they rot.
    """
    start = 0
    while start + _BATCH_OVERHEAD <= len(data):
        end = start + _BATCH_OVERHEAD + int.from_bytes(data[start + 8 : start + 12])
        if position < end:
            is_checked = 8 <= position - start < 12 or position - start >= 16
            return position if is_checked or end > len(data) else start + _CHECKSUM_AT
        start = end
    return position


def _flip(cluster: Cluster, machine: Machine, fault: Fault) -> None:
    machine.kill()
    disk = machine.disk
    files = [
        each
        for directory in _rotting_directories(cluster, machine)
        for each in disk.files(directory)
        if each.endswith((".log", ".checkpoint")) and disk.size(each)
    ]
    if files:
        path = files[fault.size % len(files)]
        data = disk.read_bytes(path)
        position = _checked_position(data, fault.size * _LARGE_PRIME % len(data))
        bit = 1 << fault.size % 8
        disk.damage(path, position, bytes([data[position] ^ bit]))
        machine.is_damaged = True
        cluster.world.tell(fault.node, f"bit {bit} of byte {position} of {path} is flipped")
    _later(cluster, fault, machine.start)


def _rotting_directories(cluster: Cluster, machine: Machine) -> list[str]:
    """Where damage is allowed: a single copy cannot be repaired, and the vote of a node that has
    lost what it had counts as if it had never had it.
    """
    names = machine.disk.list_dir(DATA_DIR)
    chosen = [each for each in names if each.startswith(f"{ARCHIVE}-")]
    if _has_copies_only(cluster, machine):
        chosen += [each for each in names if each.startswith(METADATA_TOPIC)]
    return [f"{DATA_DIR}/{each}" for each in chosen]


def _has_copies_only(cluster: Cluster, machine: Machine) -> bool:
    """Whether a node has copies only, and no vote."""
    return machine.config.node_id in cluster.topology.late and not machine.config.is_controller


# --- the network ---


def _cut(cluster: Cluster, fault: Fault) -> None:
    _cut_ways(cluster, fault, [(fault.node, fault.peer), (fault.peer, fault.node)])


def _cut_one_way(cluster: Cluster, fault: Fault) -> None:
    _cut_ways(cluster, fault, [(fault.node, fault.peer)])


def _isolate(cluster: Cluster, fault: Fault) -> None:
    others = [each for each in cluster.network.host_names if each != fault.node]
    ways = [way for other in others for way in ((fault.node, other), (other, fault.node))]
    _cut_ways(cluster, fault, ways)


def _separate(cluster: Cluster, fault: Fault) -> None:
    others = [each for each in cluster.topology.names if each != fault.node]
    ways = [way for other in others for way in ((fault.node, other), (other, fault.node))]
    _cut_ways(cluster, fault, ways)


def _cut_ways(cluster: Cluster, fault: Fault, ways: Sequence[tuple[str, str]]) -> None:
    network = cluster.network
    cluster.world.tell(fault.node, f"{fault.kind} {fault.peer}".strip())
    for source, target in ways:
        network.cut(source, target)

    def mend() -> None:
        cluster.world.tell(fault.node, f"end of {fault.kind} {fault.peer}".strip())
        for source, target in ways:
            network.mend(source, target)

    _later(cluster, fault, mend)


def _reset(cluster: Cluster, fault: Fault) -> None:
    count = cluster.network.reset_all(fault.node, fault.peer)
    cluster.world.tell(fault.node, f"loses {count} connections with {fault.peer}")


def _slow_link(cluster: Cluster, fault: Fault) -> None:
    links = [
        cluster.network.link(*way) for way in ((fault.node, fault.peer), (fault.peer, fault.node))
    ]
    cluster.world.tell(fault.node, f"has a way to {fault.peer} {fault.size} times slower")
    for link in links:
        link.slowness *= fault.size

    def mend() -> None:
        for link in links:
            link.slowness //= fault.size

    _later(cluster, fault, mend)


def _later(cluster: Cluster, fault: Fault, call: Callable[[], object]) -> None:
    cluster.world.after(fault.for_ms * US_PER_MS, call)


class Kind(NamedTuple):
    """A row of the table below; ``only_late`` for what only late nodes survive.

    ``only_operated`` is for nodes with two log directories.
    What ``is_asked_for`` is drawn by its name only.
    """

    begin: Callable[[Cluster, Fault], None]
    duration_ms: tuple[int, int]
    sizes: Sequence[int] = (0,)
    with_peer: bool = False
    operations: Sequence[str] = ()
    only_late: bool = False
    only_operated: bool = False
    is_asked_for: bool = False


KINDS: Final = {
    "kill": Kind(_kill, _SHORT_MS),
    "absence": Kind(_kill, (17_000, 25_000)),
    "stop": Kind(_stop, _SHORT_MS),
    "pause": Kind(_pause, _LONG_MS),
    "power cut": Kind(_cut_power, _SHORT_MS),
    "power cut while writing": Kind(_cut_power_while_writing, _LONG_MS, range(200)),
    "clock step": Kind(_step_wall, _LONG_MS, (-1_800_000, -60_000, 60_000, 1_800_000)),
    "slow disk": Kind(_slow_disk, _LONG_MS, (10, 100)),
    "full disk": Kind(_full_disk, _LONG_MS, (0, 100, 5_000)),
    "disk error": Kind(
        _disk_error, _SHORT_MS, (1, 3), operations=("fsync", "append", "write_atomically")
    ),
    FAILED_DIRECTORY: Kind(_fail_directory, _LONG_MS, only_operated=True),
    REPLACED_DIRECTORY: Kind(_fail_directory, _LONG_MS, only_operated=True, is_asked_for=True),
    "wipe": Kind(_wipe, _SHORT_MS, only_late=True),
    ROT: Kind(_rot, _SHORT_MS, range(100_000)),
    "cut": Kind(_cut, _LONG_MS, with_peer=True),
    "one-way cut": Kind(_cut_one_way, _LONG_MS, with_peer=True),
    "isolation": Kind(_isolate, _LONG_MS),
    "reset": Kind(_reset, _SHORT_MS, with_peer=True),
    SEPARATION: Kind(_separate, _LONG_MS, is_asked_for=True),
    "slow link": Kind(_slow_link, _LONG_MS, (10, 100), with_peer=True),
}
POWER_FAULTS: Final = ("power cut", "power cut while writing")
# After these, a broker cannot show that it has all of its records, whether it has or not.
UNCLEAN_FAULTS: Final = (
    *POWER_FAULTS,
    ROT,
    "disk error",
    "full disk",
    FAILED_DIRECTORY,
    REPLACED_DIRECTORY,
)


def draw(
    rng: random.Random, topology: Topology, peers: Sequence[str], length_ms: int
) -> list[Fault]:
    """The faults of one simulation, in the order of their times."""
    possible = [
        name
        for name, kind in KINDS.items()
        if (topology.late or not kind.only_late)
        and (topology.is_operated or not kind.only_operated)
        and not kind.is_asked_for
    ]
    chosen = [name for name in possible if rng.random() < 0.35]
    if not chosen:
        chosen = [rng.choice(possible)]
    faults: list[Fault] = []
    for name in chosen:
        nodes = topology.late_names if KINDS[name].only_late else topology.names
        count = rng.randint(1, 4)
        faults += [draw_one(rng, name, nodes, peers, length_ms) for _ in range(count)]
    return sorted(faults)


def replace_a_directory(
    rng: random.Random, topology: Topology, drawn: Sequence[Fault], length_ms: int
) -> list[Fault]:
    """Faults in which a node loses a log directory, and all others have what they had."""
    replaced = draw_one(rng, REPLACED_DIRECTORY, topology.names, (), length_ms)
    survived = [
        each for each in drawn if each.kind not in UNCLEAN_FAULTS or each.node == replaced.node
    ]
    return sorted([*survived, replaced])


def draw_one(
    rng: random.Random, name: str, nodes: Sequence[str], peers: Sequence[str], length_ms: int
) -> Fault:
    """A fault of the kind with this name."""
    kind = KINDS[name]
    node = rng.choice(nodes)
    peer = ""
    if kind.with_peer:
        peer = rng.choice([each for each in (*nodes, *peers) if each != node])
        if rng.random() < 0.5:
            node, peer = peer, node
    if kind.operations:
        peer = rng.choice(kind.operations)
    return Fault(
        at_ms=rng.randint(0, length_ms),
        for_ms=rng.randint(*kind.duration_ms),
        kind=name,
        node=node,
        peer=peer,
        size=rng.choice(kind.sizes),
    )


def begin(cluster: Cluster, fault: Fault) -> None:
    """Let a fault happen now."""
    KINDS[fault.kind].begin(cluster, fault)
