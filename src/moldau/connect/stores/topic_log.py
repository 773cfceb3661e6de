"""An internal topic as a log: made if it is missing, refused if it is not compacted.

A topic that deletes old records would lose connectors and offsets some days later, so it is refused
at the start, as by Kafka's worker.
"""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field

from moldau.client.admin import Admin, ResourceType
from moldau.client.connection import ConnectionFailed
from moldau.client.consumer import Consumer
from moldau.client.offsets import EARLIEST, LATEST, list_offsets
from moldau.client.producer import Producer
from moldau.client.security import PLAINTEXT, Security
from moldau.connect.data.errors import ConnectError
from moldau.connect.stores.config_records import Record
from moldau.connect.stores.record_log import OnRecord
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition

log = logging.getLogger(__name__)

_POLL_S = 0.2


@dataclass(frozen=True)
class ClientSettings:
    """How to reach the brokers."""

    bootstrap: str
    client_id: str
    timeout_s: float = 30.0
    security: Security = PLAINTEXT


@dataclass(frozen=True)
class TopicSettings:
    """An internal topic: its name, the worker's setting that names it, and how to create it."""

    name: str
    setting: str
    purpose: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)


class TopicError(ConnectError):
    """An internal topic cannot be used as it is."""


def ensure_topic(clients: ClientSettings, topic: TopicSettings) -> None:
    """Create the topic if it is missing.

    Raises:
        TopicError: it exists and is not compacted, or has too many partitions.
        ApiError: it could not be created.
    """
    with Admin(
        clients.bootstrap,
        client_id=clients.client_id,
        timeout_s=clients.timeout_s,
        security=clients.security,
    ) as admin:
        try:
            # Compaction is set last: whatever else is configured, this is not the user's choice.
            admin.create_topic(
                topic.name,
                topic.partitions,
                topic.replication_factor,
                configs={**topic.configs, "cleanup.policy": "compact"},
            )
        except ApiError as error:
            # Without permission to create, it may be there all the same.
            if error.code not in (
                ErrorCode.TOPIC_ALREADY_EXISTS,
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            ):
                raise
            _check_existing(admin, topic)


def _check_existing(admin: Admin, topic: TopicSettings) -> None:
    entries = admin.describe_configs(ResourceType.TOPIC, topic.name, ["cleanup.policy"])
    policy = next((each.value or "" for each in entries), "")
    words = {word.strip().lower() for word in policy.split(",")} - {""}
    if words and words != {"compact"}:
        raise TopicError(
            f"topic {topic.name} of {topic.setting} has cleanup.policy={policy}, which would lose "
            f"{topic.purpose} some day: set cleanup.policy=compact (moldau configs), or name "
            f"another topic in {topic.setting}"
        )
    (described,) = admin.describe_topics([topic.name])
    count = len(described.partitions)
    if topic.partitions == 1 and count > 1:
        raise TopicError(
            f"topic {topic.name} of {topic.setting} has {count} partitions, but only one keeps "
            f"{topic.purpose} in order: name another topic in {topic.setting}"
        )


