"""Attacks with requests about transactions, by clients and by other brokers."""

from benchmarks.stalls.attacks import (
    MOST,
    MOST_NUMBERS,
    TWO_MB,
    Salvo,
    attack,
    create_topics,
    many_topics,
    one,
)
from benchmarks.stalls.wire import Wire
from moldau.broker.group_runtime import group_hash
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

GROUP, TRANSACTION = 0, 1
OFFSETS_PARTITIONS = 50


class Producer:
    """A transactional producer with its own transactional id."""

    def __init__(self, wire: Wire, transactional_id: str) -> None:
        keys = [transactional_id]
        wire.send(FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=keys), 6)
        begun = wire.send(InitProducerIdRequest(transactional_id, 600_000), 4)
        assert begun.error_code == 0, begun
        self.transactional_id = transactional_id
        self.id, self.epoch = begun.producer_id, begun.producer_epoch

    def adding(self, topics: list[AddPartitionsToTxnTopic]) -> AddPartitionsToTxnRequest:
        return AddPartitionsToTxnRequest([], self.transactional_id, self.id, self.epoch, topics)

    def ending(self) -> EndTxnRequest:
        return EndTxnRequest(self.transactional_id, self.id, self.epoch, committed=True)

    def committing(
        self, group: str, topics: list[TxnOffsetCommitRequestTopic]
    ) -> TxnOffsetCommitRequest:
        return TxnOffsetCommitRequest(
            self.transactional_id, group, self.id, self.epoch, topics=topics
        )

    def add_group(self, wire: Wire, group: str) -> None:
        wire.send(FindCoordinatorRequest(key_type=GROUP, coordinator_keys=[group]), 6)
        add = AddOffsetsToTxnRequest(self.transactional_id, self.id, self.epoch, group)
        assert wire.send(add, 3).error_code == 0


def offsets(count: int) -> list[TxnOffsetCommitRequestPartition]:
    return [TxnOffsetCommitRequestPartition(index, 1) for index in range(count)]


