"""Leader and ISR changes after a broker, or one of its disks, becomes available or fails.

For every affected partition, the next state is computed (``partition_change``) with the facts
of the cluster: which replicas may lead, how many must be in sync, and whether unclean leader
election is allowed.

A replica may lead if its broker is active and the log directory that holds it is online.
"""

from collections.abc import Callable, Iterable

from moldau.controller.outcome import Steps
from moldau.controller.partition_change import ONLINE, UNCLEAN, PartitionChange, without
from moldau.controller.partition_index import PartitionKey
from moldau.controller.state import ControllerState
from moldau.metadata.image import TopicImage
from moldau.metadata.registrations import NO_LEADER, PartitionRegistration
from moldau.protocol.message import Message


def broker_removed(
    state: ControllerState, broker_id: int, in_directory: bytes | None = None
) -> Steps[list[Message]]:
    """Remove a broker from every ISR, and elect other leaders.

    ``in_directory`` limits this to the replicas in one of the broker's directories.
    """
    keys: Iterable[PartitionKey] = state.index.in_isr(broker_id)
    if in_directory is not None:
        keys = (key for key in keys if _directory(state, key, broker_id) == in_directory)
    return _changes(state, keys, to_remove=broker_id)


def broker_added(state: ControllerState, broker_id: int) -> Steps[list[Message]]:
    """Let a broker lead the partitions without a leader that it may lead."""
    return _changes(state, state.index.leaderless, to_add=broker_id)


def broker_lost_records(state: ControllerState, broker_id: int) -> Steps[list[Message]]:
    """Remove a broker that stopped uncleanly from every ISR and ELR (KIP-966)."""
    in_isr = state.index.in_isr(broker_id)
    records = yield from _changes(state, in_isr, unclean=broker_id)
    only_in_elr = (key for key in state.index.in_elr(broker_id) if key not in in_isr)
    records += yield from _changes(state, only_in_elr, unclean=broker_id)
    return records


def _directory(state: ControllerState, key: PartitionKey, broker_id: int) -> bytes:
    topic_id, partition = key
    return state.image.topics_by_id[topic_id].partitions[partition].directory_of(broker_id)


def _changes(
    state: ControllerState,
    keys: Iterable[PartitionKey],
    *,
    to_remove: int = NO_LEADER,
    to_add: int = NO_LEADER,
    unclean: int = NO_LEADER,
) -> Steps[list[Message]]:
    """The changes to these partitions when a broker is removed, added or lost records."""

    def may_lead(replica: int) -> bool:
        if replica in (to_remove, unclean):
            return False
        # It is still fenced in the image while the records that unfence it are created.
        return replica == to_add or state.is_active(replica)

    records: list[Message] = []
    topics = state.image.topics_by_id
    known_id = b""
    for topic_id, partition in keys:
        if topic_id != known_id:
            # The partitions of a topic are usually next to each other.
            known_id = topic_id
            topic = topics[topic_id]
            is_unclean_enabled = is_unclean_election_enabled(state, topic.name)
            min_isr = min_insync_replicas(state, topic.name)
        registration = topic.partitions[partition]
        change = partition_change(state, topic, partition, registration, may_lead, min_isr)
        if is_unclean_enabled:
            change.election = UNCLEAN
        if unclean != NO_LEADER:
            change.unclean_shutdown = (unclean,)
        change.isr = without(registration.isr, to_remove, unclean)
        record = change.build()
        if record is not None:
            records.append(record)
        yield
    return records


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