class TopicLog:
    """One internal topic: a consumer that reads all of it, and a producer.

    With a ``transactional_id``, records that are appended together become visible together, and
    whoever claims the log keeps all earlier writers from writing (KIP-618).

    A log into which several writers have transactions is read only up to the first that is open:
    what others have committed since then is not seen. With ``awaits_transactions`` a read waits
    until those have ended that are open when it begins.
    """

    def __init__(
        self,
        clients: ClientSettings,
        topic: TopicSettings,
        transactional_id: str | None = None,
        *,
        awaits_transactions: bool = False,
    ) -> None:
        self._clients = clients
        self._topic = topic
        self._transactional_id = transactional_id
        self._awaits_transactions = awaits_transactions
        self._is_closing = False
        self._on_record: OnRecord | None = None
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._consumer: Consumer | None = None
        self._producer: Producer | None = None

    def start(self, on_record: OnRecord) -> None:
        ensure_topic(self._clients, self._topic)
        self._on_record = on_record
        # Records of aborted transactions do not count: Apache's workers write in transactions
        # where exactly.once.source.support is on, and so do sources here.
        consumer = Consumer(
            self._clients.bootstrap,
            client_id=self._clients.client_id,
            read_committed=True,
            auto_offset_reset="earliest",
            timeout_s=self._clients.timeout_s,
            security=self._clients.security,
        )
        self._consumer = consumer
        partitions = self._partitions(consumer)
        consumer.assign(consumer.offsets_at(dict.fromkeys(partitions, EARLIEST)))
        # A worker that died may have left transactions, which end only when its sources are
        # started here.
        self._read_to_end(read_committed=True)

    def _partitions(self, consumer: Consumer) -> list[TopicPartition]:
        """Also right after the topic was created, when not every broker knows of it."""
        topic = self._topic.name
        metadata = consumer.cluster.retrying(
            lambda: consumer.cluster.topic(topic), [topic], patience_s=self._clients.timeout_s
        )
        return [TopicPartition(topic, each.partition) for each in metadata.partitions]

    def read_to_end(self) -> None:
        self._read_to_end(read_committed=not self._awaits_transactions)

    def _read_to_end(self, *, read_committed: bool) -> None:
        """To the last stable offsets, or if not ``read_committed`` to the high watermarks."""
        with self._reading:
            consumer, on_record = self._consumer, self._on_record
            if consumer is None or on_record is None:
                raise ConnectError(f"the log of {self._topic.name} is closed")
            wanted = dict.fromkeys(consumer.positions, LATEST)
            ends = list_offsets(consumer.cluster, wanted, read_committed=read_committed)
            deadline_s = time.monotonic() + self._clients.timeout_s
            while behind := [
                each for each, end in ends.items() if consumer.positions[each] < end.offset
            ]:
                records = consumer.poll(_POLL_S)
                for record in records:
                    on_record(record.key, record.value)
                if records or read_committed:
                    deadline_s = time.monotonic() + self._clients.timeout_s
                elif time.monotonic() > deadline_s or self._is_closing:
                    raise ApiError(
                        ErrorCode.REQUEST_TIMED_OUT,
                        f"a transaction of {behind[0]} is still open: what was committed since "
                        "cannot be read until it ends",
                    )

    def append(self, records: Sequence[Record]) -> None:
        with self._producing() as producer, self._unit(producer):
            deliveries = [producer.send(self._topic.name, value, key=key) for key, value in records]
            producer.flush()
            failed = next((each.error for each in deliveries if each.error), None)
            if failed is not None:
                raise failed

    def claim(self) -> None:
        if self._transactional_id is not None:
            with self._producing() as producer:
                # The first transaction of a producer takes the id over.
                producer.begin_transaction()
                producer.abort_transaction()

    def _unit(self, producer: Producer) -> AbstractContextManager[None]:
        return nullcontext() if self._transactional_id is None else producer.transaction()

    @contextmanager
    def _producing(self) -> Iterator[Producer]:
        with self._writing:
            producer = self._producer = self._producer or self._new_producer()
            try:
                yield producer
            except (ApiError, ConnectionFailed):
                # What became of its batches is not known: the next one starts afresh.
                self._producer = None
                with suppress(ApiError, ConnectionFailed, OSError):
                    producer.close()
                raise

    def _new_producer(self) -> Producer:
        return Producer(
            self._clients.bootstrap,
            client_id=self._clients.client_id,
            linger_ms=0,
            timeout_s=self._clients.timeout_s,
            delivery_timeout_s=self._clients.timeout_s,
            security=self._clients.security,
            transactional_id=self._transactional_id,
        )

    def close(self) -> None:
        self._is_closing = True
        with self._reading:
            consumer, self._consumer = self._consumer, None
        with self._writing:
            producer, self._producer = self._producer, None
        for client in (consumer, producer):
            if client is not None:
                client.close()
