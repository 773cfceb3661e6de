"""The controller: requests in, records and responses out.

Every method that handles a request reads the state and returns an Outcome; none changes it. The
owner writes the records to the metadata log and passes them to ``replay``, which alone changes
the state. Each request sees the decisions of the previous ones.

Requests that may be large can also be handled in steps: ``altering_configs`` for ``alter_configs``.
"""

import random
from collections.abc import Generator, Sequence

from moldau.config.broker import BrokerConfig
from moldau.controller import (
    brokers,
    configs,
    directories,
    elections,
    feature_updates,
    quotas,
    scram,
    topics,
)
from moldau.controller import partitions as new_partitions
from moldau.controller.activation import activation_records
from moldau.controller.outcome import Deciding, Outcome, decided
from moldau.controller.state import ControllerState
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from moldau.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from moldau.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from moldau.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from moldau.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from moldau.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from moldau.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from moldau.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from moldau.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from moldau.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from moldau.protocol.messages.update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


class Controller:
    """Handles requests. Errors of a whole request are raised as ApiError."""

    def __init__(
        self,
        node_id: int,
        cluster_id: str,
        config: BrokerConfig,
        rng: random.Random,
        image: MetadataImage = EMPTY_IMAGE,
    ) -> None:
        self.state = ControllerState(node_id, cluster_id, config, rng, image)

    @property
    def image(self) -> MetadataImage:
        """The state after all decisions so far, committed or not."""
        return self.state.image

    def replay(
        self, base_offset: int, epoch: int, timestamp_ms: int, records: Sequence[Message]
    ) -> tuple[MetadataImage, MetadataDelta]:
        """Apply the records of one batch as they were written."""
        return self.state.replay(base_offset, epoch, timestamp_ms, records)

    def activate(self, bootstrap: Sequence[Message]) -> list[Message]:
        """The first records to write, once this node leads the quorum."""
        return activation_records(self.state, bootstrap)

    # Topics

    def create_topics(self, request: CreateTopicsRequest) -> Outcome[CreateTopicsResponse]:
        return decided(self.creating_topics(request))

    def creating_topics(self, request: CreateTopicsRequest) -> Deciding[CreateTopicsResponse]:
        return topics.create_topics(self.state, request)

    def delete_topics(
        self, request: DeleteTopicsRequest, version: int
    ) -> Outcome[DeleteTopicsResponse]:
        return decided(self.deleting_topics(request, version))

    def deleting_topics(
        self, request: DeleteTopicsRequest, version: int
    ) -> Deciding[DeleteTopicsResponse]:
        return topics.delete_topics(self.state, request, version)

    def create_partitions(
        self, request: CreatePartitionsRequest
    ) -> Outcome[CreatePartitionsResponse]:
        return decided(self.creating_partitions(request))

    def creating_partitions(
        self, request: CreatePartitionsRequest
    ) -> Deciding[CreatePartitionsResponse]:
        return new_partitions.create_partitions(self.state, request)

    def elect_leaders(self, request: ElectLeadersRequest) -> Outcome[ElectLeadersResponse]:
        return decided(self.electing_leaders(request))

    def electing_leaders(self, request: ElectLeadersRequest) -> Deciding[ElectLeadersResponse]:
        return elections.elect_leaders(self.state, request)

    def alter_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest
    ) -> Outcome[AlterPartitionReassignmentsResponse]:
        return decided(self.altering_partition_reassignments(request))

    def altering_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest
    ) -> Deciding[AlterPartitionReassignmentsResponse]:
        return elections.alter_partition_reassignments(self.state, request)

    def list_partition_reassignments(
        self, request: ListPartitionReassignmentsRequest
    ) -> ListPartitionReassignmentsResponse:
        return elections.list_partition_reassignments(self.state, request)

    # Settings, quotas, features

    def incremental_alter_configs(
        self, request: IncrementalAlterConfigsRequest, received_by: int | None = None
    ) -> Outcome[IncrementalAlterConfigsResponse]:
        return decided(self.incrementally_altering_configs(request, received_by))

    def incrementally_altering_configs(
        self, request: IncrementalAlterConfigsRequest, received_by: int | None = None
    ) -> Deciding[IncrementalAlterConfigsResponse]:
        broker = self.state.node_id if received_by is None else received_by
        return configs.incremental_alter_configs(self.state, request, broker)

    def alter_configs(
        self, request: AlterConfigsRequest, received_by: int | None = None
    ) -> Outcome[AlterConfigsResponse]:
        return decided(self.altering_configs(request, received_by))

    def altering_configs(
        self, request: AlterConfigsRequest, received_by: int | None = None
    ) -> Deciding[AlterConfigsResponse]:
        broker = self.state.node_id if received_by is None else received_by
        return configs.alter_configs(self.state, request, broker)

    def alter_client_quotas(
        self, request: AlterClientQuotasRequest
    ) -> Outcome[AlterClientQuotasResponse]:
        return decided(self.altering_client_quotas(request))

    def altering_client_quotas(
        self, request: AlterClientQuotasRequest
    ) -> Deciding[AlterClientQuotasResponse]:
        return quotas.alter_client_quotas(self.state, request)

    def describe_client_quotas(
        self, request: DescribeClientQuotasRequest
    ) -> DescribeClientQuotasResponse:
        return quotas.describe_client_quotas(self.image, request)

    def alter_user_scram_credentials(
        self, request: AlterUserScramCredentialsRequest
    ) -> Outcome[AlterUserScramCredentialsResponse]:
        return decided(self.altering_user_scram_credentials(request))

    def altering_user_scram_credentials(
        self, request: AlterUserScramCredentialsRequest
    ) -> Deciding[AlterUserScramCredentialsResponse]:
        return scram.alter_user_scram_credentials(self.image, request)

    def describe_user_scram_credentials(
        self, request: DescribeUserScramCredentialsRequest
    ) -> Generator[None, None, DescribeUserScramCredentialsResponse]:
        return scram.describe_user_scram_credentials(self.image, request)

    def update_features(
        self, request: UpdateFeaturesRequest, version: int, kraft_version: int = 1
    ) -> Outcome[UpdateFeaturesResponse]:
        return feature_updates.update_features(self.state, request, version, kraft_version)

    # Brokers

    def register_broker(
        self, request: BrokerRegistrationRequest, next_offset: int
    ) -> Outcome[BrokerRegistrationResponse]:
        return brokers.register_broker(self.state, request, next_offset)

    def register_controller(
        self, request: ControllerRegistrationRequest
    ) -> Outcome[ControllerRegistrationResponse]:
        return brokers.register_controller(self.state, request)

    def broker_heartbeat(self, request: BrokerHeartbeatRequest) -> Outcome[BrokerHeartbeatResponse]:
        return brokers.broker_heartbeat(self.state, request)

    def assign_replicas_to_dirs(
        self, request: AssignReplicasToDirsRequest
    ) -> Outcome[AssignReplicasToDirsResponse]:
        return directories.assign_replicas_to_dirs(self.state, request)

    def unregister_broker(
        self, request: UnregisterBrokerRequest
    ) -> Outcome[UnregisterBrokerResponse]:
        return brokers.unregister_broker(self.state, request)

    def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest
    ) -> Outcome[AllocateProducerIdsResponse]:
        return brokers.allocate_producer_ids(self.state, request)

    def mark_recovered(self, broker_id: int) -> list[Message]:
        return brokers.mark_recovered(self.state, broker_id)
