"""A client's view of a cluster: brokers, partition leaders, and a connection to each broker.

This view becomes outdated: leaders move and brokers restart. ``retrying`` runs an operation
until it succeeds or fails with an error that retrying cannot fix, and refreshes the metadata in
between.
"""

import time
from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple, Self, TypeVar

from moldau.client.connection import Connection, ConnectionFailed
from moldau.client.security import PLAINTEXT, Security
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID, TopicPartition
from moldau.protocol.message import Message
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

T = TypeVar("T")
R = TypeVar("R", bound=Message)

DEFAULT_PORT: Final = 9092
_RETRY_BACKOFF_S: Final = 0.05
_MAX_BACKOFF_S: Final = 1.0


class BrokerAddress(NamedTuple):
    """The id, address and rack of a broker."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class PartitionMetadata(NamedTuple):
    """One partition, from a Metadata response."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]


class TopicMetadata(NamedTuple):
    """One topic, from a Metadata response; the partitions are sorted."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: list[PartitionMetadata]


def parse_bootstrap(text: str) -> list[tuple[str, int]]:
    """Parse ``host:port,host:port``; the default port is 9092. Raises ValueError."""
    servers = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        host, colon, port = item.rpartition(":")
        if not colon or item.endswith("]"):
            host, port = item, str(DEFAULT_PORT)
        if not port.isdigit() or not 0 < int(port) < 65536 or not host.strip("[]"):
            raise ValueError(f"{item!r} is not an address: write host:port, as in localhost:9092")
        servers.append((host.strip("[]"), int(port)))
    if not servers:
        raise ValueError("no broker is named: write host:port, as in localhost:9092")
    return servers


class Cluster:
    """Brokers, topics and connections. A connection is opened when it is first needed."""

    def __init__(
        self,
        bootstrap: str,
        *,
        client_id: str = "moldau",
        timeout_s: float = 30.0,
        security: Security = PLAINTEXT,
    ) -> None:
        self.bootstrap = parse_bootstrap(bootstrap)
        self.client_id = client_id
        self.timeout_s = timeout_s
        self.security = security
        self.cluster_id: str | None = None
        self.controller_id = -1
        self.brokers: dict[int, BrokerAddress] = {}
        self.topics: dict[str, TopicMetadata] = {}
        self._connections: dict[tuple[str, int], Connection] = {}

    def request(self, request: Message, response_class: type[R], node_id: int | None = None) -> R:
        """Send a request to broker ``node_id``, or to any broker."""
        return self.connection(node_id).request(request, response_class)

    def connection(self, node_id: int | None = None) -> Connection:
        """A connection to broker ``node_id``, or to any broker that can be reached."""
        if node_id is not None:
            if node_id not in self.brokers:
                self.refresh(())
            if node_id not in self.brokers:
                known = ", ".join(map(str, sorted(self.brokers)))
                message = f"there is no broker {node_id}; the cluster has {known}"
                raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE, message)
            broker = self.brokers[node_id]
            return self._connect(broker.host, broker.port)
        failures = []
        known_addresses = [(broker.host, broker.port) for broker in self.brokers.values()]
        for host, port in dict.fromkeys([*known_addresses, *self.bootstrap]):
            try:
                return self._connect(host, port)
            except ConnectionFailed as failure:
                failures.append(str(failure))
        raise ConnectionFailed("; ".join(failures))

    def refresh(self, topics: Collection[str] | None, *, allow_auto_create: bool = False) -> None:
        """Fetch the metadata of the brokers and of ``topics`` (None: all topics).

        Raises:
            ApiError: the broker reports an error for one of ``topics``.
        """
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=allow_auto_create)
        response = self.request(request, MetadataResponse)
        self.cluster_id = response.cluster_id
        self.controller_id = response.controller_id
        if response.brokers:
            self.brokers = {
                broker.node_id: BrokerAddress(broker.node_id, broker.host, broker.port, broker.rack)
                for broker in response.brokers
            }
        if topics is None:
            self.topics.clear()
        failed: ApiError | None = None
        for topic in response.topics:
            try:
                metadata = _topic_metadata(topic)
            except ApiError as error:
                self.topics.pop(topic.name or "", None)
                failed = failed or error
                continue
            self.topics[metadata.name] = metadata
        if failed is not None and topics is not None:
            raise failed

    def topic(self, name: str, *, allow_auto_create: bool = False) -> TopicMetadata:
        """The cached metadata of a topic, fetched first if necessary."""
        if name not in self.topics:
            self.refresh([name], allow_auto_create=allow_auto_create)
        return self.topics[name]

    def leader_of(self, partition: TopicPartition) -> int:
        """The node that leads a partition.

        Raises:
            ApiError: UNKNOWN_TOPIC_OR_PARTITION or LEADER_NOT_AVAILABLE.
        """
        topic = self.topic(partition.topic)
        for known in topic.partitions:
            if known.partition == partition.partition:
                if known.leader < 0:
                    message = f"{partition} has no leader"
                    raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, message)
                return known.leader
        count = len(topic.partitions)
        message = (
            f"there is no partition {partition.partition} in {topic.name}, "
            f"which has 0 to {count - 1}"
        )
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)

    def by_leader(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """``partitions``, grouped by the node that leads them."""
        groups: dict[int, list[TopicPartition]] = {}
        for partition in partitions:
            groups.setdefault(self.leader_of(partition), []).append(partition)
        return groups

    def retrying(
        self, operation: Callable[[], T], topics: Collection[str] = (), *, patience_s: float = 0.0
    ) -> T:
        """Run ``operation`` until it succeeds, for at most ``timeout_s``.

        Retriable errors and lost connections are retried, after dropping the cached metadata
        of ``topics``. An unknown topic is retried for ``patience_s`` only: it may be about to
        be created, but if it is not, the error should not take the whole timeout.
        """
        started = time.monotonic()
        backoff_s = _RETRY_BACKOFF_S
        while True:
            limit_s = self.timeout_s
            try:
                return operation()
            except ApiError as error:
                if error.code in _UNKNOWN:
                    limit_s = patience_s
                if not error.code.retriable or time.monotonic() + backoff_s - started > limit_s:
                    raise
            except ConnectionFailed:
                # No broker has ever responded: fail at once rather than after the timeout.
                if not self.brokers or time.monotonic() + backoff_s - started > limit_s:
                    raise
            self.forget(topics)
            time.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, _MAX_BACKOFF_S)

    def forget(self, topics: Iterable[str]) -> None:
        """Drop the cached metadata of these topics."""
        for topic in topics:
            self.topics.pop(topic, None)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self, host: str, port: int) -> Connection:
        address = (host, port)
        known = self._connections.get(address)
        if known is not None and not known.is_stale:
            return known
        if known is not None:
            known.close()
            del self._connections[address]
        made = Connection(
            host,
            port,
            client_id=self.client_id,
            timeout_s=self.timeout_s,
            security=self.security,
        )
        self._connections[address] = made
        return made


_UNKNOWN: Final = frozenset((ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID))
# For answers that have a code and no message; what is said of the thing concerned.
_WITHOUT_MESSAGE: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: " does not exist",
    ErrorCode.GROUP_ID_NOT_FOUND: " does not exist",
    ErrorCode.INVALID_TOPIC_EXCEPTION: ": not a valid topic name; use up to 249 ASCII letters, "
    "digits, '.', '_' and '-'",
}


def raise_for(code: int, message: str | None, what: str) -> None:
    """Raise ``ApiError`` if ``code`` is an error; ``what`` names the thing concerned."""
    if code != ErrorCode.NONE:
        error = error_code(code)
        if message:
            raise ApiError(error, f"{what}: {message}")
        meaning = f": {error.name.lower().replace('_', ' ')}"
        raise ApiError(error, f"{what}{_WITHOUT_MESSAGE.get(error, meaning)}")


def error_code(code: int) -> ErrorCode:
    """The code for a number from the wire; UNKNOWN_SERVER_ERROR for an unknown number."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _topic_metadata(topic: MetadataResponseTopic) -> TopicMetadata:
    name = topic.name or ""
    raise_for(topic.error_code, None, f"topic {name}")
    partitions = [
        PartitionMetadata(
            partition.partition_index,
            partition.leader_id,
            partition.leader_epoch,
            list(partition.replica_nodes),
            list(partition.isr_nodes),
            list(partition.offline_replicas),
        )
        for partition in topic.partitions
    ]
    partitions.sort()
    return TopicMetadata(name, topic.topic_id or NO_UUID, topic.is_internal, partitions)
