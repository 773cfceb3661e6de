"""The settings with which internal topics are created.

A client may ask for ``__consumer_offsets`` before the first group exists. If the broker creates
topics automatically, it must then create the real one: with the number of partitions that the
hash of group ids relies on, and compacted, so that offsets are not deleted after a week.
"""

from collections.abc import Callable, Mapping
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.ids import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from moldau.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig

DEFAULT: Final = -1


def creatable_topic(name: str, config: BrokerConfig) -> CreatableTopic:
    """``name`` as the broker creates it automatically: internal, or with the defaults."""
    describe = _INTERNAL.get(name)
    if describe is None:
        return CreatableTopic(name=name, num_partitions=DEFAULT, replication_factor=DEFAULT)
    return describe(config)


def _offsets(config: BrokerConfig) -> CreatableTopic:
    return _topic(
        OFFSETS_TOPIC,
        config.offsets_topic_num_partitions,
        config.offsets_topic_replication_factor,
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )


def _transactions(config: BrokerConfig) -> CreatableTopic:
    return _topic(
        TRANSACTIONS_TOPIC,
        config.transaction_state_log_num_partitions,
        config.transaction_state_log_replication_factor,
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(config.transaction_state_log_min_isr),
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        },
    )


def _share_state(config: BrokerConfig) -> CreatableTopic:
    return _topic(
        SHARE_STATE_TOPIC,
        config.share_coordinator_state_topic_num_partitions,
        config.share_coordinator_state_topic_replication_factor,
        {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": str(config.share_coordinator_state_topic_min_isr),
            "retention.ms": "-1",
            "segment.bytes": str(config.share_coordinator_state_topic_segment_bytes),
        },
    )


_INTERNAL: Final[Mapping[str, Callable[[BrokerConfig], CreatableTopic]]] = {
    OFFSETS_TOPIC: _offsets,
    TRANSACTIONS_TOPIC: _transactions,
    SHARE_STATE_TOPIC: _share_state,
}


def _topic(
    name: str, partitions: int, replication_factor: int, settings: Mapping[str, str]
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(name=key, value=settings[key]) for key in settings],
    )
