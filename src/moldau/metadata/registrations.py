"""The registered state of partitions, brokers and controllers.

These are immutable values: a change creates a new one. Replica lists are tuples, because many
partitions share the same few.
"""

from collections.abc import Mapping
from copy import copy
from typing import Final, NamedTuple

from moldau.ids import NO_UUID
from moldau.metadata.features import VersionRange
from moldau.metadata.introduction import (
    Endpoint,
    endpoint_fields,
    endpoints_of,
    feature_fields,
    features_of,
)
from moldau.protocol.records.metadata import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2

RECOVERED: Final = 0
RECOVERING: Final = 1
NO_RECOVERY_CHANGE: Final = -1

# Kafka's reserved directory ids, used when no directory is named.
MIGRATING_DIRECTORY: Final = NO_UUID
UNASSIGNED_DIRECTORY: Final = bytes(15) + b"\x01"
LOST_DIRECTORY: Final = bytes(15) + b"\x02"


def is_reserved_directory(directory_id: bytes) -> bool:
    """Whether the id is one of the first hundred, which never name a real directory."""
    return directory_id[:15] == bytes(15) and directory_id[15] < 100


class PartitionRegistration:
    """Replicas, leader and epochs of one partition."""

    __slots__ = (
        "adding_replicas",
        "directories",
        "elr",
        "isr",
        "last_known_elr",
        "leader",
        "leader_epoch",
        "leader_recovery_state",
        "partition_epoch",
        "removing_replicas",
        "replicas",
    )

    def __init__(
        self,
        replicas: tuple[int, ...],
        directories: tuple[bytes, ...],
        isr: tuple[int, ...],
        leader: int,
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        removing_replicas: tuple[int, ...] = (),
        adding_replicas: tuple[int, ...] = (),
        leader_recovery_state: int = RECOVERED,
        elr: tuple[int, ...] = (),
        last_known_elr: tuple[int, ...] = (),
    ) -> None:
        self.replicas = replicas
        self.directories = directories
        self.isr = replicas if isr == replicas else isr
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.elr = elr
        self.last_known_elr = last_known_elr

    @staticmethod
    def from_record(record: PartitionRecord) -> "PartitionRegistration":
        replicas = tuple(record.replicas)
        directories = tuple(record.directories)
        if not directories:
            directories = (MIGRATING_DIRECTORY,) * len(replicas)
        elr = record.eligible_leader_replicas
        last_known_elr = record.last_known_elr
        return PartitionRegistration(
            replicas,
            directories,
            tuple(record.isr),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            tuple(record.removing_replicas),
            tuple(record.adding_replicas),
            record.leader_recovery_state,
            () if elr is None else tuple(elr),
            () if last_known_elr is None else tuple(last_known_elr),
        )

    def merge(self, record: PartitionChangeRecord) -> "PartitionRegistration":
        """This partition after the change; naming a leader, even the same, starts an epoch."""
        replicas = self.replicas if record.replicas is None else tuple(record.replicas)
        directories = self.directories
        if record.directories is not None:
            directories = tuple(record.directories)
        if len(directories) != len(replicas):
            directories = (MIGRATING_DIRECTORY,) * len(replicas)
        leader = self.leader
        leader_epoch = self.leader_epoch
        if record.leader != NO_LEADER_CHANGE:
            leader = record.leader
            leader_epoch += 1
        recovery = record.leader_recovery_state
        removing = record.removing_replicas
        adding = record.adding_replicas
        elr = record.eligible_leader_replicas
        last_known_elr = record.last_known_elr
        return PartitionRegistration(
            replicas,
            directories,
            self.isr if record.isr is None else tuple(record.isr),
            leader,
            leader_epoch,
            self.partition_epoch + 1,
            self.removing_replicas if removing is None else tuple(removing),
            self.adding_replicas if adding is None else tuple(adding),
            self.leader_recovery_state if recovery == NO_RECOVERY_CHANGE else recovery,
            self.elr if elr is None else tuple(elr),
            self.last_known_elr if last_known_elr is None else tuple(last_known_elr),
        )

    def with_isr(self, isr: tuple[int, ...], partition_epoch: int) -> "PartitionRegistration":
        """This partition with another ISR, as the controller answers a leader."""
        changed = copy(self)
        changed.isr = isr
        changed.partition_epoch = partition_epoch
        return changed

    def without_elr(self) -> "PartitionRegistration":
        """This partition after a ClearElrRecord, which increments the partition epoch."""
        change = PartitionChangeRecord(eligible_leader_replicas=[], last_known_elr=[])
        return self.merge(change)

    def to_record(self, topic_id: bytes, partition: int) -> PartitionRecord:
        return PartitionRecord(
            partition_id=partition,
            topic_id=topic_id,
            replicas=list(self.replicas),
            isr=list(self.isr),
            removing_replicas=list(self.removing_replicas),
            adding_replicas=list(self.adding_replicas),
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=list(self.directories),
            # Tagged fields, omitted if empty.
            eligible_leader_replicas=list(self.elr) if self.elr else None,
            last_known_elr=list(self.last_known_elr) if self.last_known_elr else None,
        )

    def directory_of(self, replica: int) -> bytes:
        """The log directory that holds ``replica``, or UNASSIGNED_DIRECTORY."""
        for index, candidate in enumerate(self.replicas):
            if candidate == replica:
                return self.directories[index]
        return UNASSIGNED_DIRECTORY

    @property
    def is_reassigning(self) -> bool:
        return bool(self.removing_replicas or self.adding_replicas)

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    def _key(self) -> tuple[object, ...]:
        return (
            self.replicas,
            self.directories,
            self.isr,
            self.leader,
            self.leader_epoch,
            self.partition_epoch,
            self.removing_replicas,
            self.adding_replicas,
            self.leader_recovery_state,
            self.elr,
            self.last_known_elr,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionRegistration) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"PartitionRegistration(replicas={self.replicas}, isr={self.isr}, "
            f"leader={self.leader}, leader_epoch={self.leader_epoch}, "
            f"partition_epoch={self.partition_epoch}, elr={self.elr}, "
            f"last_known_elr={self.last_known_elr}, adding={self.adding_replicas}, "
            f"removing={self.removing_replicas}, "
            f"recovering={self.leader_recovery_state == RECOVERING})"
        )


