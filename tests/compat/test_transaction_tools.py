"""kafka-transactions: what it lists and describes, and how it ends what nobody else would.

The broker does not verify that a partition was added to a transaction, as those before KIP-890 did
not, so that a transaction can be left hanging on purpose.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools import wire
from tools.brokers import HOST, Broker

from moldau.client.admin import Admin
from moldau.client.batches import EncodedBatch
from moldau.client.cluster import Cluster, raise_for
from moldau.client.consumer import Consumer
from moldau.client.coordinators import Coordinators
from moldau.client.producer import Producer
from moldau.client.sender import Sender
from moldau.client.transactions import TransactionIdentity, Transactions
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from moldau.record.header import BATCH_HEADER_SIZE
from moldau.record.records import BatchBuilder
from tests.compat.clients.programs import UnavailableError, build_java
from tests.compat.conftest import NO_TRANSACTIONS, TXN_OFFSET_COMMIT
from tests.compat.java_tools import Toolbox

TOOL = "org.apache.kafka.tools.TransactionsCommand"
TIMEOUT_MS = 600_000
AN_HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def broker(broker_kind: type[Broker], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    settings = {"transaction.partition.verification.enable": "false"}
    with broker_kind(tmp_path_factory.mktemp("transactions") / "data", settings) as running:
        if TXN_OFFSET_COMMIT not in wire.api_versions(HOST, running.port):
            pytest.skip(NO_TRANSACTIONS)
        yield running


class Transacting:
    """The tool, pointed at a broker."""

    def __init__(self, toolbox: Toolbox, bootstrap: str) -> None:
        self._toolbox = toolbox
        self._bootstrap = bootstrap

    def run(self, *arguments: str) -> list[dict[str, str]]:
        """The rows of the table that it prints, by the names of the columns."""
        output = self._toolbox.run(TOOL, "--bootstrap-server", self._bootstrap, *arguments)
        assert output.status == 0, output.both
        lines = [line.split("\t") for line in output.stdout.splitlines() if line.strip()]
        if not lines:
            return []
        names, *rows = [[word.strip() for word in line if word.strip()] for line in lines]
        return [dict(zip(names, row, strict=False)) for row in rows]

    def fail(self, *arguments: str) -> str:
        output = self._toolbox.run(TOOL, "--bootstrap-server", self._bootstrap, *arguments)
        assert output.status != 0, output.both
        return output.both


@pytest.fixture(scope="module")
def tool(
    broker: Broker, program_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Transacting]:
    folder = tmp_path_factory.mktemp("toolbox")
    try:
        command = build_java(program_dir, "Tools")
    except UnavailableError as reason:
        pytest.skip(str(reason))
    box = Toolbox(command, folder / "tools.log")
    yield Transacting(box, broker.bootstrap)
    box.close()


@pytest.fixture
def partition(broker: Broker, topic: str) -> TopicPartition:
    with Admin(broker.bootstrap) as admin:
        admin.create_topic(topic, 1)
    return TopicPartition(topic, 0)


@pytest.fixture
def cluster(broker: Broker) -> Iterator[Cluster]:
    with Cluster(broker.bootstrap) as running:
        yield running


@pytest.fixture
def producer(broker: Broker, topic: str) -> Iterator[Producer]:
    """A producer whose transactions may take long, with the id of the topic."""
    with Producer(
        broker.bootstrap, transactional_id=topic, transaction_timeout_ms=TIMEOUT_MS
    ) as running:
        yield running


def write(producer: Producer, partition: TopicPartition) -> None:
    producer.begin_transaction()
    producer.send(partition.topic, b"x", partition=partition.partition)
    producer.flush()


def hang(cluster: Cluster, partition: TopicPartition, when_ms: int) -> TransactionIdentity:
    """Write a transactional batch of which the coordinator does not know."""
    identity = TransactionIdentity(f"hanging-in-{partition.topic}")
    identity = Transactions(cluster, 1).begin(identity, TIMEOUT_MS)
    builder = BatchBuilder()
    builder.append(when_ms, None, b"hanging")
    errors: list[ApiError | None] = []
    batch = EncodedBatch(
        partition,
        time.monotonic(),
        builder.build()[BATCH_HEADER_SIZE:],
        count=1,
        base_timestamp=when_ms,
        max_timestamp=when_ms,
        on_done=lambda _, error: errors.append(error),
    )
    sender = Sender(cluster, identity.producer())
    sender.add(batch)
    sender.flush()
    assert errors == [None]
    return identity


def hang_offsets(cluster: Cluster, partition: TopicPartition, group: str) -> None:
    """Commit an offset in a transaction of which the coordinator does not know."""
    identity = TransactionIdentity(f"hanging-in-{group}")
    identity = Transactions(cluster, 1).begin(identity, TIMEOUT_MS)
    offset = TxnOffsetCommitRequestPartition(partition.partition, 7)
    request = TxnOffsetCommitRequest(
        identity.transactional_id,
        group,
        identity.producer_id,
        identity.producer_epoch,
        topics=[TxnOffsetCommitRequestTopic(partition.topic, [offset])],
    )

    def ask() -> None:
        response = Coordinators(cluster).request(
            group, request, TxnOffsetCommitResponse, max_version=4
        )
        raise_for(response.topics[0].partitions[0].error_code, None, group)

    cluster.retrying(ask)


def list_transactions(cluster: Cluster, request: ListTransactionsRequest) -> dict[str, str]:
    """States by transactional id."""
    response = cluster.request(request, ListTransactionsResponse)
    assert response.error_code == ErrorCode.NONE
    return {each.transactional_id: each.transaction_state for each in response.transaction_states}


def test_transactions_are_listed_by_pattern_and_duration(
    tool: Transacting, producer: Producer, partition: TopicPartition
) -> None:
    name = partition.topic
    write(producer, partition)
    (listed,) = [each for each in tool.run("list") if each["TransactionalId"] == name]
    assert listed["TransactionState"] == "Ongoing"
    pattern = f"{name[:-3]}.*"
    assert tool.run("list", "--transactional-id-pattern", pattern) == [listed]
    assert tool.run("list", "--transactional-id-pattern", name[:-3]) == []
    running = ["list", "--transactional-id-pattern", pattern, "--duration-filter"]
    assert tool.run(*running, "-1") == [listed]
    assert tool.run(*running, str(TIMEOUT_MS)) == []
    producer.commit_transaction()
    (listed,) = tool.run("list", "--transactional-id-pattern", pattern)
    assert listed["TransactionState"] in ("PrepareCommit", "CompleteCommit")


def test_transactions_are_filtered_by_state_and_producer_id(
    cluster: Cluster, producer: Producer, partition: TopicPartition
) -> None:
    name = partition.topic
    write(producer, partition)
    listed = cluster.request(
        ListTransactionsRequest(transactional_id_pattern=name), ListTransactionsResponse
    )
    (found,) = listed.transaction_states
    for request, is_listed in (
        (ListTransactionsRequest(state_filters=["Ongoing", "Empty"]), True),
        (ListTransactionsRequest(state_filters=["CompleteCommit", "Dead"]), False),
        (ListTransactionsRequest(producer_id_filters=[found.producer_id]), True),
        (ListTransactionsRequest(producer_id_filters=[found.producer_id + 1]), False),
        (ListTransactionsRequest(["Ongoing"], [found.producer_id], -1, f"{name[0]}.+"), True),
    ):
        assert (name in list_transactions(cluster, request)) is is_listed, request
    response = cluster.request(
        ListTransactionsRequest(state_filters=["Nonsense"]), ListTransactionsResponse
    )
    assert (response.unknown_state_filters, response.transaction_states) == (["Nonsense"], [])
    response = cluster.request(
        ListTransactionsRequest(transactional_id_pattern="(not closed"), ListTransactionsResponse
    )
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_transaction_is_described_while_it_is_open_and_after(
    tool: Transacting, producer: Producer, partition: TopicPartition
) -> None:
    name = partition.topic
    write(producer, partition)
    (described,) = tool.run("describe", "--transactional-id", name)
    assert described["TransactionState"] == "Ongoing"
    assert described["TransactionTimeoutMs"] == str(TIMEOUT_MS)
    assert described["TopicPartitions"] == f"{name}-0"
    assert 0 <= int(described["TransactionDurationMs"]) < TIMEOUT_MS
    started = described["CurrentTransactionStartTimeMs"]
    (written,) = tool.run("describe-producers", "--topic", name, "--partition", "0")
    assert written["ProducerId"] == described["ProducerId"]
    assert written["ProducerEpoch"] == described["ProducerEpoch"]
    assert (written["LastSequence"], written["CurrentTransactionStartOffset"]) == ("0", "0")
    producer.commit_transaction()
    deadline = time.monotonic() + 120
    while described["TransactionState"] != "CompleteCommit":
        assert time.monotonic() < deadline
        (described,) = tool.run("describe", "--transactional-id", name)
    # The last one's start is kept.
    assert described["CurrentTransactionStartTimeMs"] == started
    assert "TopicPartitions" not in described
    (written,) = tool.run("describe-producers", "--topic", name, "--partition", "0")
    assert written["CurrentTransactionStartOffset"] == "None"
    assert written["LatestCoordinatorEpoch"] != "-1"


def test_what_is_not_there_cannot_be_described_or_aborted(
    tool: Transacting, partition: TopicPartition
) -> None:
    unknown = tool.fail("describe", "--transactional-id", "nobody's")
    assert "failed because the ID could not be found" in unknown
    where = ("--topic", partition.topic, "--partition", "0")
    assert "Could not find any open transactions" in tool.fail(
        "abort", *where, "--start-offset", "5"
    )


def test_a_hanging_transaction_is_found_and_aborted(
    tool: Transacting, cluster: Cluster, producer: Producer, partition: TopicPartition
) -> None:
    """It keeps readers from everything after it; an open transaction is not a hanging one."""
    now_ms = int(time.time() * 1000)
    identity = hang(cluster, partition, now_ms - AN_HOUR_MS)
    write(producer, partition)
    producer.commit_transaction()
    write(producer, partition)
    topic = partition.topic

    found = tool.run("find-hanging", "--topic", topic)
    assert [(each["ProducerId"], each["StartOffset"]) for each in found] == [
        (str(identity.producer_id), "0")
    ]
    assert found[0]["Duration(min)"] in ("60", "61")
    host, port = cluster.bootstrap[0]
    with Consumer(f"{host}:{port}", read_committed=True) as reader:
        reader.assign({partition: 0})
        assert reader.poll(0.3) == []
        tool.run("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
        values = [record.value for record in reader.poll(10)]
    assert values == [b"x"]
    assert tool.run("find-hanging", "--topic", topic, "--max-transaction-timeout", "0") == []


def test_hanging_offsets_are_found_and_aborted(
    tool: Transacting, broker: Broker, cluster: Cluster, partition: TopicPartition
) -> None:
    group = f"group-of-{partition.topic}"
    hang_offsets(cluster, partition, group)
    node_id = str(wire.broker_ids(HOST, broker.port)[0])
    anywhere = ("find-hanging", "--broker-id", node_id, "--max-transaction-timeout", "0")
    (found,) = [each for each in tool.run(*anywhere) if each["Topic"] == "__consumer_offsets"]
    tool.run(
        *("abort", "--topic", "__consumer_offsets", "--partition", found["Partition"]),
        *("--producer-id", found["ProducerId"], "--producer-epoch", found["ProducerEpoch"]),
        *("--coordinator-epoch", found["CoordinatorEpoch"].replace("-1", "0")),
    )
    assert not [each for each in tool.run(*anywhere) if each["Topic"] == "__consumer_offsets"]
    with Admin(broker.bootstrap) as admin:
        assert admin.groups.offsets(group) == {}


def test_a_transaction_is_terminated_by_force_and_its_producer_fenced(
    tool: Transacting, producer: Producer, partition: TopicPartition
) -> None:
    name = partition.topic
    write(producer, partition)
    tool.run("forceTerminateTransaction", "--transactionalId", name)
    with pytest.raises(ApiError) as fenced:
        producer.commit_transaction()
    assert fenced.value.code is ErrorCode.PRODUCER_FENCED
    (described,) = tool.run("describe", "--transactional-id", name)
    assert described["TransactionState"] in ("CompleteAbort", "Empty")
    assert "TopicPartitions" not in described
