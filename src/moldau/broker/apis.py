"""The table of the APIs that a broker serves, and the handlers built for it.

ApiVersions is derived from the table. Handlers of APIs that few clients call are imported with the
first request for one of them (``ServedApi.is_rare``): with their messages they take a megabyte.
"""

from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from moldau.broker.broker import Broker
from moldau.broker.controller_apis import CONTROLLER_APIS, ControllerHandlers, security
from moldau.broker.current_leaders import CurrentLeaders
from moldau.broker.dispatch import Handler
from moldau.broker.handlers.admin import Admin
from moldau.broker.handlers.cluster import Cluster
from moldau.broker.handlers.fetch import Fetch
from moldau.broker.handlers.find_coordinator import FindCoordinator
from moldau.broker.handlers.group_admin import GroupAdmin
from moldau.broker.handlers.group_offsets import GroupOffsets
from moldau.broker.handlers.groups import Groups
from moldau.broker.handlers.list_offsets import ListOffsets
from moldau.broker.handlers.logger_configs import LoggerConfigs
from moldau.broker.handlers.offset_delete import OffsetDelete
from moldau.broker.handlers.produce import Produce
from moldau.broker.handlers.producer_ids import InitProducerId
from moldau.broker.handlers.quorum import Quorum
from moldau.broker.handlers.raft import Raft
from moldau.broker.handlers.topic_metadata import TopicMetadata
from moldau.broker.handlers.transactional_produce import TransactionalProduce
from moldau.broker.handlers.transactions import Transactions
from moldau.broker.handlers.txn_offset_commit import TxnOffsetCommit
from moldau.broker.own_settings import check_own_settings
from moldau.broker.served_api import ServedApi

if TYPE_CHECKING:
    from moldau.broker.handlers.clients import Clients
    from moldau.broker.handlers.configs import Configs
    from moldau.broker.handlers.legacy_configs import LegacyConfigs
    from moldau.broker.handlers.log_dirs import LogDirs
    from moldau.broker.handlers.records import Records
    from moldau.broker.handlers.telemetry import Telemetry
    from moldau.broker.handlers.topic_partitions import TopicPartitions
    from moldau.broker.handlers.transaction_admin import TransactionAdmin
    from moldau.broker.handlers.write_txn_markers import WriteTxnMarkers


