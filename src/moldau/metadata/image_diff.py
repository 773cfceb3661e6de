"""The difference between two images, as the delta that listeners expect.

A node that has fallen behind the start of the log gets a snapshot instead of the records in
between. Listeners must not notice: they get the new image with a delta, as after any change.
"""

from collections.abc import Mapping
from typing import TypeVar

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage, TopicImage

K = TypeVar("K")
V = TypeVar("V")


def delta_between(old: MetadataImage, new: MetadataImage) -> MetadataDelta:
    """A delta on ``old`` that names what is different in ``new``. Only to be read."""
    delta = MetadataDelta(old)
    for topic_id, topic in old.topics_by_id.items():
        if topic_id not in new.topics_by_id:
            delta.deleted_topics[topic_id] = topic
    for topic_id, topic in new.topics_by_id.items():
        _compare_topic(delta, old.topics_by_id.get(topic_id), topic)
    for resource in _changed(old.configs, new.configs):
        delta.changed_configs[resource] = None
    for broker_id in _changed(old.brokers, new.brokers):
        delta.changed_brokers[broker_id] = new.brokers.get(broker_id)
    for controller_id in _changed(old.controllers, new.controllers):
        # Controllers are never unregistered.
        if controller_id in new.controllers:
            delta.changed_controllers[controller_id] = new.controllers[controller_id]
    for name in _changed(old.features, new.features):
        delta.changed_features[name] = new.features.get(name)
    for entity in _changed(old.client_quotas, new.client_quotas):
        delta.changed_quotas[entity] = None
    delta.acls_changed = old.acls != new.acls
    delta.scram_changed = old.scram != new.scram
    delta.tokens_changed = old.delegation_tokens != new.delegation_tokens
    delta.producer_ids_changed = old.next_producer_id != new.next_producer_id
    return delta


def _compare_topic(delta: MetadataDelta, old: TopicImage | None, new: TopicImage) -> None:
    if old is None:
        delta.created_topics[new.id] = new.name
        delta.changed_partitions[new.id] = dict(new.partitions)
        return
    changed = {
        index: registration
        for index, registration in new.partitions.items()
        if old.partitions.get(index) != registration
    }
    if changed:
        delta.changed_partitions[new.id] = changed


def _changed(old: Mapping[K, V], new: Mapping[K, V]) -> list[K]:
    """The keys with different values, those that are gone first."""
    gone = [key for key in old if key not in new]
    return gone + [key for key, value in new.items() if old.get(key) != value]
