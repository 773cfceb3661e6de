"""Applies records to an image, giving the next image and the list of changes.

A delta starts from an image and replays records in order. It copies a table before the first
write to it, and a topic's partitions before the first write to that topic; ``build`` makes the
tables the new image. Listeners get the delta together with the image, so that a node with ten
thousand partitions processes only those that changed.

A record that contradicts the image (an unknown topic, a stale broker epoch) means that the log
and this code disagree: it raises MetadataError and nothing is published.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moldau.ids import uuid_to_str
from moldau.metadata.features import KRAFT_VERSION, METADATA_VERSION, METADATA_VERSION_NAMES
from moldau.metadata.image import (
    TOPIC_RESOURCE,
    AclEntry,
    ConfigResource,
    DelegationToken,
    MetadataImage,
    QuotaEntity,
    ScramCredential,
    TopicImage,
)
from moldau.metadata.registrations import (
    BrokerRegistration,
    ControllerRegistration,
    PartitionRegistration,
)
from moldau.protocol.message import Message
from moldau.protocol.records import metadata as records


class MetadataError(Exception):
    """A record contradicts the records before it."""


class MetadataDelta:
    """The changes of some records to ``base``.

    To be read after replaying: ``created_topics`` and ``deleted_topics`` (by id, in order),
    ``changed_partitions`` (topic id -> partition -> registration, created ones included),
    ``changed_configs``, ``changed_brokers`` (None: unregistered), ``changed_features``,
    ``changed_quotas``, and flags for the rest. A topic that is deleted and created again
    under its name shows up in both, under its two ids.
    """

    def __init__(self, base: MetadataImage) -> None:
        self.base = base
        self.created_topics: dict[bytes, str] = {}
        self.deleted_topics: dict[bytes, TopicImage] = {}
        self.changed_partitions: dict[bytes, dict[int, PartitionRegistration]] = {}
        self.changed_configs: dict[ConfigResource, None] = {}
        self.changed_brokers: dict[int, BrokerRegistration | None] = {}
        self.changed_controllers: dict[int, ControllerRegistration] = {}
        self.changed_features: dict[str, int | None] = {}
        self.changed_quotas: dict[QuotaEntity, None] = {}
        self.acls_changed = False
        self.scram_changed = False
        self.tokens_changed = False
        self.producer_ids_changed = False
        self._changed_names: dict[str, None] | None = None
        self._next_producer_id = base.next_producer_id
        # A topic that is being changed: its name and its new partitions.
        self._topics: dict[bytes, tuple[str, dict[int, PartitionRegistration]]] = {}
        self._names: dict[str, bytes] = {}
        self._configs: dict[ConfigResource, dict[str, str] | None] = {}
        self._quotas: dict[QuotaEntity, dict[str, float] | None] = {}
        self._acls: dict[bytes, AclEntry | None] = {}
        self._scram: dict[tuple[int, str], ScramCredential | None] = {}
        self._tokens: dict[str, DelegationToken | None] = {}

    @property
    def is_empty(self) -> bool:
        return not (
            self.created_topics
            or self.deleted_topics
            or self.changed_partitions
            or self.changed_configs
            or self.changed_brokers
            or self.changed_controllers
            or self.changed_features
            or self.changed_quotas
            or self.acls_changed
            or self.scram_changed
            or self.tokens_changed
            or self.producer_ids_changed
        )

    def changed_names(self, image: MetadataImage) -> Mapping[str, None]:
        """The names of all topics that come, go or change on the way to ``image``.

        Every shard of every coordinator asks, so they are collected once.
        """
        names = self._changed_names
        if names is None:
            names = dict.fromkeys(self.created_topics.values())
            for topic in self.deleted_topics.values():
                names[topic.name] = None
            for topic_id in self.changed_partitions:
                changed = image.topics_by_id.get(topic_id)
                if changed is not None:
                    names[changed.name] = None
            self._changed_names = names
        return names

    def replay(self, record: Message) -> None:
        """Apply one record; the loader handles transaction markers."""
        handler = _HANDLERS.get(record.RECORD_KEY)
        if handler is None:
            raise MetadataError(f"cannot replay {type(record).__name__}")
        handler(self, record)

    def replay_all(self, all_records: Iterable[Message]) -> None:
        for record in all_records:
            self.replay(record)

    def build(self, offset: int, epoch: int, timestamp_ms: int) -> MetadataImage:
        """The image after the records, as of ``offset``. No records may be replayed after this."""
        base = self.base
        topics_by_name, topics_by_id = self._build_topics()
        return MetadataImage(
            offset=offset,
            epoch=epoch,
            timestamp_ms=timestamp_ms,
            features=_merged(base.features, self.changed_features),
            brokers=_merged(base.brokers, self.changed_brokers),
            controllers=_merged(base.controllers, self.changed_controllers),
            topics_by_name=topics_by_name,
            topics_by_id=topics_by_id,
            configs=_merged(base.configs, self._configs),
            client_quotas=_merged(base.client_quotas, self._quotas),
            next_producer_id=self._next_producer_id,
            acls=_merged(base.acls, self._acls),
            scram=_merged(base.scram, self._scram),
            delegation_tokens=_merged(base.delegation_tokens, self._tokens),
        )

    def _build_topics(self) -> tuple[Any, Any]:
        base = self.base
        if not self._topics and not self.deleted_topics:
            return base.topics_by_name, base.topics_by_id
        by_name = dict(base.topics_by_name)
        by_id = dict(base.topics_by_id)
        for topic_id, topic in self.deleted_topics.items():
            del by_id[topic_id]
            del by_name[topic.name]
        for topic_id, (name, partitions) in self._topics.items():
            image = TopicImage(name, topic_id, partitions)
            by_id[topic_id] = image
            by_name[name] = image
        return by_name, by_id

    # Topics and partitions

    def _topic(self, topic_id: bytes) -> dict[int, PartitionRegistration]:
        """A modifiable copy of the topic's partitions."""
        topic = self._topics.get(topic_id)
        if topic is None:
            image = self.base.topics_by_id.get(topic_id)
            if image is None or topic_id in self.deleted_topics:
                raise MetadataError(f"no topic has the id {uuid_to_str(topic_id)}")
            topic = (image.name, dict(image.partitions))
            self._topics[topic_id] = topic
        return topic[1]

    def _set_partition(
        self, topic_id: bytes, partition: int, registration: PartitionRegistration
    ) -> None:
        self._topic(topic_id)[partition] = registration
        changed = self.changed_partitions.get(topic_id)
        if changed is None:
            self.changed_partitions[topic_id] = {partition: registration}
        else:
            changed[partition] = registration

    def _topic_record(self, record: records.TopicRecord) -> None:
        existing = self._topic_id_of(record.name)
        if existing is not None:
            raise MetadataError(
                f"topic {record.name!r} exists already with id {uuid_to_str(existing)}"
            )
        known = self.base.topics_by_id.get(record.topic_id)
        if record.topic_id in self._topics or known is not None:
            raise MetadataError(f"two topics have the id {uuid_to_str(record.topic_id)}")
        self._topics[record.topic_id] = (record.name, {})
        self._names[record.name] = record.topic_id
        self.created_topics[record.topic_id] = record.name

    def _topic_id_of(self, name: str) -> bytes | None:
        topic_id = self._names.get(name)
        if topic_id is not None:
            return topic_id
        image = self.base.topics_by_name.get(name)
        if image is None or image.id in self.deleted_topics:
            return None
        return image.id

    def _partition_record(self, record: records.PartitionRecord) -> None:
        registration = PartitionRegistration.from_record(record)
        self._set_partition(record.topic_id, record.partition_id, registration)

    def _partition_change(self, record: records.PartitionChangeRecord) -> None:
        current = self._topic(record.topic_id).get(record.partition_id)
        if current is None:
            raise MetadataError(
                f"no partition {record.partition_id} in topic {uuid_to_str(record.topic_id)}"
            )
        self._set_partition(record.topic_id, record.partition_id, current.merge(record))

    def _remove_topic(self, record: records.RemoveTopicRecord) -> None:
        topic_id = record.topic_id
        under_way = self._topics.pop(topic_id, None)
        image = self.base.topics_by_id.get(topic_id)
        if topic_id in self.deleted_topics or (under_way is None and image is None):
            raise MetadataError(f"no topic has the id {uuid_to_str(topic_id)}")
        if image is not None:
            self.deleted_topics[topic_id] = image
            name = image.name
        else:
            assert under_way is not None
            name = under_way[0]
            del self.created_topics[topic_id]
        self._names.pop(name, None)
        self.changed_partitions.pop(topic_id, None)
        self._drop_configs(ConfigResource(TOPIC_RESOURCE, name))

    def _clear_elr(self, record: records.ClearElrRecord) -> None:
        if record.topic_name:
            topic_id = self._topic_id_of(record.topic_name)
            if topic_id is None:
                raise MetadataError(f"no topic is named {record.topic_name!r}")
            topic_ids = [topic_id]
        else:
            topic_ids = [key for key in self.base.topics_by_id if key not in self.deleted_topics]
            topic_ids += self.created_topics
        for topic_id in topic_ids:
            under_way = self._topics.get(topic_id)
            if under_way is not None:
                partitions = list(under_way[1].items())
            else:
                partitions = list(self.base.topics_by_id[topic_id].partitions.items())
            for partition, registration in partitions:
                if registration.elr or registration.last_known_elr:
                    self._set_partition(topic_id, partition, registration.without_elr())

    # Settings, quotas and the rest

    def _drop_configs(self, resource: ConfigResource) -> None:
        if resource in self.base.configs or self._configs.get(resource):
            self._configs[resource] = None
            self.changed_configs[resource] = None

    def _config_record(self, record: records.ConfigRecord) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        if resource in self._configs:
            settings = dict(self._configs[resource] or {})
        else:
            settings = dict(self.base.configs.get(resource, {}))
        if record.value is None:
            settings.pop(record.name, None)
        else:
            settings[record.name] = record.value
        self._configs[resource] = settings or None
        self.changed_configs[resource] = None

    def _client_quota(self, record: records.ClientQuotaRecord) -> None:
        entity: QuotaEntity = tuple(
            sorted(
                ((part.entity_type, part.entity_name) for part in record.entity),
                key=lambda pair: pair[0],
            )
        )
        if entity in self._quotas:
            quotas = dict(self._quotas[entity] or {})
        else:
            quotas = dict(self.base.client_quotas.get(entity, {}))
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        self._quotas[entity] = quotas or None
        self.changed_quotas[entity] = None

    def _feature_level(self, record: records.FeatureLevelRecord) -> None:
        if record.name == KRAFT_VERSION:
            # It belongs in control records; a misplaced one is dropped (KAFKA-18979).
            return
        level = record.feature_level
        if record.name == METADATA_VERSION:
            if level not in METADATA_VERSION_NAMES:
                first, last = min(METADATA_VERSION_NAMES), max(METADATA_VERSION_NAMES)
                raise MetadataError(
                    f"metadata.version {level} is not supported: expected {first} to {last}"
                )
            self.changed_features[record.name] = level
        else:
            self.changed_features[record.name] = level if level > 0 else None

    def _producer_ids(self, record: records.ProducerIdsRecord) -> None:
        self._next_producer_id = record.next_producer_id
        self.producer_ids_changed = True

    def _acl(self, record: records.AccessControlEntryRecord) -> None:
        self._acls[record.id] = AclEntry(
            record.resource_type,
            record.resource_name,
            record.pattern_type,
            record.principal,
            record.host,
            record.operation,
            record.permission_type,
        )
        self.acls_changed = True

    def _remove_acl(self, record: records.RemoveAccessControlEntryRecord) -> None:
        known = self._acls[record.id] if record.id in self._acls else self.base.acls.get(record.id)
        if known is None:
            raise MetadataError(f"no access control entry has the id {uuid_to_str(record.id)}")
        self._acls[record.id] = None
        self.acls_changed = True

    def _scram_credential(self, record: records.UserScramCredentialRecord) -> None:
        self._scram[(record.mechanism, record.name)] = ScramCredential(
            record.salt, record.stored_key, record.server_key, record.iterations
        )
        self.scram_changed = True

    def _remove_scram(self, record: records.RemoveUserScramCredentialRecord) -> None:
        self._scram[(record.mechanism, record.name)] = None
        self.scram_changed = True

    def _token(self, record: records.DelegationTokenRecord) -> None:
        self._tokens[record.token_id] = DelegationToken(
            record.owner,
            record.requester,
            tuple(record.renewers),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )
        self.tokens_changed = True

    def _remove_token(self, record: records.RemoveDelegationTokenRecord) -> None:
        self._tokens[record.token_id] = None
        self.tokens_changed = True

    # Brokers and controllers

    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        if broker_id in self.changed_brokers:
            broker = self.changed_brokers[broker_id]
        else:
            broker = self.base.brokers.get(broker_id)
        if broker is None:
            raise MetadataError(f"broker {broker_id} is not registered")
        if broker.epoch != epoch:
            raise MetadataError(f"broker {broker_id} has epoch {broker.epoch}, not {epoch}")
        return broker

    def _register_broker(self, record: records.RegisterBrokerRecord) -> None:
        self.changed_brokers[record.broker_id] = BrokerRegistration.from_record(record)

    def _unregister_broker(self, record: records.UnregisterBrokerRecord) -> None:
        self._broker(record.broker_id, record.broker_epoch)
        self.changed_brokers[record.broker_id] = None

    def _fence_broker(self, record: records.FenceBrokerRecord) -> None:
        broker = self._broker(record.id, record.epoch)
        self.changed_brokers[record.id] = broker._replace(fenced=True)

    def _unfence_broker(self, record: records.UnfenceBrokerRecord) -> None:
        broker = self._broker(record.id, record.epoch)
        self.changed_brokers[record.id] = broker._replace(fenced=False)

    def _change_broker(self, record: records.BrokerRegistrationChangeRecord) -> None:
        broker = self._broker(record.broker_id, record.broker_epoch)
        self.changed_brokers[record.broker_id] = broker.merge(record)

    def _register_controller(self, record: records.RegisterControllerRecord) -> None:
        self.changed_controllers[record.controller_id] = ControllerRegistration.from_record(record)

    def _nothing(self, record: Message) -> None:
        """Ignored records: NoOpRecord, and those of the ZooKeeper migration."""


