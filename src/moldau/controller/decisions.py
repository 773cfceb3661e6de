"""The requests that the active controller decides, by API key.

One table for all callers: requests of clients that a broker forwards, of brokers about themselves,
and of this process to itself.
"""

from collections.abc import Callable
from typing import Any, Final

from moldau.controller import (
    alter_partition,
    brokers,
    configs,
    directories,
    elections,
    feature_updates,
    heartbeats,
    partitions,
    producer_ids,
    quotas,
    reassignments,
    registration,
    scram,
    topics,
)
from moldau.controller.context import DecisionContext
from moldau.controller.outcome import Deciding, in_one_step
from moldau.controller.state import ControllerState
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from moldau.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from moldau.protocol.messages.alter_configs import AlterConfigsRequest
from moldau.protocol.messages.alter_partition import AlterPartitionRequest
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from moldau.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from moldau.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest
from moldau.protocol.messages.controller_registration import ControllerRegistrationRequest
from moldau.protocol.messages.create_partitions import CreatePartitionsRequest
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest
from moldau.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from moldau.protocol.messages.update_features import UpdateFeaturesRequest


class Asked:
    """A request with its version, its context, and the time at which it is decided."""

    __slots__ = ("context", "now_ms", "request", "state", "version")

    def __init__(
        self,
        state: ControllerState,
        request: Any,
        version: int,
        context: DecisionContext,
        now_ms: int,
    ) -> None:
        self.state = state
        self.request = request
        self.version = version
        self.context = context
        self.now_ms = now_ms

    @property
    def received_by(self) -> int:
        """The broker that received the request from a client."""
        broker_id = self.context.received_by
        return self.state.node_id if broker_id < 0 else broker_id


Decide = Callable[[Asked], Deciding[Any]]

DECISIONS: Final[dict[int, Decide]] = {
    # Topics and partitions
    CreateTopicsRequest.API_KEY: lambda it: topics.create_topics(it.state, it.request),
    DeleteTopicsRequest.API_KEY: lambda it: topics.delete_topics(it.state, it.request, it.version),
    CreatePartitionsRequest.API_KEY: lambda it: partitions.create_partitions(it.state, it.request),
    ElectLeadersRequest.API_KEY: lambda it: elections.elect_leaders(it.state, it.request),
    AlterPartitionRequest.API_KEY: lambda it: alter_partition.alter_partition(
        it.state, it.request, it.version
    ),
    AlterPartitionReassignmentsRequest.API_KEY: lambda it: (
        reassignments.alter_partition_reassignments(it.state, it.request)
    ),
    ListPartitionReassignmentsRequest.API_KEY: lambda it: (
        reassignments.list_partition_reassignments(it.state, it.request)
    ),
    # Settings, quotas, features
    IncrementalAlterConfigsRequest.API_KEY: lambda it: configs.incremental_alter_configs(
        it.state, it.request, it.received_by
    ),
    AlterConfigsRequest.API_KEY: lambda it: configs.alter_configs(
        it.state, it.request, it.received_by
    ),
    AlterClientQuotasRequest.API_KEY: lambda it: quotas.alter_client_quotas(it.state, it.request),
    AlterUserScramCredentialsRequest.API_KEY: lambda it: scram.alter_user_scram_credentials(
        it.state.image, it.request
    ),
    UpdateFeaturesRequest.API_KEY: lambda it: in_one_step(
        lambda: feature_updates.update_features(it.state, it.request, it.version, it.context)
    ),
    # Nodes
    BrokerRegistrationRequest.API_KEY: lambda it: registration.register_broker(
        it.state, it.request, it.version, it.context, it.now_ms
    ),
    BrokerHeartbeatRequest.API_KEY: lambda it: heartbeats.broker_heartbeat(
        it.state, it.request, it.now_ms
    ),
    UnregisterBrokerRequest.API_KEY: lambda it: brokers.unregister_broker(it.state, it.request),
    ControllerRegistrationRequest.API_KEY: lambda it: registration.register_controller(
        it.state, it.request
    ),
    AllocateProducerIdsRequest.API_KEY: lambda it: in_one_step(
        lambda: producer_ids.allocate_producer_ids(it.state, it.request)
    ),
    AssignReplicasToDirsRequest.API_KEY: lambda it: directories.assign_replicas_to_dirs(
        it.state, it.request
    ),
}