@attack("AddPartitionsToTxn, 400,000 partitions, few exist")
def add_partitions(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    producer = Producer(wire, "adds-many")
    topics = [AddPartitionsToTxnTopic("wide", list(range(MOST_NUMBERS)))]
    return one(producer.adding(topics), 3)


@attack("AddPartitionsToTxn, 400,000 times existing ones")
def add_existing_partitions(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    producer = Producer(wire, "adds-often")
    topics = [AddPartitionsToTxnTopic("wide", [i % 1_000 for i in range(MOST_NUMBERS)])]
    return one(producer.adding(topics), 3)


@attack("AddPartitionsToTxn, 100,000 empty topics")
def add_empty_topics(wire: Wire) -> list[Salvo]:
    producer = Producer(wire, "adds-nothing")
    topics = [AddPartitionsToTxnTopic(f"{number:x}", []) for number in range(MOST)]
    return one(producer.adding(topics), 3)


@attack("AddPartitionsToTxn, 100,000 transactions")
def add_to_many_transactions(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    topics = [AddPartitionsToTxnTopic("wide", [0])]
    transactions = [
        AddPartitionsToTxnTransaction(f"{number:x}", topics=topics) for number in range(100_000)
    ]
    return one(AddPartitionsToTxnRequest(transactions=transactions), 5)


@attack("TxnOffsetCommit, 100,000 offsets")
def commit_offsets(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    producer = Producer(wire, "commits-many")
    producer.add_group(wire, "wide-group")
    topics = [TxnOffsetCommitRequestTopic("wide", offsets(1_000)) for _ in range(100)]
    return one(producer.committing("wide-group", topics), 4)


@attack("TxnOffsetCommit, 2 MB of unknown topics")
def commit_unknown(wire: Wire) -> list[Salvo]:
    producer = Producer(wire, "commits-unknown")
    producer.add_group(wire, "wide-group")
    topics = [
        TxnOffsetCommitRequestTopic(f"no-{number}", offsets(1)) for number in range(TWO_MB // 32)
    ]
    return one(producer.committing("wide-group", topics), 4)


def groups_of_one_shard(count: int) -> list[str]:
    names = (f"pending-{number}" for number in range(100 * count * OFFSETS_PARTITIONS))
    found = (name for name in names if group_hash(name) % OFFSETS_PARTITIONS == 0)
    return [next(found) for _ in range(count)]


def pending_offsets(wire: Wire, transactional_id: str, groups: int) -> Producer:
    """A transaction with a thousand offsets of each group, which one marker will end."""
    create_topics(wire, ["wide"], partitions=1_000)
    producer = Producer(wire, transactional_id)
    for group in groups_of_one_shard(groups):
        producer.add_group(wire, group)
        topics = [TxnOffsetCommitRequestTopic("wide", offsets(1_000))]
        wire.send(producer.committing(group, topics), 4)
    return producer


@attack("EndTxn, 100,000 pending offsets")
def end_with_offsets(wire: Wire) -> list[Salvo]:
    return one(pending_offsets(wire, "ends-offsets", 100).ending(), 4)


@attack("EndTxn, 100,000 pending offsets replace others")
def end_with_offsets_again(wire: Wire) -> list[Salvo]:
    first = pending_offsets(wire, "ends-offsets", 100)
    wire.send(first.ending(), 4)
    return one(pending_offsets(wire, "ends-offsets", 100).ending(), 4)


@attack("EndTxn, 100,000 pending offsets of 10,000 topics")
def end_with_topics(wire: Wire) -> list[Salvo]:
    names = many_topics(wire, 10_000)
    producer = Producer(wire, "ends-topics")
    for group in groups_of_one_shard(10):
        producer.add_group(wire, group)
        topics = [TxnOffsetCommitRequestTopic(name, offsets(1)) for name in names]
        wire.send(producer.committing(group, topics), 4)
    return one(producer.ending(), 4)


@attack("EndTxn, 11,000 partitions")
def end_wide(wire: Wire) -> list[Salvo]:
    names = many_topics(wire, 10_000)
    create_topics(wire, ["wide"], partitions=1_000)
    producer = Producer(wire, "ends-wide")
    topics = [AddPartitionsToTxnTopic(name, [0]) for name in names]
    topics.append(AddPartitionsToTxnTopic("wide", list(range(1_000))))
    wire.send(producer.adding(topics), 3)
    return one(producer.ending(), 4)


@attack("WriteTxnMarkers, 400,000 partitions, few exist")
def write_markers(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    topics = [WritableTxnMarkerTopic("wide", list(range(MOST_NUMBERS)))]
    return one(WriteTxnMarkersRequest([WritableTxnMarker(7, 0, True, topics)]), 1)


@attack("WriteTxnMarkers, 100,000 producers")
def write_markers_of_many(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    topics = [WritableTxnMarkerTopic("wide", [0])]
    markers = [WritableTxnMarker(producer_id, 0, True, topics) for producer_id in range(100_000)]
    return one(WriteTxnMarkersRequest(markers), 1)


@attack("DescribeTransactions, 100,000 ids")
def describe_transactions(wire: Wire) -> list[Salvo]:
    ids = [f"{number:x}" for number in range(MOST)]
    return one(DescribeTransactionsRequest(ids), 0)


@attack("ListTransactions, 200,000 producer ids")
def list_transactions_by_producer(wire: Wire) -> list[Salvo]:
    request = ListTransactionsRequest(producer_id_filters=list(range(200_000)))
    return one(request, 1)


@attack("ListTransactions, 20,000 transactional ids, by pattern")
def list_transactions_by_pattern(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["t"]), 6)
    for number in range(20_000):
        wire.send(InitProducerIdRequest(f"listed-{number}", 600_000), 4)
    return one(ListTransactionsRequest(transactional_id_pattern="(.*-)+[0-9]+"), 2)
