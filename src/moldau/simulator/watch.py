"""An observer outside of the world, who sees all nodes at once and compares them.

Rules that it watches, from beginning to end:

* An epoch of the quorum has one leader.
* Elections find a leader soon: hardly an epoch is without one. Who leads an old epoch finds out.
* What one node has committed is what every node commits at that offset, also after a restart.
* The high watermark of a process does not fall.
* A broker whose session has expired is fenced by a controller that has been active long enough,
  and has room on its disk to say so.
* Nobody is taken for dead who is not.
"""

from typing import Final

from moldau.broker.node import Node
from moldau.simulator.cluster import BROKER_SESSION_MS, Cluster
from moldau.simulator.machine import Machine
from moldau.simulator.world import US_PER_MS, World

_INTERVAL_US: Final = 100 * US_PER_MS
# Split votes leave an epoch without a leader, but hardly several in a row.
_MOST_WITHOUT_LEADER: Final = 6
# Check-quorum takes one and a half fetch timeouts, which are 2 s.
_RESIGNED_AFTER_US: Final = 6_000 * US_PER_MS
# A new controller gives every broker a whole session, and may look late.
_FENCED_AFTER_US: Final = (2 * BROKER_SESSION_MS + 4_000) * US_PER_MS


class Watch:
    """Looks at the nodes at short intervals."""

    def __init__(self, world: World, cluster: Cluster) -> None:
        self._world = world
        self._cluster = cluster
        # Who led the quorum, by epoch.
        self._leaders: dict[int, int] = {}
        self._latest = -1
        self._latest_us = 0
        # Since when each process is not paused.
        self._awake_us: dict[tuple[str, int], int] = {}
        # The epoch and checksum of each committed batch, by its offset.
        self._batches: dict[int, tuple[int, int]] = {}
        # How far each process has committed, and how far that has been compared.
        self._committed: dict[tuple[str, int], int] = {}
        self._compared: dict[tuple[str, int], int] = {}
        # Since when each machine has no process, and each controller is active.
        self._down_us: dict[str, int] = {}
        self._active_us: dict[tuple[str, int], int] = {}
        world.after(_INTERVAL_US, self._look)

    def _look(self) -> None:
        for machine in self._cluster.machines:
            # A process that starts may have registered already.
            if machine.process is None:
                self._down_us.setdefault(machine.name, self._world.now_us)
            else:
                self._down_us.pop(machine.name, None)
            node = machine.node
            if node is None:
                continue
            if machine.is_paused:
                self._awake_us.pop((machine.name, machine.runs), None)
            else:
                self._see_leader(machine, node)
                self._see_commits(machine, node)
        for machine in self._cluster.machines:
            if machine.node is not None and not machine.is_paused:
                self._see_fences(machine, machine.node)
            if machine.node is not None:
                self._see_deaths(machine, machine.node)
        self._world.after(_INTERVAL_US, self._look)

    def _see_leader(self, machine: Machine, node: Node) -> None:
        quorum = node.metadata.raft.quorum
        if quorum.leader_id < 0:
            return
        epoch, leader_id = quorum.leader_epoch, quorum.leader_id
        known = self._leaders.setdefault(epoch, leader_id)
        if known != leader_id:
            self._world.surprise(machine.name, f"{known} and {leader_id} both lead epoch {epoch}")
        if epoch > self._latest:
            # A lone node begins an epoch with every start, also with one that a fault ends early.
            is_lone = len(self._cluster.machines) == 1
            if not is_lone and epoch - self._latest > _MOST_WITHOUT_LEADER and self._latest > 0:
                self._world.surprise(
                    machine.name, f"nobody led the epochs from {self._latest + 1} to {epoch - 1}"
                )
            self._latest = epoch
            self._latest_us = self._world.now_us
            self._world.tell(f"node-{leader_id}", f"leads the quorum in epoch {epoch}")
        awake_us = self._awake_us.setdefault((machine.name, machine.runs), self._world.now_us)
        late_us = self._world.now_us - max(self._latest_us, awake_us)
        is_old = node.metadata.raft.is_leader and epoch < self._latest
        if is_old and late_us > _RESIGNED_AFTER_US:
            self._world.surprise(
                machine.name, f"still leads epoch {epoch}, though {self._latest} has begun"
            )

    def _see_commits(self, machine: Machine, node: Node) -> None:
        key = (machine.name, machine.runs)
        end_offset = node.metadata.raft.high_watermark
        if end_offset < self._committed.get(key, -1):
            self._world.surprise(
                machine.name,
                f"its high watermark falls from {self._committed[key]} to {end_offset}",
            )
        self._committed[key] = end_offset
        store = node.metadata.raft.store
        start = max(self._compared.get(key, 0), store.log.log_start_offset)
        if start >= end_offset:
            return
        for batch, _ in store.batches(start, end_offset):
            if batch.base_offset >= start:
                self._compare(machine, batch.base_offset, batch.partition_leader_epoch, batch.crc)
        self._compared[key] = end_offset

    def _compare(self, machine: Machine, offset: int, epoch: int, crc: int) -> None:
        known = self._batches.setdefault(offset, (epoch, crc))
        if known != (epoch, crc):
            self._world.surprise(
                machine.name,
                f"has a batch of epoch {epoch} at offset {offset}, where one of epoch {known[0]} "
                "is committed",
            )

    def _see_fences(self, machine: Machine, node: Node) -> None:
        """The active controller fences who has been silent for too long."""
        epoch = node.metadata.raft.leader_epoch
        key = (machine.name, epoch)
        is_full = machine.disk.capacity is not None
        if not node.metadata.runtime.is_active or is_full:
            self._active_us.pop(key, None)
            return
        active_us = self._active_us.setdefault(key, self._world.now_us)
        for broker_id, broker in node.metadata.image.brokers.items():
            name = f"node-{broker_id}"
            down_us = self._down_us.get(name)
            if down_us is None:
                continue
            if broker.fenced:
                # A heartbeat that was under way for long may unfence it for another session.
                self._down_us[name] = self._world.now_us
                continue
            silent_us = self._world.now_us - max(down_us, active_us)
            if silent_us > _FENCED_AFTER_US:
                silent_ms = silent_us // US_PER_MS
                self._world.surprise(
                    machine.name, f"has not fenced node-{broker_id}, down for {silent_ms} ms"
                )

    def _see_deaths(self, machine: Machine, node: Node) -> None:
        """An incarnation of a broker that was found dead does not serve any more."""
        for broker_id, epoch in node.metadata.detection.dead.items():
            living = self._cluster.machine(f"node-{broker_id}").node
            if living is not None and living.metadata.lifecycle.broker_epoch == epoch:
                self._world.surprise(machine.name, f"takes node-{broker_id} for dead")
