"""The public Kafka client: ``Producer``, ``Consumer``, ``GroupConsumer`` and ``Admin``.

The client is synchronous and uses no threads of its own. It works with Moldau and with Apache
Kafka brokers, over plain connections, TLS and SASL.

    from moldau.client import Consumer, Producer

    with Producer("localhost:9092") as producer:
        producer.send("orders", b"two coffees", key=b"42")

    with Consumer("localhost:9092") as consumer:
        consumer.assign({partition: 0 for partition in consumer.partitions_of("orders")})
        for record in consumer.poll(timeout_s=5):
            print(record.offset, record.value)

The names in ``__all__`` are the public API (docs/api.md). The submodules are private: their
names and signatures may change in any release. A name is imported when it is first used, so that
importing this package, which every submodule does, costs nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.client.admin import (
        Admin,
        ClusterDescription,
        ConfigChange,
        CreatedTopic,
        LogDir,
        LogDirReplica,
        ResourceType,
    )
    from moldau.client.batches import Delivery
    from moldau.client.cluster import BrokerAddress, PartitionMetadata, TopicMetadata
    from moldau.client.connection import ConnectionFailed
    from moldau.client.consumer import Consumer, ConsumerRecord
    from moldau.client.group_admin import (
        GroupAdmin,
        GroupDescription,
        GroupListing,
        GroupMember,
    )
    from moldau.client.group_consumer import GroupConsumer
    from moldau.client.group_offsets import CommittedOffset
    from moldau.client.node_admin import (
        NodeAdmin,
        NodeEndpoint,
        QuorumDescription,
        QuorumReplica,
        RegisteredBroker,
    )
    from moldau.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, FoundOffset
    from moldau.client.partition_admin import (
        ElectionType,
        PartitionAdmin,
        PartitionState,
        Reassignment,
    )
    from moldau.client.producer import Producer
    from moldau.client.security import PLAINTEXT, Security, parse_security
    from moldau.client.security_error import SecurityError
    from moldau.config.describe import ConfigEntry, ConfigSource, ConfigSynonym
    from moldau.errors import ApiError, ErrorCode
    from moldau.ids import TopicPartition
else:
    from importlib import import_module

    # Where each public name is defined.
    _MODULES = {
        "Admin": "moldau.client.admin",
        "ApiError": "moldau.errors",
        "BrokerAddress": "moldau.client.cluster",
        "ClusterDescription": "moldau.client.admin",
        "CommittedOffset": "moldau.client.group_offsets",
        "ConfigChange": "moldau.client.admin",
        "ConfigEntry": "moldau.config.describe",
        "ConfigSource": "moldau.config.describe",
        "ConfigSynonym": "moldau.config.describe",
        "ConnectionFailed": "moldau.client.connection",
        "Consumer": "moldau.client.consumer",
        "ConsumerRecord": "moldau.client.consumer",
        "CreatedTopic": "moldau.client.admin",
        "Delivery": "moldau.client.batches",
        "EARLIEST": "moldau.client.offsets",
        "ElectionType": "moldau.client.partition_admin",
        "ErrorCode": "moldau.errors",
        "FoundOffset": "moldau.client.offsets",
        "GroupAdmin": "moldau.client.group_admin",
        "GroupConsumer": "moldau.client.group_consumer",
        "GroupDescription": "moldau.client.group_admin",
        "GroupListing": "moldau.client.group_admin",
        "GroupMember": "moldau.client.group_admin",
        "LATEST": "moldau.client.offsets",
        "LogDir": "moldau.client.admin",
        "LogDirReplica": "moldau.client.admin",
        "MAX_TIMESTAMP": "moldau.client.offsets",
        "NodeAdmin": "moldau.client.node_admin",
        "NodeEndpoint": "moldau.client.node_admin",
        "PLAINTEXT": "moldau.client.security",
        "PartitionAdmin": "moldau.client.partition_admin",
        "PartitionMetadata": "moldau.client.cluster",
        "PartitionState": "moldau.client.partition_admin",
        "Producer": "moldau.client.producer",
        "QuorumDescription": "moldau.client.node_admin",
        "QuorumReplica": "moldau.client.node_admin",
        "Reassignment": "moldau.client.partition_admin",
        "RegisteredBroker": "moldau.client.node_admin",
        "ResourceType": "moldau.client.admin",
        "Security": "moldau.client.security",
        "SecurityError": "moldau.client.security_error",
        "TopicMetadata": "moldau.client.cluster",
        "TopicPartition": "moldau.ids",
        "parse_security": "moldau.client.security",
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used (PEP 562)."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "PLAINTEXT",
    "Admin",
    "ApiError",
    "BrokerAddress",
    "ClusterDescription",
    "CommittedOffset",
    "ConfigChange",
    "ConfigEntry",
    "ConfigSource",
    "ConfigSynonym",
    "ConnectionFailed",
    "Consumer",
    "ConsumerRecord",
    "CreatedTopic",
    "Delivery",
    "ElectionType",
    "ErrorCode",
    "FoundOffset",
    "GroupAdmin",
    "GroupConsumer",
    "GroupDescription",
    "GroupListing",
    "GroupMember",
    "LogDir",
    "LogDirReplica",
    "NodeAdmin",
    "NodeEndpoint",
    "PartitionAdmin",
    "PartitionMetadata",
    "PartitionState",
    "Producer",
    "QuorumDescription",
    "QuorumReplica",
    "Reassignment",
    "RegisteredBroker",
    "ResourceType",
    "Security",
    "SecurityError",
    "TopicMetadata",
    "TopicPartition",
    "parse_security",
]
