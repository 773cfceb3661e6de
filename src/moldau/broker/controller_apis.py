"""The table of the APIs that a controller serves on its own listeners, and to its own node.

Other nodes ask it about themselves, brokers pass on requests of clients in envelopes, and tools may
ask it directly. Whatever needs the active controller raises NOT_CONTROLLER if that is another node.
"""

from collections.abc import Awaitable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from moldau.broker.controller_runtime import ControllerRuntime
from moldau.broker.dispatch import RequestContext
from moldau.broker.envelopes import ANONYMOUS
from moldau.broker.failure_detection import FailureDetection
from moldau.broker.handlers.cluster import Cluster
from moldau.broker.handlers.logger_configs import LoggerConfigs
from moldau.broker.handlers.quorum import Quorum
from moldau.broker.handlers.raft import VOTER_CHANGE_KEYS, Raft
from moldau.broker.served_api import ServedApi
from moldau.controller.context import DecisionContext
from moldau.errors import ApiError, ErrorCode
from moldau.network.turns import Turns
from moldau.protocol.api import APIS
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.controller_registration import ControllerRegistrationRequest
from moldau.protocol.messages.describe_quorum import DescribeQuorumRequest
from moldau.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from moldau.broker.handlers.clients import Clients
    from moldau.broker.handlers.configs import Configs

# The only API whose answer does not say who the active controller is.
WRONG_CONTROLLER: Final = "This is not the correct controller for this cluster."

LIST_PARTITION_REASSIGNMENTS_KEY: Final = 46

# What requests ask for, by API key. Null, in place of a list, asks for everything.
_LISTS: Final[dict[int, tuple[str, ...]]] = {
    19: ("topics",),
    20: ("topics", "topic_names"),
    33: ("resources",),
    37: ("topics",),
    43: ("topic_partitions",),
    44: ("resources",),
    45: ("topics",),
    46: ("topics",),
    51: ("deletions", "upsertions"),
    56: ("topics",),
}


class ControllerApis:
    """What the controller of this node answers: decisions, and the state of its quorum."""

    def __init__(
        self,
        runtime: ControllerRuntime,
        raft: Raft,
        quorum: Quorum,
        turns: Turns,
        detection: FailureDetection,
    ) -> None:
        self._runtime = runtime
        self._detection = detection
        self._raft = raft
        self._quorum = quorum
        self._turns = turns

    async def handle(self, request: Message, version: int, context: DecisionContext) -> Any:
        """The response to a request of this node, or of a client of it.

        Raises:
            ApiError: NOT_CONTROLLER; the error of the whole request.
        """
        if request.API_KEY in VOTER_CHANGE_KEYS:
            return await self._raft.answer(request, version, context.listener)
        if not isinstance(request, DescribeQuorumRequest):
            return await self._runtime.handle(request, version, context)
        try:
            return await self._turns.complete(self._quorum.described(request, version))
        except ApiError as error:
            raise ApiError(ErrorCode.NOT_CONTROLLER, error.message) from error

    def decide(self, request: Message, context: RequestContext) -> Any | Awaitable[Any]:
        """Any request that arrives over the network and that the active controller decides."""
        if asks_for_nothing(request):
            # Any controller can do that, and none looks at who asks, as in Kafka.
            return _done_nothing(request)
        return self._runtime.handle(request, context.api_version, _decision_context(context))

    def heartbeat(
        self, request: BrokerHeartbeatRequest, context: RequestContext
    ) -> Any | Awaitable[Any]:
        """A heartbeat also tells which broker is at the other end of its connection."""
        self._detection.seen(context.session, request.broker_id, request.broker_epoch)
        return self.decide(request, context)

    async def alter_configs(
        self, request: IncrementalAlterConfigsRequest, context: RequestContext
    ) -> IncrementalAlterConfigsResponse:
        decided = self.decide(request, context)
        response = await decided if isinstance(decided, Awaitable) else decided
        assert isinstance(response, IncrementalAlterConfigsResponse)
        return response

    async def register_controller(
        self, request: ControllerRegistrationRequest, context: RequestContext
    ) -> Any:
        try:
            return await self.decide(request, context)
        except ApiError as error:
            if error.code != ErrorCode.NOT_CONTROLLER:
                raise
            raise ApiError(error.code, WRONG_CONTROLLER) from error


def asks_for_nothing(request: Message) -> bool:
    """Whether the request has only empty lists of what there is to do."""
    fields = _LISTS.get(request.API_KEY, ())
    return bool(fields) and all(getattr(request, field) == [] for field in fields)


