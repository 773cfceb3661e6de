"""The table of the APIs that this broker supports. ApiVersions is derived from it."""

from collections.abc import Mapping
from typing import Final

from moldau.broker.dispatch import Handler
from moldau.broker.handlers import (
    admin,
    cluster,
    configs,
    fetch,
    find_coordinator,
    group_admin,
    group_offsets,
    groups,
    list_offsets,
    log_dirs,
    produce,
    producer_ids,
    quorum,
    records,
    security,
    telemetry,
    topic_partitions,
    transactions,
)
from moldau.protocol.api import APIS

HANDLERS: Final = (
    Handler("Produce", 0, produce.handle),
    Handler("Fetch", 1, fetch.handle),
    Handler("ListOffsets", 2, list_offsets.handle),
    Handler("Metadata", 3, cluster.metadata),
    Handler("OffsetCommit", 8, group_offsets.commit),
    Handler("OffsetFetch", 9, group_offsets.fetch),
    Handler("FindCoordinator", 10, find_coordinator.handle),
    Handler("JoinGroup", 11, groups.join),
    Handler("Heartbeat", 12, groups.heartbeat),
    Handler("LeaveGroup", 13, groups.leave),
    Handler("SyncGroup", 14, groups.sync),
    Handler("DescribeGroups", 15, group_admin.describe),
    Handler("ListGroups", 16, group_admin.list_groups),
    Handler("SaslHandshake", 17, security.sasl_handshake),
    Handler("ApiVersions", 18, cluster.api_versions),
    Handler("CreateTopics", 19, admin.create_topics),
    Handler("DeleteTopics", 20, admin.delete_topics),
    Handler("DeleteRecords", 21, records.delete_records),
    Handler("InitProducerId", 22, producer_ids.init_producer_id),
    Handler("OffsetForLeaderEpoch", 23, list_offsets.handle_leader_epoch),
    Handler("DescribeAcls", 29, security.describe_acls),
    Handler("CreateAcls", 30, security.create_acls),
    Handler("DeleteAcls", 31, security.delete_acls),
    Handler("DescribeConfigs", 32, configs.describe),
    Handler("AlterConfigs", 33, admin.alter_configs),
    Handler("AlterReplicaLogDirs", 34, log_dirs.alter),
    Handler("DescribeLogDirs", 35, log_dirs.describe),
    Handler("SaslAuthenticate", 36, security.sasl_authenticate),
    Handler("CreatePartitions", 37, admin.create_partitions),
    Handler("CreateDelegationToken", 38, security.create_token),
    Handler("RenewDelegationToken", 39, security.renew_token),
    Handler("ExpireDelegationToken", 40, security.expire_token),
    Handler("DescribeDelegationToken", 41, security.describe_tokens),
    Handler("DeleteGroups", 42, group_admin.delete_groups),
    Handler("ElectLeaders", 43, admin.elect_leaders),
    Handler("IncrementalAlterConfigs", 44, admin.incremental_alter_configs),
    Handler("AlterPartitionReassignments", 45, admin.alter_reassignments),
    Handler("ListPartitionReassignments", 46, admin.list_reassignments),
    Handler("OffsetDelete", 47, group_offsets.delete),
    Handler("DescribeClientQuotas", 48, admin.describe_client_quotas),
    Handler("AlterClientQuotas", 49, admin.alter_client_quotas),
    Handler("DescribeUserScramCredentials", 50, admin.describe_user_scram_credentials),
    Handler("AlterUserScramCredentials", 51, admin.alter_user_scram_credentials),
    Handler("DescribeQuorum", 55, quorum.describe),
    Handler("UpdateFeatures", 57, admin.update_features),
    Handler("DescribeCluster", 60, cluster.describe_cluster),
    Handler("DescribeProducers", 61, records.describe_producers),
    Handler("DescribeTransactions", 65, transactions.describe_transactions),
    Handler("ListTransactions", 66, transactions.list_transactions),
    Handler("ConsumerGroupHeartbeat", 68, groups.consumer_heartbeat),
    Handler("ConsumerGroupDescribe", 69, group_admin.describe_consumer_groups),
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
