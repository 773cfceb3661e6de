"""The requests that the active controller decides, by API key.

One table for all callers: requests of clients that a broker forwards, of brokers about themselves,
and of this process to itself. What many clusters never ask for is imported with the first request,
in about a millisecond, so that a node starts faster and takes less memory.
"""

from collections.abc import Callable
from typing import Any, Final

from moldau.controller import (
    brokers,
    configs,
    directories,
    elections,
    heartbeats,
    partitions,
    producer_ids,
    registration,
    topics,
)
from moldau.controller.context import DecisionContext
from moldau.controller.outcome import Deciding, in_one_step
from moldau.controller.state import ControllerState
from moldau.protocol.api import APIS
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from moldau.protocol.messages.alter_configs import AlterConfigsRequest
from moldau.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest
from moldau.protocol.messages.controller_registration import ControllerRegistrationRequest
from moldau.protocol.messages.create_partitions import CreatePartitionsRequest
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest
from moldau.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest


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


Decide = Callable[[Asked], Deciding[Any]]


def _alter_partition(it: Asked) -> Deciding[Any]:
    from moldau.controller.alter_partition import alter_partition

    return alter_partition(it.state, it.request, it.version)


def _alter_partition_reassignments(it: Asked) -> Deciding[Any]:
    from moldau.controller.reassignments import alter_partition_reassignments

    return alter_partition_reassignments(it.state, it.request)


def _list_partition_reassignments(it: Asked) -> Deciding[Any]:
    from moldau.controller.reassignments import list_partition_reassignments

    return list_partition_reassignments(it.state, it.request)


def _alter_client_quotas(it: Asked) -> Deciding[Any]:
    from moldau.controller.quotas import alter_client_quotas

    return alter_client_quotas(it.state, it.request)


def _alter_user_scram_credentials(it: Asked) -> Deciding[Any]:
    from moldau.controller.scram import alter_user_scram_credentials

    return alter_user_scram_credentials(it.state.image, it.request)


def _update_features(it: Asked) -> Deciding[Any]:
    from moldau.controller.feature_updates import update_features

    return update_features(it.state, it.request, it.version, it.context)


def _key(name: str) -> int:
    """The key of an API whose messages are not imported yet."""
    return next(api.key for api in APIS.values() if api.name == name)


DECISIONS: Final[dict[int, Decide]] = {
    # Topics and partitions
    CreateTopicsRequest.API_KEY: lambda it: topics.create_topics(it.state, it.request),
    DeleteTopicsRequest.API_KEY: lambda it: topics.delete_topics(it.state, it.request, it.version),
    CreatePartitionsRequest.API_KEY: lambda it: partitions.create_partitions(it.state, it.request),
    ElectLeadersRequest.API_KEY: lambda it: elections.elect_leaders(it.state, it.request),
    _key("AlterPartition"): _alter_partition,
    _key("AlterPartitionReassignments"): _alter_partition_reassignments,
    _key("ListPartitionReassignments"): _list_partition_reassignments,
    # Settings, quotas, features
    IncrementalAlterConfigsRequest.API_KEY: lambda it: configs.incremental_alter_configs(
        it.state, it.request, it.context.received_by
    ),
    AlterConfigsRequest.API_KEY: lambda it: configs.alter_configs(
        it.state, it.request, it.context.received_by
    ),
    _key("AlterClientQuotas"): _alter_client_quotas,
    _key("AlterUserScramCredentials"): _alter_user_scram_credentials,
    _key("UpdateFeatures"): _update_features,
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