def _done_nothing(request: Message) -> Message:
    if request.API_KEY == LIST_PARTITION_REASSIGNMENTS_KEY:
        # Imported late: few clients ask for them.
        from moldau.protocol.messages.list_partition_reassignments import (
            ListPartitionReassignmentsResponse,
        )

        return ListPartitionReassignmentsResponse(error_message=None)
    return APIS[request.API_KEY].response_class()()


def _decision_context(context: RequestContext) -> DecisionContext:
    origin = context.origin
    if origin is None:
        return DecisionContext(
            principal=str(ANONYMOUS),
            client_address=context.session.peer_host,
            listener=context.session.listener,
        )
    return DecisionContext(
        principal=origin.principal,
        client_address=origin.client_host,
        listener=context.session.listener,
        received_by=origin.broker_id,
    )


def security() -> ModuleType:
    """The handlers of SASL, ACLs and tokens, imported with the first request for one of them."""
    from moldau.broker.handlers import security

    return security


def _envelope() -> ModuleType:
    # Imported late: a node without a controller listener gets no envelopes.
    from moldau.broker.handlers import envelope

    return envelope


class ControllerHandlers(NamedTuple):
    """The handlers of a controller."""

    apis: ControllerApis
    raft: Raft
    quorum: Quorum
    clients: "Clients"
    cluster: Cluster
    configs: "Configs"
    loggers: LoggerConfigs


Api = ServedApi[ControllerHandlers]

CONTROLLER_APIS: Final[tuple[Api, ...]] = (
    Api("Fetch", 1, lambda it: it.raft.handle),
    Api("SaslHandshake", 17, lambda it: security().sasl_handshake, is_rare=True),
    Api("ApiVersions", 18, lambda it: it.cluster.api_versions),
    Api("CreateTopics", 19, lambda it: it.apis.decide),
    Api("DeleteTopics", 20, lambda it: it.apis.decide),
    Api("DescribeAcls", 29, lambda it: security().describe_acls, is_rare=True),
    Api("CreateAcls", 30, lambda it: security().create_acls, is_rare=True),
    Api("DeleteAcls", 31, lambda it: security().delete_acls, is_rare=True),
    Api("DescribeConfigs", 32, lambda it: it.configs.describe),
    Api("AlterConfigs", 33, lambda it: it.apis.decide),
    Api("SaslAuthenticate", 36, lambda it: security().sasl_authenticate, is_rare=True),
    Api("CreatePartitions", 37, lambda it: it.apis.decide),
    Api("CreateDelegationToken", 38, lambda it: security().create_token, is_rare=True),
    Api("RenewDelegationToken", 39, lambda it: security().renew_token, is_rare=True),
    Api("ExpireDelegationToken", 40, lambda it: security().expire_token, is_rare=True),
    Api("DescribeDelegationToken", 41, lambda it: security().describe_tokens, is_rare=True),
    Api("ElectLeaders", 43, lambda it: it.apis.decide),
    Api("IncrementalAlterConfigs", 44, lambda it: it.loggers.alter),
    Api("AlterPartitionReassignments", 45, lambda it: it.apis.decide),
    Api("ListPartitionReassignments", 46, lambda it: it.apis.decide),
    Api("AlterClientQuotas", 49, lambda it: it.apis.decide),
    Api("DescribeUserScramCredentials", 50, lambda it: it.clients.scram_credentials),
    Api("AlterUserScramCredentials", 51, lambda it: it.apis.decide),
    Api("Vote", 52, lambda it: it.raft.handle),
    Api("BeginQuorumEpoch", 53, lambda it: it.raft.handle),
    Api("EndQuorumEpoch", 54, lambda it: it.raft.handle),
    Api("DescribeQuorum", 55, lambda it: it.quorum.describe),
    Api("AlterPartition", 56, lambda it: it.apis.decide),
    Api("UpdateFeatures", 57, lambda it: it.apis.decide),
    Api("Envelope", 58, lambda it: _envelope().handle),
    Api("FetchSnapshot", 59, lambda it: it.raft.handle),
    Api("DescribeCluster", 60, lambda it: it.cluster.describe_controllers),
    Api("BrokerRegistration", 62, lambda it: it.apis.decide),
    Api("BrokerHeartbeat", 63, lambda it: it.apis.heartbeat),
    Api("UnregisterBroker", 64, lambda it: it.apis.decide),
    Api("AllocateProducerIds", 67, lambda it: it.apis.decide),
    Api("ControllerRegistration", 70, lambda it: it.apis.register_controller),
    Api("AssignReplicasToDirs", 73, lambda it: it.apis.decide),
    Api("AddRaftVoter", 80, lambda it: it.raft.handle),
    Api("RemoveRaftVoter", 81, lambda it: it.raft.handle),
    Api("UpdateRaftVoter", 82, lambda it: it.raft.handle),
)
