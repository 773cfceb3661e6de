"""The partitions on this broker: lookup by name or id, and synchronisation with the metadata.

The image determines which partitions this broker hosts; the log manager has their files.
``apply`` makes the two agree: it creates logs for new partitions, deletes those of deleted
topics, and applies changed settings. Everything else is a lookup.

Creating or deleting a log takes several system calls, and a topic may have thousands of logs; a
change of settings may affect thousands of topics. So only a few are processed at a time, and other
requests are served in between. A new partition whose log does not exist yet is answered with
NOT_LEADER_OR_FOLLOWER, on which clients retry (Produce waits for it for a moment); a deleted one is
unknown immediately. If no disk has
space for a partition, its creation is retried periodically (``host_again``): it is in the metadata,
so it must be created eventually.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.led_partitions import LedPartitions
from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID, TopicPartition
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import BROKER_RESOURCE, MetadataImage, TopicImage
from moldau.metadata.registrations import (
    NO_LEADER,
    UNASSIGNED_DIRECTORY,
    PartitionRegistration,
)
from moldau.storage.log_manager import LogManager

logger = logging.getLogger(__name__)

# A few milliseconds of work: how long a large topic may delay other requests.
HOSTED_PER_TURN: Final = 4
# Creating or deleting a log counts as so many, because of the system calls.
LOG_COUNTS_AS: Final = 4
# Applying settings to the logs of a topic takes much less time.
RECONFIGURED_PER_TURN: Final = 20


class Followers(Protocol):
    """What fetches, for the partitions that this broker follows, from their leaders."""

    def follow(self, partition: Partition) -> None:
        """Fetch from the leader that the partition's registration names.

        Called again whenever the registration changes; the same leader epoch changes nothing.
        """
        ...

    def forget(self, topic_partition: TopicPartition) -> None:
        """Fetch no more, and drop answers on their way; nothing happens if it was not followed."""
        ...


class ReplicaManager:
    """Owns every ``Partition`` of this broker."""

    def __init__(
        self,
        node_id: int,
        logs: LogManager,
        configs: DynamicConfig,
        led: LedPartitions,
        note_directory: Callable[[bytes, int, str], None],
        followers: Followers,
    ) -> None:
        """``note_directory`` is called with the log directory of each hosted partition."""
        self._node_id = node_id
        self._followers = followers
        self._note_directory = note_directory
        self._logs = logs
        self._configs = configs
        self._image: MetadataImage | None = None
        self._topics: dict[str, dict[int, Partition]] = {}
        self._to_host: deque[tuple[bytes, int]] = deque()
        # Deleted, but their logs are not renamed yet.
        self._to_delete: deque[TopicPartition] = deque()
        # Partitions whose logs could not be created.
        self._unhosted: dict[tuple[bytes, int], None] = {}
        # Topics whose new settings are not applied to their logs yet.
        self._to_reconfigure: deque[str] = deque()
        self._is_hosting = False
        self._settling: list[asyncio.Future[None]] = []
        self._names: dict[bytes, str] = {}
        self._led = led

    # --- look-ups, on the hot path

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def partition(self, topic: str, index: int) -> Partition:
        """Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION, or why it is not available here."""
        partitions = self._topics.get(topic)
        if partitions is not None:
            partition = partitions.get(index)
            if partition is not None:
                if partition.log.is_closed:
                    raise self._offline(partition.topic_partition)
                return partition
        raise self._absent(TopicPartition(topic, index))

    def find(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition if it is hosted here, online or not."""
        topic, index = topic_partition
        return self._topics.get(topic, {}).get(index)

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Whether it is on a failed disk of this broker."""
        return self._absent(topic_partition).code == ErrorCode.KAFKA_STORAGE_ERROR

    def assigned_dir(
        self, image: MetadataImage, topic_partition: TopicPartition, topic_id: bytes
    ) -> str | None:
        """The online log directory that the metadata names for a log found on disk."""
        topic = image.topics_by_name.get(topic_partition.topic)
        if topic is None or topic_id not in (NO_UUID, topic.id):
            return None
        registration = topic.partitions.get(topic_partition.partition)
        if registration is None:
            return None
        return self._logs.dirs.path_of(registration.directory_of(self._node_id))

    def hosted(self) -> list[Partition]:
        """Every partition of this broker, by topic and index."""
        return [
            self._topics[topic][index]
            for topic in sorted(self._topics)
            for index in sorted(self._topics[topic])
        ]

    def partitions_of(self, topic: str) -> list[Partition]:
        """The online partitions of one topic on this broker, by index."""
        partitions = self._topics.get(topic, {})
        return [
            partitions[index] for index in sorted(partitions) if not partitions[index].log.is_closed
        ]

    def close_offline(self) -> None:
        """Complete every request that waits for a partition whose log directory has failed."""
        for partition in self.hosted():
            if partition.log.is_closed:
                self._followers.forget(partition.topic_partition)
                partition.close(self._offline(partition.topic_partition))

    def release_waiters(self) -> None:
        """Complete every request that waits for a partition: the broker is stopping."""
        for partitions in self._topics.values():
            for partition in partitions.values():
                partition.release_waiters()

    # --- following the metadata

    def is_stray(
        self, image: MetadataImage, topic_partition: TopicPartition, topic_id: bytes
    ) -> bool:
        """Whether a log found on disk belongs to no replica of this broker."""
        topic = image.topics_by_name.get(topic_partition.topic)
        if topic is None or topic_id not in (NO_UUID, topic.id):
            return True
        registration = topic.partitions.get(topic_partition.partition)
        return registration is None or self._node_id not in registration.replicas

    def start(self, image: MetadataImage) -> None:
        """Host every partition that the image assigns to this broker."""
        self._image = image
        for topic in image.topics_by_name.values():
            self._host_topic(topic)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self._image = image
        for topic_id in delta.deleted_topics:
            self._drop_topic(topic_id)
        for topic_id, partitions in delta.changed_partitions.items():
            topic = image.topics_by_id.get(topic_id)
            if topic is not None:
                self._names[topic_id] = topic.name
                self._to_host.extend((topic_id, index) for index in partitions)
        if delta.changed_configs:
            self._reconfigure(delta)
        if self._is_hosting:
            return
        if len(self._to_host) > HOSTED_PER_TURN:
            # The other listeners also have much to do in this turn of the loop.
            self._is_hosting = True
            asyncio.get_running_loop().call_soon(self._host_some)
        else:
            self._host_some()

    def is_about_to_lead(self, topic: str, index: int) -> bool:
        """Whether this broker leads a partition by the image, which is still being applied."""
        if not self._is_hosting or self._image is None:
            return False
        registration = self._image.partition(topic, index)
        return registration is not None and registration.leader == self._node_id

    async def settled(self) -> None:
        """Return when every partition of the image is hosted."""
        while self._is_hosting:
            turn = asyncio.get_running_loop().create_future()
            self._settling.append(turn)
            await turn

    def _reconfigure(self, delta: MetadataDelta) -> None:
        """Apply the current settings to the logs."""
        changed = delta.changed_configs
        is_everybodys = any(resource.type == BROKER_RESOURCE for resource in changed)
        self._to_reconfigure.extend(
            self._topics if is_everybodys else [resource.name for resource in changed]
        )

    def _reconfigure_topic(self, topic: str) -> None:
        partitions = self._topics.get(topic)
        if partitions:
            config = self._configs.topic(topic)
            for partition in partitions.values():
                partition.log.config = config

    def _host_topic(self, topic: TopicImage) -> None:
        self._names[topic.id] = topic.name
        for index, registration in topic.partitions.items():
            if self._node_id in registration.replicas:
                self._host(TopicPartition(topic.name, index), topic.id, registration)

    def _host_some(self) -> None:
        """Delete, host and reconfigure a few pending ones; the rest in later turns."""
        for _ in range(min(RECONFIGURED_PER_TURN, len(self._to_reconfigure))):
            self._reconfigure_topic(self._to_reconfigure.popleft())
        count = 0
        while count < HOSTED_PER_TURN and (self._to_delete or self._to_host):
            # Deletions first: a new topic may have the name of an old one.
            if self._to_delete:
                self._delete_log(self._to_delete.popleft())
                count += LOG_COUNTS_AS
            else:
                topic_id, index = self._to_host.popleft()
                log_count = len(self._logs.logs)
                try:
                    self._host_next(topic_id, index)
                except Exception:
                    # The others must not wait for it: nobody would go on with them.
                    name = self._names.get(topic_id, topic_id.hex())
                    logger.exception("the metadata of %s-%d could not be applied", name, index)
                count += 1 if len(self._logs.logs) == log_count else LOG_COUNTS_AS
        self._is_hosting = bool(self._to_host or self._to_delete or self._to_reconfigure)
        if self._is_hosting:
            asyncio.get_running_loop().call_soon(self._host_some)
            return
        while self._settling:
            turn = self._settling.pop()
            if not turn.done():
                turn.set_result(None)

    def host_again(self) -> bool:
        """Retry partitions for which there was no space; returns whether there is space now.

        ``settled`` returns when they are hosted.
        """
        if not self._unhosted or self._is_hosting:
            return False
        first, *rest = self._unhosted
        self._host_next(*first)
        if first in self._unhosted:
            return False
        logger.info("there is room again for %d partitions that had none", 1 + len(rest))
        self._to_host.extend(rest)
        self._host_some()
        return True

    def _host_next(self, topic_id: bytes, index: int) -> None:
        assert self._image is not None
        topic = self._image.topics_by_id.get(topic_id)
        registration = topic.partitions.get(index) if topic is not None else None
        if topic is not None and registration and self._node_id in registration.replicas:
            self._host(TopicPartition(topic.name, index), topic_id, registration)
            return
        self._unhosted.pop((topic_id, index), None)
        partition = self._topics.get(topic.name, {}).get(index) if topic is not None else None
        if partition is not None and partition.topic_id == topic_id:
            # It was reassigned to other brokers, which have all of it.
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            message = f"{partition.topic_partition} was moved away from broker {self._node_id}"
            self._drop(partition, ApiError(code, message))

    def _host(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        registration: PartitionRegistration,
    ) -> None:
        is_new = self._is_new(registration)
        partitions = self._topics.setdefault(topic_partition.topic, {})
        partition = partitions.get(topic_partition.partition)
        if partition is not None and partition.topic_id == topic_id:
            partition.update(registration)
            self._follow(partition)
            if topic_partition not in self._logs.future_logs:
                # A replica that was removed and is back at once has kept its log, and nothing else
                # says where it is. The target of a move is recorded before the move.
                log_dir = partition.log.log_dir
                self._note_directory(topic_id, topic_partition.partition, log_dir)
        else:
            config = self._configs.topic(topic_partition.topic)
            try:
                log = self._logs.get_or_create(
                    topic_partition,
                    config,
                    topic_id,
                    is_new=is_new,
                    log_dir=self._logs.dirs.path_of(registration.directory_of(self._node_id)),
                )
            except ApiError as error:
                if (topic_id, topic_partition.partition) not in self._unhosted:
                    self._unhosted[topic_id, topic_partition.partition] = None
                    logger.error("%s is not served here yet: %s", topic_partition, error)
                return
            self._unhosted.pop((topic_id, topic_partition.partition), None)
            partition = Partition(
                topic_partition, topic_id, self._node_id, registration, log, self._led
            )
            partitions[topic_partition.partition] = partition
            self._note_directory(topic_id, topic_partition.partition, log.log_dir)
            self._follow(partition)

    def _is_new(self, registration: PartitionRegistration) -> bool:
        """Whether the log may be created although a failed disk could have it.

        In leader epoch 0 it is new everywhere. Later, a replica that a reassignment adds is in no
        directory yet, or in one that works, and has nothing that could be lost: it is neither in
        sync nor eligible.
        """
        if registration.leader_epoch == 0:
            return True
        directory_id = registration.directory_of(self._node_id)
        is_elsewhere = directory_id != UNASSIGNED_DIRECTORY and (
            self._logs.dirs.path_of(directory_id) is None
        )
        counts = self._node_id in registration.isr or self._node_id in registration.elr
        return not is_elsewhere and not counts

    def _follow(self, partition: Partition) -> None:
        """Fetch from the leader of ``partition``, if that is another broker."""
        has_other_leader = not partition.is_leader and partition.registration.leader != NO_LEADER
        if has_other_leader and not partition.log.is_closed:
            self._followers.follow(partition)
        else:
            self._followers.forget(partition.topic_partition)

    def _drop(self, partition: Partition, error: ApiError) -> None:
        """Host ``partition`` no more; its log is deleted in a later turn."""
        topic, index = partition.topic_partition
        partitions = self._topics[topic]
        del partitions[index]
        if not partitions:
            del self._topics[topic]
        self._followers.forget(partition.topic_partition)
        partition.close(error)
        self._to_delete.append(partition.topic_partition)

    def _drop_topic(self, topic_id: bytes) -> None:
        name = self._names.pop(topic_id, None)
        if name is None:
            return
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for partition in list(self._topics.get(name, {}).values()):
            if partition.topic_id == topic_id:
                self._drop(partition, ApiError(code, f"{partition.topic_partition} was deleted"))

    def _delete_log(self, topic_partition: TopicPartition) -> None:
        try:
            self._logs.delete(topic_partition)
        except ApiError as error:
            logger.error("the log of %s was not deleted: %s", topic_partition, error)

    # --- errors

    def _absent(self, topic_partition: TopicPartition) -> ApiError:
        """The error for a partition that is not available: on another broker, or a failed disk."""
        image = self._image
        topic = image.topics_by_name.get(topic_partition.topic) if image is not None else None
        registration = topic.partitions.get(topic_partition.partition) if topic else None
        if registration is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return ApiError(code, f"this cluster has no partition {topic_partition}")
        if self._node_id not in registration.replicas:
            where = f"not on broker {self._node_id} but on {registration.replicas}"
        elif self._is_hosting:
            where = f"about to be created on broker {self._node_id}"
        else:
            return self._offline(topic_partition)
        return ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic_partition} is {where}")

    def _offline(self, topic_partition: TopicPartition) -> ApiError:
        message = f"the log directory of {topic_partition} on broker {self._node_id} is offline"
        if self._unhosted:
            message += ", or has no room for it"
        return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, message)
