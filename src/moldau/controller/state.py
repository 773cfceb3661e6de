"""The state of the controller: the image after every record it has written.

The controller is ahead of the committed log: a record counts here as soon as it is written, so
that the next request sees it, while clients see it only when it is committed.

What is not in the log, the sessions of brokers, is here as well, and lasts for one term.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.config.describe import ConfigEntry, describe_topic
from moldau.controller.partition_index import PartitionIndex
from moldau.controller.sessions import BrokerSessions
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.features import METADATA_3_7_IV2
from moldau.metadata.image import (
    BROKER_RESOURCE,
    CLUSTER_DEFAULT,
    EMPTY_IMAGE,
    TOPIC_RESOURCE,
    MetadataImage,
    TopicImage,
)
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.registrations import (
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    BrokerRegistration,
    PartitionRegistration,
)
from moldau.protocol.message import Message

# A single request must not fill the log or delay others.
MAX_RECORDS_PER_REQUEST: Final = 10_000
_MAX_DESCRIBED: Final = 100


class ControllerState:
    """The image, the settings of this node, and tables derived from the image."""

    def __init__(
        self,
        node_id: int,
        cluster_id: str,
        config: BrokerConfig,
        rng: random.Random,
        image: MetadataImage = EMPTY_IMAGE,
    ) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.config = config
        self.rng = rng
        self._described: dict[tuple[tuple[str, str], ...], list[ConfigEntry]] = {}
        self._described_on: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
        self.start_from(image)

    # Terms

    def start_from(self, image: MetadataImage, transaction_offset: int = -1) -> None:
        """Start again from ``image``: forget what was decided since, and all sessions."""
        self._loader = MetadataLoader(image, transaction_offset)
        self.index = PartitionIndex(image)
        self.sessions = BrokerSessions(self.config.broker_session_timeout_ms)
        # Not before these offsets has a broker seen its own registration. Where the record itself
        # was not replayed, it is at or before the offset of the image.
        self._registration_offsets = dict.fromkeys(image.brokers, image.offset)
        # "a_b" -> the topics with this name once dots become underscores, as in metric names.
        self.colliding: dict[str, dict[str, None]] = {}
        for name in image.topics_by_name:
            self._note_name(name)

    def begin_term(self, now_ms: int) -> None:
        """Open a session for every broker that is unfenced."""
        timeout_ms = self.config.broker_session_timeout_ms
        self.sessions = BrokerSessions(timeout_ms, now_ms, self.image.brokers, self.image.offset)

    @property
    def image(self) -> MetadataImage:
        return self._loader.image

    @property
    def transaction_offset(self) -> int:
        """The offset at which the open metadata transaction began; -1 if there is none."""
        return self._loader.transaction_offset

    def replay(
        self, base_offset: int, epoch: int, timestamp_ms: int, records: Sequence[Message]
    ) -> tuple[MetadataImage, MetadataDelta]:
        """Apply the records of one batch to the image."""
        self._loader.add_batch(base_offset, epoch, timestamp_ms, records)
        return self.take()

    def adopt(
        self, delta: MetadataDelta, last_offset: int, epoch: int, timestamp_ms: int
    ) -> tuple[MetadataImage, MetadataDelta]:
        """Like ``replay``, for records that were replayed on ``image`` beforehand."""
        self._loader.add_delta(delta, last_offset, epoch, timestamp_ms)
        return self.take()

    def add_batch(
        self, base_offset: int, epoch: int, timestamp_ms: int, records: Sequence[Message]
    ) -> None:
        """Like ``replay``, without building an image: for loading many batches."""
        self._loader.add_batch(base_offset, epoch, timestamp_ms, records)

    def take(self) -> tuple[MetadataImage, MetadataDelta]:
        """The image as of the last batch, and the changes since the last call."""
        image, delta = self._loader.take()
        self.index.changed(delta)
        for broker_id, broker in delta.changed_brokers.items():
            self._broker_changed(broker_id, delta.base.brokers.get(broker_id), broker)
        for topic in delta.deleted_topics.values():
            self._forget_name(topic.name)
        for name in delta.created_topics.values():
            self._note_name(name)
        return image, delta

    def _broker_changed(
        self, broker_id: int, before: BrokerRegistration | None, after: BrokerRegistration | None
    ) -> None:
        offset = self.image.offset
        if after is None:
            self._registration_offsets.pop(broker_id, None)
        elif before is None or before.epoch != after.epoch:
            self._registration_offsets[broker_id] = offset
        self.sessions.registration_changed(before, after, offset)

    def _note_name(self, name: str) -> None:
        if "." in name or "_" in name:
            self.colliding.setdefault(name.replace(".", "_"), {})[name] = None

    def _forget_name(self, name: str) -> None:
        names = self.colliding.get(name.replace(".", "_"))
        if names is not None:
            names.pop(name, None)
            if not names:
                del self.colliding[name.replace(".", "_")]

    # Settings

    @property
    def cluster_settings(self) -> Mapping[str, str]:
        return self.image.configs.get(CLUSTER_DEFAULT, {})

    @property
    def own_settings(self) -> Mapping[str, str]:
        return self.image.config(BROKER_RESOURCE, str(self.node_id))

    def describe_topic(self, overrides: Mapping[str, str]) -> list[ConfigEntry]:
        """Every setting of a topic with these overrides, sorted by name.

        Topics that are created together usually have the same overrides, so results are
        cached until a broker setting changes.
        """
        basis = (self.own_settings, self.cluster_settings)
        if self._described_on != basis or len(self._described) > _MAX_DESCRIBED:
            self._described_on = basis
            self._described = {}
        key = tuple(sorted(overrides.items()))
        known = self._described.get(key)
        if known is None:
            entries = describe_topic(overrides, self.config, *basis)
            known = sorted(entries, key=lambda entry: entry.name)
            self._described[key] = known
        return known

    def topic_setting(self, topic: str, topic_name: str, broker_name: str) -> str | None:
        """The effective value: the topic's own, this broker's, the cluster's, or the file's."""
        own = self.image.config(TOPIC_RESOURCE, topic).get(topic_name)
        if own is not None:
            return own
        for settings in (self.own_settings, self.cluster_settings):
            if broker_name in settings:
                return settings[broker_name]
        return self.config.value_text(broker_name)

    # Brokers

    def is_active(self, broker_id: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def registration_offset(self, broker_id: int) -> int:
        """A broker that has replayed up to this offset has seen its own registration."""
        return self._registration_offsets[broker_id]

    def broker_with_epoch(self, broker_id: int, epoch: int) -> BrokerRegistration:
        """The broker, if ``epoch`` is its current epoch.

        Raises:
            ApiError: STALE_BROKER_EPOCH.
        """
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            message = f"No broker registration found for broker id {broker_id}"
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH, message)
        if broker.epoch != epoch:
            message = f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}"
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH, message)
        return broker

    def default_directory(self, broker_id: int) -> bytes:
        """The directory of the broker's new replicas: its only one, or unassigned."""
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            return UNASSIGNED_DIRECTORY
        if not broker.log_dirs or self.image.metadata_version < METADATA_3_7_IV2:
            return MIGRATING_DIRECTORY
        return broker.log_dirs[0] if len(broker.log_dirs) == 1 else UNASSIGNED_DIRECTORY

    def partitions(self) -> Iterator[tuple[TopicImage, int, PartitionRegistration]]:
        """Every partition of every topic."""
        for topic in self.image.topics_by_id.values():
            for partition, registration in topic.partitions.items():
                yield topic, partition, registration


def check_record_count(count: int) -> None:
    """Raises ApiError POLICY_VIOLATION if one request needs too many records."""
    if count > MAX_RECORDS_PER_REQUEST:
        message = "Unable to perform excessively large batch operation."
        raise ApiError(ErrorCode.POLICY_VIOLATION, message)
