"""Finds the coordinators of groups and transactional ids (FindCoordinator)."""

from enum import IntEnum
from typing import Final, TypeVar

from moldau.client.cluster import BrokerAddress, Cluster, raise_for
from moldau.client.connection import NEWEST, Connection
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

R = TypeVar("R", bound=Message)

_FIND_COORDINATOR_KEY: Final = 10
_FIRST_BATCHED: Final = 4


class CoordinatorKind(IntEnum):
    """The kind of coordinator, numbered as in FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1

    def __str__(self) -> str:
        return "group" if self is CoordinatorKind.GROUP else "transactional id"


class Coordinators:
    """Looks up each coordinator once, and again after ``forget``."""

    def __init__(self, cluster: Cluster, kind: CoordinatorKind = CoordinatorKind.GROUP) -> None:
        self._cluster = cluster
        self._kind = kind
        self._nodes: dict[str, int] = {}

    def request(
        self,
        group_id: str,
        request: Message,
        response_class: type[R],
        *,
        max_version: int = NEWEST,
    ) -> R:
        """Send a request to the coordinator of a group."""
        connection = self.connection(group_id)
        return connection.request(request, response_class, max_version=max_version)

    def connection(self, group_id: str) -> Connection:
        """A connection to the coordinator of a group.

        Raises:
            ApiError: there is no coordinator, or it is not available yet.
        """
        node_id = self.node_id(group_id)
        try:
            return self._cluster.connection(node_id)
        except ApiError as error:
            if error.code is not ErrorCode.BROKER_NOT_AVAILABLE:
                raise
            # It has left the cluster or is fenced: another broker coordinates, or will soon.
            self.forget(group_id)
            message = f"coordinator of {self._kind!s} {group_id}: {error.message}"
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, message) from error

    def node_id(self, group_id: str) -> int:
        """The broker that coordinates a group."""
        if group_id not in self._nodes:
            self._nodes[group_id] = self._find(group_id)
        return self._nodes[group_id]

    def forget(self, group_id: str) -> None:
        """Look the coordinator up again on the next use: it has moved."""
        self._nodes.pop(group_id, None)

    def _find(self, group_id: str) -> int:
        connection = self._cluster.connection()
        request = FindCoordinatorRequest(key_type=self._kind)
        if connection.version_of(_FIND_COORDINATOR_KEY) >= _FIRST_BATCHED:
            request.coordinator_keys = [group_id]
            response = connection.request(request, FindCoordinatorResponse)
            found = response.coordinators[0]
            code, message = found.error_code, found.error_message
            broker = BrokerAddress(found.node_id, found.host, found.port)
        else:
            request.key = group_id
            response = connection.request(request, FindCoordinatorResponse)
            code, message = response.error_code, response.error_message
            broker = BrokerAddress(response.node_id, response.host, response.port)
        raise_for(code, message, f"coordinator of {self._kind!s} {group_id}")
        self._cluster.brokers.setdefault(broker.node_id, broker)
        return broker.node_id
