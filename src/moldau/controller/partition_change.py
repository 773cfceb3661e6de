"""Computes the next state of a partition: ISR, leader and ELR (KIP-966).

The caller gives the target ISR; this module determines the leader and returns the difference as
a record, or nothing if there is none.

Eligible leader replicas (ELR) are those that left the ISR when it had fallen below
``min.insync.replicas``. Nothing has been acknowledged without them since, so each of them has
every acknowledged record and may lead, even if it lags. The field "last known ELR" holds the
last leader, the best choice if no replica is eligible: electing it is an unclean election, and
the partition is then recovering.
"""

from collections.abc import Callable, Sequence
from typing import Final

from moldau.metadata.features import METADATA_3_6_IV0, METADATA_3_7_IV2
from moldau.metadata.registrations import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    RECOVERING,
    PartitionRegistration,
)
from moldau.protocol.records.metadata import PartitionChangeRecord

ONLINE: Final = "online"
PREFERRED: Final = "preferred"
UNCLEAN: Final = "unclean"


class PartitionChange:
    """A change under construction. Set the targets, then call ``build``."""

    def __init__(
        self,
        partition: PartitionRegistration,
        topic_id: bytes,
        partition_id: int,
        is_acceptable_leader: Callable[[int], bool],
        *,
        metadata_version: int,
        min_isr: int,
        is_elr_enabled: bool,
        election: str = ONLINE,
    ) -> None:
        self._partition = partition
        self._topic_id = topic_id
        self._partition_id = partition_id
        self._is_acceptable_leader = is_acceptable_leader
        self._metadata_version = metadata_version
        self._min_isr = min_isr
        self._is_elr_enabled = is_elr_enabled
        self.election = election
        self.isr: tuple[int, ...] = partition.isr
        self.replicas: tuple[int, ...] = partition.replicas
        self.removing: tuple[int, ...] = partition.removing_replicas
        self.adding: tuple[int, ...] = partition.adding_replicas
        self.directories: dict[int, bytes] = dict(
            zip(partition.replicas, partition.directories, strict=True)
        )
        self.unclean_shutdown: tuple[int, ...] = ()
        self.recovery_state = partition.leader_recovery_state
        self._elr = partition.elr

    def build(self) -> PartitionChangeRecord | None:
        """The record for the change; None if nothing would change."""
        partition = self._partition
        record = PartitionChangeRecord(topic_id=self._topic_id, partition_id=self._partition_id)
        self._complete_reassignment()
        self._find_eligible()
        self._elect(record)
        self._bump_epoch_if_replicas_left(record)
        is_unclean = record.isr is not None
        if is_unclean or not self._is_elr_enabled:
            self._elr = ()
        if self._elr != partition.elr:
            record.eligible_leader_replicas = list(self._elr)
        may_be_empty = self._is_elr_enabled
        if record.isr is None and (self.isr or may_be_empty) and self.isr != partition.isr:
            record.isr = list(self.isr)
        self._bump_epoch_if_isr_shrank(record)
        self._remember_leader(record)
        self._assign(record)
        if self.recovery_state != partition.leader_recovery_state:
            record.leader_recovery_state = self.recovery_state
        return None if _is_empty(record) else record

    def _complete_reassignment(self) -> None:
        """Remove the old replicas once the new ones are in sync (KIP-455)."""
        if not self.removing and not self.adding:
            return
        replicas = without(self.replicas, *self.removing)
        isr = without(self.isr, *self.removing)
        if not replicas or not isr or any(replica not in isr for replica in self.adding):
            return
        # Fewer replicas than before: wait for all of them, or the ISR would shrink needlessly.
        if len(self.adding) < len(self.removing) and any(r not in isr for r in replicas):
            return
        self.replicas, self.isr = replicas, isr
        self.removing = self.adding = ()

    def _find_eligible(self) -> None:
        if not self._is_elr_enabled:
            return
        if len(self.isr) >= self._min_isr:
            self._elr = ()
            return
        candidates = sorted({*self._elr, *self._partition.isr})
        self._elr = tuple(
            replica
            for replica in candidates
            if replica not in self.isr
            and replica not in self.unclean_shutdown
            # Unlike Kafka's: one that a reassignment removed could never be elected, but would
            # prevent the election of the last leader.
            and replica in self.replicas
        )

    def _elect(self, record: PartitionChangeRecord) -> None:
        leader, is_unclean = self._choose_leader()
        if leader == self._partition.leader:
            return
        if leader in self._elr:
            self.isr = (leader,)
            self._elr = tuple(replica for replica in self._elr if replica != leader)
        record.leader = leader
        if is_unclean:
            # Records that only the other replicas have are lost.
            record.isr = [leader]
            if self._partition.leader_recovery_state != RECOVERING:
                record.leader_recovery_state = RECOVERING

    def _choose_leader(self) -> tuple[int, bool]:
        """The next leader, and whether electing it may lose records."""
        current = self._partition.leader
        if self.election == PREFERRED and self._may_lead(self.replicas[0]):
            return self.replicas[0], False
        if self._may_lead(current):
            return current, False
        for replica in self.replicas:
            if self._may_lead(replica):
                return replica, False
        if self._may_elect_last_leader():
            return self._partition.last_known_elr[0], True
        if self.election == UNCLEAN:
            for replica in self.replicas:
                if self._is_acceptable_leader(replica):
                    return replica, True
        return NO_LEADER, False

    def _may_lead(self, replica: int) -> bool:
        is_in_sync = replica in self.isr or (not self.isr and replica in self._elr)
        return is_in_sync and self._is_acceptable_leader(replica)

    def _may_elect_last_leader(self) -> bool:
        last = self._partition.last_known_elr
        nobody_is_eligible = not self.isr and not self._elr
        return (
            self._is_elr_enabled
            and nobody_is_eligible
            and len(last) == 1
            and last[0] in self.replicas
            and self._is_acceptable_leader(last[0])
        )

    def _bump_epoch_if_replicas_left(self, record: PartitionChangeRecord) -> None:
        """Start a new leader epoch, so that a removed replica cannot fetch any more."""
        has_left = any(replica not in self.replicas for replica in self._partition.replicas)
        if record.leader == NO_LEADER_CHANGE and has_left:
            record.leader = self._partition.leader

    def _bump_epoch_if_isr_shrank(self, record: PartitionChangeRecord) -> None:
        """Start a new leader epoch as brokers before 3.6 needed it (KAFKA-15021)."""
        if self._metadata_version >= METADATA_3_6_IV0 or record.isr is None:
            return
        has_shrunk = any(replica not in record.isr for replica in self._partition.isr)
        if record.leader == NO_LEADER_CHANGE and has_shrunk:
            record.leader = self._partition.leader

    def _remember_leader(self, record: PartitionChangeRecord) -> None:
        if not self._is_elr_enabled:
            return
        if record.leader == NO_LEADER and not self._partition.last_known_elr:
            record.last_known_elr = [self._partition.leader]
        elif record.leader >= 0 and self._partition.last_known_elr:
            record.last_known_elr = []

    def _assign(self, record: PartitionChangeRecord) -> None:
        partition = self._partition
        directories = tuple(self.directories[replica] for replica in self.replicas)
        if directories != partition.directories and self._metadata_version >= METADATA_3_7_IV2:
            record.directories = list(directories)
        if self.replicas != partition.replicas:
            record.replicas = list(self.replicas)
        if self.removing != partition.removing_replicas:
            record.removing_replicas = list(self.removing)
        if self.adding != partition.adding_replicas:
            record.adding_replicas = list(self.adding)


def _is_empty(record: PartitionChangeRecord) -> bool:
    return (
        record.isr is None
        and record.leader == NO_LEADER_CHANGE
        and record.replicas is None
        and record.removing_replicas is None
        and record.adding_replicas is None
        and record.leader_recovery_state == -1
        and record.directories is None
        and record.eligible_leader_replicas is None
        and record.last_known_elr is None
    )


def without(replicas: Sequence[int], *removed: int) -> tuple[int, ...]:
    """``replicas`` in order, without those removed."""
    return tuple(replica for replica in replicas if replica not in removed)