class BrokerRegistration(NamedTuple):
    """One incarnation of a broker. ``epoch`` is the offset of its RegisterBrokerRecord."""

    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, VersionRange]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[bytes, ...]
    cordoned_log_dirs: tuple[bytes, ...] | None
    is_migrating_zk_broker: bool = False

    @staticmethod
    def from_record(record: RegisterBrokerRecord) -> "BrokerRegistration":
        cordoned = record.cordoned_log_dirs
        return BrokerRegistration(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=endpoints_of(record.end_points),
            features=features_of(record.features),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            log_dirs=tuple(record.log_dirs),
            cordoned_log_dirs=None if cordoned is None else tuple(cordoned),
            is_migrating_zk_broker=record.is_migrating_zk_broker,
        )

    def merge(self, record: BrokerRegistrationChangeRecord) -> "BrokerRegistration":
        """This broker after the change. A fencing change of 1 fences and -1 unfences."""
        fenced = self.fenced if record.fenced == 0 else record.fenced > 0
        in_controlled_shutdown = self.in_controlled_shutdown or record.in_controlled_shutdown > 0
        log_dirs = tuple(record.log_dirs) if record.log_dirs else self.log_dirs
        cordoned = self.cordoned_log_dirs
        if record.cordoned_log_dirs is not None:
            cordoned = tuple(record.cordoned_log_dirs)
        return self._replace(
            fenced=fenced,
            in_controlled_shutdown=in_controlled_shutdown,
            log_dirs=log_dirs,
            cordoned_log_dirs=cordoned,
        )

    def to_record(self) -> RegisterBrokerRecord:
        cordoned = self.cordoned_log_dirs
        return RegisterBrokerRecord(
            broker_id=self.id,
            is_migrating_zk_broker=self.is_migrating_zk_broker,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=endpoint_fields(BrokerEndpoint, self.endpoints),
            features=feature_fields(BrokerFeature, self.features),
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            log_dirs=list(self.log_dirs),
            cordoned_log_dirs=None if cordoned is None else list(cordoned),
        )

    @property
    def is_active(self) -> bool:
        """Whether it may lead partitions and get new replicas."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def has_uncordoned_dirs(self) -> bool:
        if not self.cordoned_log_dirs:
            return True
        return any(directory not in self.cordoned_log_dirs for directory in self.log_dirs)

    def has_online_dir(self, directory_id: bytes) -> bool:
        """Whether the directory is online. True if no directory is named."""
        if directory_id in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY):
            return True
        if directory_id == LOST_DIRECTORY:
            return False
        # Registered before directories had ids: without a working one it would not be registered.
        return not self.log_dirs or directory_id in self.log_dirs

    def endpoint(self, listener: str) -> Endpoint | None:
        for point in self.endpoints:
            if point.name == listener:
                return point
        return None


class ControllerRegistration(NamedTuple):
    """One incarnation of a controller, as it registered with the quorum."""

    id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, VersionRange]

    @staticmethod
    def from_record(record: RegisterControllerRecord) -> "ControllerRegistration":
        return ControllerRegistration(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            zk_migration_ready=record.zk_migration_ready,
            endpoints=endpoints_of(record.end_points),
            features=features_of(record.features),
        )

    def to_record(self) -> RegisterControllerRecord:
        return RegisterControllerRecord(
            controller_id=self.id,
            incarnation_id=self.incarnation_id,
            zk_migration_ready=self.zk_migration_ready,
            end_points=endpoint_fields(ControllerEndpoint, self.endpoints),
            features=feature_fields(ControllerFeature, self.features),
        )