def _merged(base: Any, changes: Any) -> Any:
    """``base`` with the changes, where None means removal; ``base`` itself if there are none."""
    if not changes:
        return base
    merged = dict(base)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


_HANDLERS: dict[int, Callable[[MetadataDelta, Any], None]] = {
    records.RegisterBrokerRecord.RECORD_KEY: MetadataDelta._register_broker,
    records.UnregisterBrokerRecord.RECORD_KEY: MetadataDelta._unregister_broker,
    records.TopicRecord.RECORD_KEY: MetadataDelta._topic_record,
    records.PartitionRecord.RECORD_KEY: MetadataDelta._partition_record,
    records.ConfigRecord.RECORD_KEY: MetadataDelta._config_record,
    records.PartitionChangeRecord.RECORD_KEY: MetadataDelta._partition_change,
    records.FenceBrokerRecord.RECORD_KEY: MetadataDelta._fence_broker,
    records.UnfenceBrokerRecord.RECORD_KEY: MetadataDelta._unfence_broker,
    records.RemoveTopicRecord.RECORD_KEY: MetadataDelta._remove_topic,
    records.DelegationTokenRecord.RECORD_KEY: MetadataDelta._token,
    records.UserScramCredentialRecord.RECORD_KEY: MetadataDelta._scram_credential,
    records.FeatureLevelRecord.RECORD_KEY: MetadataDelta._feature_level,
    records.ClientQuotaRecord.RECORD_KEY: MetadataDelta._client_quota,
    records.ProducerIdsRecord.RECORD_KEY: MetadataDelta._producer_ids,
    records.BrokerRegistrationChangeRecord.RECORD_KEY: MetadataDelta._change_broker,
    records.AccessControlEntryRecord.RECORD_KEY: MetadataDelta._acl,
    records.RemoveAccessControlEntryRecord.RECORD_KEY: MetadataDelta._remove_acl,
    records.NoOpRecord.RECORD_KEY: MetadataDelta._nothing,
    records.ZkMigrationStateRecord.RECORD_KEY: MetadataDelta._nothing,
    records.RemoveUserScramCredentialRecord.RECORD_KEY: MetadataDelta._remove_scram,
    records.RemoveDelegationTokenRecord.RECORD_KEY: MetadataDelta._remove_token,
    records.RegisterControllerRecord.RECORD_KEY: MetadataDelta._register_controller,
    records.ClearElrRecord.RECORD_KEY: MetadataDelta._clear_elr,
}


def apply(
    image: MetadataImage,
    all_records: Iterable[Message],
    offset: int = -1,
    epoch: int = -1,
    timestamp_ms: int = -1,
) -> tuple[MetadataImage, MetadataDelta]:
    """The image after the records, and the delta."""
    delta = MetadataDelta(image)
    delta.replay_all(all_records)
    return delta.build(offset, epoch, timestamp_ms), delta
