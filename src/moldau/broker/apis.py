"""The table of what this broker answers. ApiVersions says exactly this, and nothing else does."""

from collections.abc import Mapping
from typing import Final

from moldau.broker.dispatch import Handler
from moldau.broker.handlers import (
    admin,
    cluster,
    configs,
    fetch,
    list_offsets,
    log_dirs,
    produce,
    producer_ids,
    records,
    telemetry,
    topic_partitions,
)
from moldau.protocol.api import APIS

HANDLERS: Final = (
    Handler("Produce", 0, produce.handle),
    Handler("Fetch", 1, fetch.handle),
    Handler("ListOffsets", 2, list_offsets.handle),
    Handler("Metadata", 3, cluster.metadata),
    Handler("FindCoordinator", 10, producer_ids.find_coordinator),
    Handler("ApiVersions", 18, cluster.api_versions),
    Handler("CreateTopics", 19, admin.create_topics),
    Handler("DeleteTopics", 20, admin.delete_topics),
    Handler("DeleteRecords", 21, records.delete_records),
    Handler("InitProducerId", 22, producer_ids.init_producer_id),
    Handler("OffsetForLeaderEpoch", 23, list_offsets.handle_leader_epoch),
    Handler("DescribeConfigs", 32, configs.describe),
    Handler("AlterConfigs", 33, admin.alter_configs),
    Handler("DescribeLogDirs", 35, log_dirs.handle),
    Handler("CreatePartitions", 37, admin.create_partitions),
    Handler("ElectLeaders", 43, admin.elect_leaders),
    Handler("IncrementalAlterConfigs", 44, admin.incremental_alter_configs),
    Handler("AlterPartitionReassignments", 45, admin.alter_reassignments),
    Handler("ListPartitionReassignments", 46, admin.list_reassignments),
    Handler("UpdateFeatures", 57, admin.update_features),
    Handler("DescribeCluster", 60, cluster.describe_cluster),
    Handler("DescribeProducers", 61, records.describe_producers),
    Handler("GetTelemetrySubscriptions", 71, telemetry.get_subscriptions, is_advertised=False),
    Handler("PushTelemetry", 72, telemetry.push, is_advertised=False),
    Handler("ListConfigResources", 74, configs.list_resources),
    Handler("DescribeTopicPartitions", 75, topic_partitions.handle),
)

BROKER_HANDLERS: Final[Mapping[int, Handler]] = {
    handler.key: handler for handler in HANDLERS if "broker" in APIS[handler.key].listeners
}
CONTROLLER_HANDLERS: Final[Mapping[int, Handler]] = {
    handler.key: handler for handler in HANDLERS if "controller" in APIS[handler.key].listeners
}