class BrokerHandlers:
    """The handlers of a broker, each built with what it uses."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        node_id, configs, turns = broker.node_id, broker.configs, broker.turns
        metadata, quorum = broker.metadata.publisher, broker.metadata.raft
        forwarding = broker.forwarding
        self.admin = Admin(forwarding, turns)
        self.cluster = Cluster(node_id, metadata, quorum)
        self.find_coordinator = FindCoordinator(metadata, broker.groups, broker.transactions, turns)
        leaders = CurrentLeaders(broker.replicas, metadata)
        self.fetch = Fetch(
            broker.replicas, broker.fetch_sessions, configs, broker.clock, turns, leaders
        )
        self.group_admin = GroupAdmin(broker.groups, metadata, configs)
        self.group_offsets = GroupOffsets(broker.groups, metadata)
        self.groups = Groups(broker.groups, metadata, configs, turns)
        self.list_offsets = ListOffsets(broker.replicas)
        self.loggers = LoggerConfigs(
            node_id,
            broker.log_levels,
            turns,
            forwarding.change,
            forwarding.replace,
            partial(check_own_settings, configs),
        )
        self.offset_delete = OffsetDelete(broker.groups, metadata)
        self.produce = Produce(
            broker.replicas,
            broker.record_checks,
            broker.clock,
            turns,
            leaders,
            TransactionalProduce(broker.replicas, broker.verification, turns),
        )
        self.producer_ids = InitProducerId(broker.producer_ids, broker.transactions, configs)
        self.topic_metadata = TopicMetadata(
            node_id,
            metadata,
            quorum,
            configs,
            broker.topic_creation,
            broker.metadata_answers,
            turns,
            broker.lost_leaders,
            broker.fenced_brokers,
        )
        self.txn_offset_commit = TxnOffsetCommit(broker.groups, metadata, broker.verification)
        self.transactions = Transactions(broker.transactions, broker.groups)

    @cached_property
    def clients(self) -> "Clients":
        from moldau.broker.handlers.clients import Clients

        return Clients(self._broker.metadata.publisher)

    @cached_property
    def configs(self) -> "Configs":
        from moldau.broker.handlers.configs import Configs

        broker = self._broker
        metadata = broker.metadata.publisher
        return Configs(broker.node_id, metadata, broker.configs, broker.log_levels)

    @cached_property
    def legacy_configs(self) -> "LegacyConfigs":
        from moldau.broker.handlers.legacy_configs import LegacyConfigs

        broker = self._broker
        return LegacyConfigs(broker.configs, broker.forwarding, broker.turns)

    @cached_property
    def log_dirs(self) -> "LogDirs":
        from moldau.broker.handlers.log_dirs import LogDirs

        broker = self._broker
        metadata = broker.metadata.publisher
        return LogDirs(
            metadata, broker.logs, broker.disk, broker.replicas, broker.mover, broker.turns
        )

    @cached_property
    def records(self) -> "Records":
        from moldau.broker.handlers.records import Records

        return Records(self._broker.replicas)

    @cached_property
    def telemetry(self) -> "Telemetry":
        from moldau.broker.handlers.telemetry import Telemetry

        return Telemetry(self._broker.configs, self._broker.rng)

    @cached_property
    def topic_partitions(self) -> "TopicPartitions":
        from moldau.broker.handlers.topic_partitions import TopicPartitions

        return TopicPartitions(self._broker.metadata.publisher, self._broker.configs)

    @cached_property
    def transaction_admin(self) -> "TransactionAdmin":
        from moldau.broker.handlers.transaction_admin import TransactionAdmin

        return TransactionAdmin(self._broker.transactions, self._broker.clock)

    @cached_property
    def write_txn_markers(self) -> "WriteTxnMarkers":
        from moldau.broker.handlers.write_txn_markers import WriteTxnMarkers

        return WriteTxnMarkers(self._broker.marker_writer, self._broker.configs)


Api = ServedApi[BrokerHandlers]

BROKER_APIS: Final[tuple[Api, ...]] = (
    Api("Produce", 0, lambda it: it.produce.handle),
    Api("Fetch", 1, lambda it: it.fetch.handle),
    Api("ListOffsets", 2, lambda it: it.list_offsets.handle),
    Api("Metadata", 3, lambda it: it.topic_metadata.handle),
    Api("OffsetCommit", 8, lambda it: it.group_offsets.commit),
    Api("OffsetFetch", 9, lambda it: it.group_offsets.fetch),
    Api("FindCoordinator", 10, lambda it: it.find_coordinator.handle),
    Api("JoinGroup", 11, lambda it: it.groups.join),
    Api("Heartbeat", 12, lambda it: it.groups.heartbeat),
    Api("LeaveGroup", 13, lambda it: it.groups.leave),
    Api("SyncGroup", 14, lambda it: it.groups.sync),
    Api("DescribeGroups", 15, lambda it: it.group_admin.describe),
    Api("ListGroups", 16, lambda it: it.group_admin.list_groups),
    Api("SaslHandshake", 17, lambda it: security().sasl_handshake, is_rare=True),
    Api("ApiVersions", 18, lambda it: it.cluster.api_versions),
    Api("CreateTopics", 19, lambda it: it.admin.change, is_forwarded=True),
    Api("DeleteTopics", 20, lambda it: it.admin.change, is_forwarded=True),
    Api("DeleteRecords", 21, lambda it: it.records.delete_records, is_rare=True),
    Api("InitProducerId", 22, lambda it: it.producer_ids.init_producer_id),
    Api("OffsetForLeaderEpoch", 23, lambda it: it.list_offsets.handle_leader_epoch),
    Api("AddPartitionsToTxn", 24, lambda it: it.transactions.add_partitions),
    Api("AddOffsetsToTxn", 25, lambda it: it.transactions.add_offsets),
    Api("EndTxn", 26, lambda it: it.transactions.end),
    Api("WriteTxnMarkers", 27, lambda it: it.write_txn_markers.handle, is_rare=True),
    Api("TxnOffsetCommit", 28, lambda it: it.txn_offset_commit.handle),
    Api("DescribeAcls", 29, lambda it: security().describe_acls, is_rare=True),
    Api("CreateAcls", 30, lambda it: security().create_acls, is_rare=True),
    Api("DeleteAcls", 31, lambda it: security().delete_acls, is_rare=True),
    Api("DescribeConfigs", 32, lambda it: it.configs.describe, is_rare=True),
    Api("AlterConfigs", 33, lambda it: it.legacy_configs.alter, is_forwarded=True, is_rare=True),
    Api("AlterReplicaLogDirs", 34, lambda it: it.log_dirs.alter, is_rare=True),
    Api("DescribeLogDirs", 35, lambda it: it.log_dirs.describe, is_rare=True),
    Api("SaslAuthenticate", 36, lambda it: security().sasl_authenticate, is_rare=True),
    Api("CreatePartitions", 37, lambda it: it.admin.change, is_forwarded=True),
    Api("CreateDelegationToken", 38, lambda it: security().create_token, is_rare=True),
    Api("RenewDelegationToken", 39, lambda it: security().renew_token, is_rare=True),
    Api("ExpireDelegationToken", 40, lambda it: security().expire_token, is_rare=True),
    Api("DescribeDelegationToken", 41, lambda it: security().describe_tokens, is_rare=True),
    Api("DeleteGroups", 42, lambda it: it.group_admin.delete_groups),
    Api("ElectLeaders", 43, lambda it: it.admin.change, is_forwarded=True),
    Api(
        "IncrementalAlterConfigs",
        44,
        lambda it: it.loggers.alter,
        is_forwarded=True,
    ),
    Api("AlterPartitionReassignments", 45, lambda it: it.admin.change, is_forwarded=True),
    Api("ListPartitionReassignments", 46, lambda it: it.admin.read, is_forwarded=True),
    Api("OffsetDelete", 47, lambda it: it.offset_delete.handle),
    Api("DescribeClientQuotas", 48, lambda it: it.clients.quotas, is_rare=True),
    Api("AlterClientQuotas", 49, lambda it: it.admin.alter_client_quotas, is_forwarded=True),
    Api("DescribeUserScramCredentials", 50, lambda it: it.clients.scram_credentials, is_rare=True),
    Api("AlterUserScramCredentials", 51, lambda it: it.admin.change, is_forwarded=True),
    Api("DescribeQuorum", 55, lambda it: it.admin.read, is_forwarded=True),
    Api("UpdateFeatures", 57, lambda it: it.admin.change, is_forwarded=True),
    Api("DescribeCluster", 60, lambda it: it.cluster.describe_brokers),
    Api("DescribeProducers", 61, lambda it: it.records.describe_producers, is_rare=True),
    Api("UnregisterBroker", 64, lambda it: it.admin.change, is_forwarded=True),
    Api("DescribeTransactions", 65, lambda it: it.transaction_admin.describe, is_rare=True),
    Api("ListTransactions", 66, lambda it: it.transaction_admin.list_transactions, is_rare=True),
    Api("ConsumerGroupHeartbeat", 68, lambda it: it.groups.consumer_heartbeat),
    Api(
        "ConsumerGroupDescribe",
        69,
        lambda it: it.group_admin.describe_consumer_groups,
    ),
    Api(
        "GetTelemetrySubscriptions",
        71,
        lambda it: it.telemetry.get_subscriptions,
        is_advertised=False,
        is_rare=True,
    ),
    Api("PushTelemetry", 72, lambda it: it.telemetry.push, is_advertised=False, is_rare=True),
    Api("ListConfigResources", 74, lambda it: it.configs.list_resources, is_rare=True),
    Api("DescribeTopicPartitions", 75, lambda it: it.topic_partitions.handle, is_rare=True),
    Api("AddRaftVoter", 80, lambda it: it.admin.change, is_forwarded=True),
    Api("RemoveRaftVoter", 81, lambda it: it.admin.change, is_forwarded=True),
)


def broker_handlers(broker: Broker) -> list[Handler]:
    """The handlers of the listeners for clients and other brokers."""
    handlers = BrokerHandlers(broker)
    return [api.handler(handlers) for api in BROKER_APIS]


def controller_handlers(broker: Broker) -> list[Handler]:
    """The handlers of the listeners for other controllers, and for brokers."""
    # Imported late: only a node with such a listener needs them at once.
    from moldau.broker.handlers.clients import Clients
    from moldau.broker.handlers.configs import Configs

    node_id, log_levels = broker.node_id, broker.log_levels
    metadata, quorum = broker.metadata.publisher, broker.metadata.raft
    apis = broker.metadata.controller_apis
    handlers = ControllerHandlers(
        apis=apis,
        raft=Raft(quorum, broker.metadata.detection.seen),
        quorum=Quorum(quorum),
        clients=Clients(metadata),
        cluster=Cluster(node_id, metadata, quorum),
        configs=Configs(node_id, metadata, broker.configs, log_levels),
        loggers=LoggerConfigs(node_id, log_levels, broker.turns, apis.alter_configs),
    )
    return [api.handler(handlers) for api in CONTROLLER_APIS]
