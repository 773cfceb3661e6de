"""Leader and ISR changes after a broker, or one of its disks, becomes available or fails.

For every affected partition, the next state is computed (``partition_change``) with the facts
of the cluster: which replicas may lead, how many must be in sync, and whether unclean leader
election is allowed.

A replica may lead if its broker is active and the log directory that holds it is online.
"""

from collections.abc import Callable, Iterator

from moldau.controller.partition_change import ONLINE, UNCLEAN, PartitionChange, without
from moldau.controller.state import ControllerState
from moldau.metadata.image import TopicImage
from moldau.metadata.registrations import NO_LEADER, PartitionRegistration
from moldau.protocol.records.metadata import PartitionChangeRecord


def leader_and_isr_changes(
    state: ControllerState,
    *,
    to_remove: int = NO_LEADER,
    to_add: int = NO_LEADER,
    unclean: int = NO_LEADER,
    in_directory: bytes | None = None,
) -> Iterator[PartitionChangeRecord]:
    """Changes for every partition that is affected by adding or removing a broker.

    ``in_directory`` limits a removal to the replicas in one of the broker's directories.
    """

    def may_lead(replica: int) -> bool:
        if replica in (to_remove, unclean):
            return False
        # It is still fenced in the image while the records that unfence it are created.
        return replica == to_add or state.is_active(replica)

    for topic in state.image.topics_by_id.values():
        is_unclean_enabled: bool | None = None
        for partition, registration in topic.partitions.items():
            if in_directory is not None:
                is_touched = registration.directory_of(to_remove) == in_directory
            else:
                is_touched = _is_touched(registration, to_remove, to_add, unclean)
            if not is_touched:
                continue
            if is_unclean_enabled is None:
                is_unclean_enabled = is_unclean_election_enabled(state, topic.name)
                min_isr = min_insync_replicas(state, topic.name)
            change = partition_change(state, topic, partition, registration, may_lead, min_isr)
            if is_unclean_enabled:
                change.election = UNCLEAN
            if unclean != NO_LEADER:
                change.unclean_shutdown = (unclean,)
            change.isr = without(registration.isr, to_remove, unclean)
            record = change.build()
            if record is not None:
                yield record


def _is_touched(
    registration: PartitionRegistration, to_remove: int, to_add: int, unclean: int
) -> bool:
    if to_add != NO_LEADER:
        return registration.leader == NO_LEADER
    if to_remove != NO_LEADER:
        return to_remove in registration.isr
    return unclean in registration.isr or unclean in registration.elr


def partition_change(
    state: ControllerState,
    topic: TopicImage,
    partition: int,
    registration: PartitionRegistration,
    may_lead: Callable[[int], bool] | None = None,
    min_isr: int | None = None,
) -> PartitionChange:
    """A change of one partition, with the settings of the cluster applied."""
    if min_isr is None:
        min_isr = min_insync_replicas(state, topic.name)
    is_active = state.is_active if may_lead is None else may_lead

    def is_acceptable_leader(replica: int) -> bool:
        # The directories of the change, not of the registration: the replica may have just
        # been assigned to a disk that replaces a failed one.
        return is_active(replica) and _is_online(state, replica, change.directories)

    change = PartitionChange(
        registration,
        topic.id,
        partition,
        is_acceptable_leader,
        metadata_version=state.image.metadata_version,
        # A minimum above the number of replicas could never be reached.
        min_isr=min(min_isr, len(registration.replicas)),
        is_elr_enabled=state.image.is_elr_enabled,
        election=ONLINE,
    )
    return change


def _is_online(state: ControllerState, replica: int, directories: dict[int, bytes]) -> bool:
    broker = state.image.brokers.get(replica)
    directory_id = directories.get(replica)
    return broker is not None and (directory_id is None or broker.has_online_dir(directory_id))


def min_insync_replicas(state: ControllerState, topic: str) -> int:
    name = "min.insync.replicas"
    return int(state.topic_setting(topic, name, name) or 1)


def is_unclean_election_enabled(state: ControllerState, topic: str) -> bool:
    name = "unclean.leader.election.enable"
    return state.topic_setting(topic, name, name) == "true"
