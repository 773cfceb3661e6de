"""A controller with a method for each kind of request, which takes all its steps at once."""

import random
from typing import Any

from moldau.config.broker import BrokerConfig
from moldau.controller import quotas
from moldau.controller.context import DecisionContext
from moldau.controller.controller import Controller
from moldau.controller.outcome import Outcome, Steps, decided
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
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from moldau.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from moldau.protocol.messages.update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


class DirectController(Controller):
    """Active from the beginning."""

    def __init__(
        self, node_id: int, cluster_id: str, config: BrokerConfig, rng: random.Random
    ) -> None:
        super().__init__(node_id, cluster_id, config, rng)
        self.activated(0)

    def _decided(
        self, request: Message, version: int | None = None, now_ms: int = 0, **context: Any
    ) -> Outcome[Any]:
        latest = request.MAX_VERSION if version is None else version
        return decided(self.decide(request, latest, DecisionContext(**context), now_ms))

    def create_topics(self, request: CreateTopicsRequest) -> Outcome[CreateTopicsResponse]:
        return self._decided(request)

    def delete_topics(
        self, request: DeleteTopicsRequest, version: int
    ) -> Outcome[DeleteTopicsResponse]:
        return self._decided(request, version)

    def create_partitions(
        self, request: CreatePartitionsRequest
    ) -> Outcome[CreatePartitionsResponse]:
        return self._decided(request)

    def elect_leaders(self, request: ElectLeadersRequest) -> Outcome[ElectLeadersResponse]:
        return self._decided(request)

    def alter_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest
    ) -> Outcome[AlterPartitionReassignmentsResponse]:
        return self._decided(request)

    def incremental_alter_configs(
        self, request: IncrementalAlterConfigsRequest, received_by: int = 1
    ) -> Outcome[IncrementalAlterConfigsResponse]:
        return self._decided(request, received_by=received_by)

    def alter_configs(
        self, request: AlterConfigsRequest, received_by: int = 1
    ) -> Outcome[AlterConfigsResponse]:
        return self._decided(request, received_by=received_by)

    def alter_client_quotas(
        self, request: AlterClientQuotasRequest
    ) -> Outcome[AlterClientQuotasResponse]:
        return self._decided(request)

    def describe_client_quotas(
        self, request: DescribeClientQuotasRequest
    ) -> Steps[DescribeClientQuotasResponse]:
        return quotas.describe_client_quotas(self.image, request)

    def alter_user_scram_credentials(
        self, request: AlterUserScramCredentialsRequest
    ) -> Outcome[AlterUserScramCredentialsResponse]:
        return self._decided(request)

    def update_features(
        self, request: UpdateFeaturesRequest, version: int
    ) -> Outcome[UpdateFeaturesResponse]:
        return self._decided(request, version)

    def register_broker(
        self,
        request: BrokerRegistrationRequest,
        next_offset: int,
        now_ms: int = 0,
        *,
        is_local: bool = False,
    ) -> Outcome[BrokerRegistrationResponse]:
        return self._decided(request, now_ms=now_ms, next_offset=next_offset, is_local=is_local)

    def broker_heartbeat(
        self, request: BrokerHeartbeatRequest, now_ms: int = 0
    ) -> Outcome[BrokerHeartbeatResponse]:
        return self._decided(request, now_ms=now_ms)

    def assign_replicas_to_dirs(
        self, request: AssignReplicasToDirsRequest
    ) -> Outcome[AssignReplicasToDirsResponse]:
        return self._decided(request)

    def unregister_broker(
        self, request: UnregisterBrokerRequest
    ) -> Outcome[UnregisterBrokerResponse]:
        return self._decided(request)

    def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest
    ) -> Outcome[AllocateProducerIdsResponse]:
        return self._decided(request)
