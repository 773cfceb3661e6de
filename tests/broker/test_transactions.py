"""Transactions of one broker, over real sockets: who takes part, how they end, who is fenced."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.broker.handlers import transactions
from moldau.errors import ErrorCode
from moldau.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, TopicPartition
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.record.control import ControlType
from moldau.record.records import decode_all
from tests.broker.grouping import find_coordinator as find_group_coordinator
from tests.broker.producing import FETCH_VERSION, create_topic, fetch_request
from tests.broker.transacting import (
    CLIENT_ADD,
    QUICK,
    TRANSACTION,
    TV1_END,
    TV2_END,
    Producer,
    errors_in,
    find_coordinator,
    markers,
    topics_of,
)
from tests.running import RunningBroker, WireClient

NONE = ErrorCode.NONE
SAFE_DOWNGRADE = 2
TOPIC_RESOURCE = 2


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path_factory.mktemp("data"), QUICK) as running:
        with running.connect() as client:
            create_topic(client, "t", partitions=3)
            find_coordinator(client, "tx")
            find_group_coordinator(client)
        yield running


@pytest.fixture
def client(broker: RunningBroker) -> Iterator[WireClient]:
    with broker.connect() as connection:
        yield connection


@pytest.fixture
def producer(client: WireClient, request: Any) -> Producer:
    """A producer whose transactional id is that of the test."""
    started = Producer(client, request.node.name)
    assert started.init().error_code == 0
    return started


# --- finding the coordinator


def test_the_first_request_for_a_coordinator_creates_its_topic_as_configured(
    tmp_path: Path,
) -> None:
    settings = {**QUICK, "transaction.state.log.segment.bytes": "7000000"}
    with RunningBroker(tmp_path, settings) as running, running.connect() as client:
        (found,) = find_coordinator(client, "tx")
        assert (found.node_id, found.port) == (1, running.port)
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=TRANSACTIONS_TOPIC)])
        (topic,) = client.send(asked, 12).topics
        assert (len(topic.partitions), topic.is_internal) == (4, True)
        resource = DescribeConfigsResource(TOPIC_RESOURCE, TRANSACTIONS_TOPIC, None)
        (described,) = client.send(DescribeConfigsRequest(resources=[resource]), 4).results
        configs = {each.name: each.value for each in described.configs}
        assert configs["cleanup.policy"] == "compact"
        assert configs["segment.bytes"] == "7000000"
        assert configs["unclean.leader.election.enable"] == "false"


@pytest.mark.parametrize("version", range(1, 4))
def test_old_clients_ask_for_one_coordinator(client: WireClient, version: int) -> None:
    found = client.send(FindCoordinatorRequest(key="tx", key_type=TRANSACTION), version)
    assert (found.error_code, found.node_id) == (0, 1)


# --- who has the id


def test_a_producer_that_starts_fences_those_before_it(client: WireClient) -> None:
    first, second = Producer(client, "fence"), Producer(client, "fence")
    assert first.init().error_code == 0
    assert second.init().error_code == 0
    assert (second.producer_id, second.epoch) == (first.producer_id, first.epoch + 1)
    assert first.add(("t", 0)) == {("t", 0): ErrorCode.PRODUCER_FENCED}
    assert first.add(("t", 0), version=1) == {("t", 0): ErrorCode.INVALID_PRODUCER_EPOCH}
    assert first.add_offsets() is ErrorCode.PRODUCER_FENCED
    assert first.add_offsets(version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert first.end() is ErrorCode.PRODUCER_FENCED
    assert first.end(version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert first.init(continues=True).error_code == ErrorCode.PRODUCER_FENCED
    assert first.init(continues=True, version=3).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert second.add(("t", 0)) == {("t", 0): NONE}


def test_an_open_transaction_is_aborted_and_its_id_given_away_in_one_request(
    client: WireClient,
) -> None:
    """Kafka answers CONCURRENT_TRANSACTIONS, and the client asks again."""
    create_topic(client, "given-away")
    first, second = Producer(client, "given-away"), Producer(client, "given-away")
    first.init()
    first.add(("given-away", 0))
    assert second.init().error_code == 0
    assert second.epoch > first.epoch
    ((kind, producer_id, epoch, _),) = markers(client, "given-away")
    assert (kind, producer_id) == (ControlType.ABORT, first.producer_id)
    assert first.epoch < epoch < second.epoch
    assert second.state == "Empty"


# --- the end


@pytest.mark.parametrize("is_commit", [True, False])
def test_markers_are_written_before_the_end_of_a_transaction_is_answered(
    client: WireClient, producer: Producer, is_commit: bool
) -> None:
    topic = f"marked-{is_commit}"
    create_topic(client, topic, partitions=2)
    assert set(producer.add((topic, 0), (topic, 1)).values()) == {NONE}
    assert producer.state == "Ongoing"
    assert producer.end(commit=is_commit) is NONE
    assert producer.state == ("CompleteCommit" if is_commit else "CompleteAbort")
    kind = ControlType.COMMIT if is_commit else ControlType.ABORT
    expected = (kind, producer.producer_id, producer.epoch, 0)
    assert markers(client, topic, 0) == markers(client, topic, 1) == [expected]


def test_a_client_never_meets_its_own_transaction_that_is_still_being_completed(
    client: WireClient, producer: Producer
) -> None:
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=producer.id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=topics_of(("t", 0), ("t", 1), ("t", 2)),
    )
    # Pipelined: the next request is there before the answer to the last has left.
    for _ in range(20):
        client.post(add, CLIENT_ADD)
        client.post(producer.end_request(), TV1_END)
    for _ in range(20):
        added = client.receive(add.API_KEY, CLIENT_ADD)
        assert set(errors_in(added.results_by_topic_v3_and_below).values()) == {NONE}
        assert client.receive(EndTxnRequest.API_KEY, TV1_END).error_code == 0


def test_with_version_2_every_end_gives_the_producer_a_new_epoch(
    client: WireClient, producer: Producer
) -> None:
    create_topic(client, "bumped")
    before = producer.epoch
    for _ in range(3):
        transaction = AddPartitionsToTxnTransaction(
            producer.id, producer.producer_id, producer.epoch, topics=topics_of(("bumped", 0))
        )
        added = client.send(AddPartitionsToTxnRequest(transactions=[transaction]), 5)
        assert errors_in(added.results_by_transaction[0].topic_results) == {("bumped", 0): NONE}
        assert producer.end(version=TV2_END) is NONE
    assert producer.epoch == before + 3
    assert [epoch for _, _, epoch, _ in markers(client, "bumped")] == [
        before + 1,
        before + 2,
        before + 3,
    ]


def test_offsets_make_the_partition_of_their_group_part_of_the_transaction(
    broker: RunningBroker, client: WireClient, producer: Producer
) -> None:
    index = broker.node.broker.groups.partition_for("of-offsets")
    assert producer.add_offsets("of-offsets") is NONE
    assert producer.end() is NONE
    assert markers(client, OFFSETS_TOPIC, index)[-1][:2] == (
        ControlType.COMMIT,
        producer.producer_id,
    )


def test_a_topic_that_was_deleted_in_between_needs_no_marker(
    client: WireClient, producer: Producer
) -> None:
    create_topic(client, "deleted")
    create_topic(client, "kept")
    producer.add(("deleted", 0), ("kept", 0))
    state = DeleteTopicState(name="deleted")
    client.send(DeleteTopicsRequest(topics=[state], timeout_ms=10_000), 6)
    assert producer.end() is NONE
    assert producer.state == "CompleteCommit"
    assert len(markers(client, "kept")) == 1


# --- what brokers ask for


def test_brokers_verify_and_add_partitions_of_several_transactions_at_once(
    client: WireClient, producer: Producer
) -> None:
    producer.add(("t", 0))
    other = Producer(client, "another-of-the-batch")
    other.init()

    def named(who: Producer, *, verify_only: bool) -> AddPartitionsToTxnTransaction:
        topics = topics_of(("t", 0), ("t", 1))
        return AddPartitionsToTxnTransaction(
            who.id, who.producer_id, who.epoch, verify_only, topics
        )

    request = AddPartitionsToTxnRequest(
        transactions=[named(producer, verify_only=True), named(other, verify_only=False)]
    )
    for version in (4, 5):
        response = client.send(request, version)
        found = {
            each.transactional_id: errors_in(each.topic_results)
            for each in response.results_by_transaction
        }
        assert found == {
            producer.id: {("t", 0): NONE, ("t", 1): ErrorCode.TRANSACTION_ABORTABLE},
            other.id: {("t", 0): NONE, ("t", 1): NONE},
        }
    assert (producer.state, other.state) == ("Ongoing", "Ongoing")


# --- transaction.version


def test_the_level_of_transaction_version_decides_how_states_are_written(tmp_path: Path) -> None:
    """At level 0 brokers of earlier releases must be able to read them."""
    settings = {**QUICK, "transaction.state.log.num.partitions": "1"}
    with RunningBroker(tmp_path, settings) as running, running.connect() as client:
        create_topic(client, "t")
        find_coordinator(client, "tx")
        producer = Producer(client)
        assert finalized(client) == 2
        versions = []
        for level in (2, 1, 0):
            update = FeatureUpdateKey("transaction.version", level, upgrade_type=SAFE_DOWNGRADE)
            client.send(UpdateFeaturesRequest(feature_updates=[update]), 2)
            assert finalized(client) == level
            assert producer.init().error_code == 0
            producer.add(("t", 0))
            assert producer.end() is NONE
            versions.append(last_value_version(client))
        assert versions == [1, 1, 0]


def finalized(client: WireClient) -> int:
    response = client.send(ApiVersionsRequest("test", "1"), 3)
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    return int(levels.get("transaction.version", 0))


def last_value_version(client: WireClient) -> int:
    response = client.send(fetch_request(TRANSACTIONS_TOPIC, 0), FETCH_VERSION)
    data = response.responses[0].partitions[0].records
    values = [record.value for _, found in decode_all(bytes(data)) for record in found]
    assert values[-1] is not None
    return int.from_bytes(values[-1][:2], "big")


# --- bad input


def test_if_one_partition_is_not_there_none_is_added(producer: Producer) -> None:
    assert producer.add(("t", 0), ("t", 9), ("missing", 0)) == {
        ("t", 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("missing", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert producer.state == "Empty"


def test_clients_cannot_add_internal_topics(producer: Producer) -> None:
    assert producer.add((OFFSETS_TOPIC, 0), ("t", 0)) == {
        (OFFSETS_TOPIC, 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ("t", 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
    }


def test_many_partitions_are_added_as_few_are(client: WireClient, producer: Producer) -> None:
    create_topic(client, "many", partitions=600)
    every = [("many", index) for index in range(600)]
    # Named twice, so that they are handled in several turns.
    assert producer.add(*every, *every) == dict.fromkeys(every, NONE)
    refused = producer.add(*every, *every, ("many", 600))
    assert refused[TopicPartition("many", 600)] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused[TopicPartition("many", 0)] is ErrorCode.OPERATION_NOT_ATTEMPTED
    assert producer.end(commit=False) is NONE
    # The markers of so many are written in several turns, and the answer waits for them.
    assert producer.state == "CompleteAbort"
    assert len(markers(client, "many", 599)) == 1


def test_topics_without_partitions_are_work_as_well(client: WireClient, producer: Producer) -> None:
    """A large request may have very many of them: each is a step."""
    count = 2 * transactions.MANY_PARTITIONS
    request = AddPartitionsToTxnTransaction(
        producer.id,
        producer.producer_id,
        producer.epoch,
        topics=[AddPartitionsToTxnTopic(f"empty-{number}") for number in range(count)],
    )
    assert sum(1 for _ in transactions._without_duplicates(request)) >= 2 * count
    response = client.send(
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=producer.id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[*request.topics, AddPartitionsToTxnTopic("t", [0])],
        ),
        CLIENT_ADD,
    )
    assert errors_in(response.results_by_topic_v3_and_below) == {("t", 0): NONE}
    described = client.send(DescribeTransactionsRequest(transactional_ids=[producer.id]), 0)
    assert [each.topic for each in described.transaction_states[0].topics] == ["t"]


def test_an_id_that_nobody_has_initialized_takes_part_in_nothing(client: WireClient) -> None:
    unknown = Producer(client, "never-initialized")
    unknown.producer_id, unknown.epoch = 1000, 0
    assert unknown.add(("t", 0)) == {("t", 0): ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert unknown.add_offsets() is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert unknown.end() is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_transaction_that_has_not_begun_cannot_be_ended(producer: Producer) -> None:
    assert producer.end() is ErrorCode.INVALID_TXN_STATE


def test_what_was_committed_is_committed_once_and_cannot_be_aborted(producer: Producer) -> None:
    producer.add(("t", 0))
    assert producer.end() is NONE
    assert producer.end() is NONE, "a repeated request gets the same answer"
    assert producer.end(commit=False) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (InitProducerIdRequest("", 1000), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("tx", 1000, 5, -1), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("tx", 1000, -1, 5), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("tx", 0), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (InitProducerIdRequest("tx", 900_001), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_a_bad_initialization_is_refused(
    client: WireClient, request_: InitProducerIdRequest, code: ErrorCode
) -> None:
    answer = client.send(request_, 5)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


def test_an_empty_transactional_id_is_refused_by_every_api(client: WireClient) -> None:
    nobody = Producer(client, "")
    invalid = ErrorCode.INVALID_REQUEST
    assert nobody.add(("t", 0)) == {("t", 0): invalid}
    assert client.send(AddOffsetsToTxnRequest("", 1, 0, "g"), 4).error_code == invalid
    assert nobody.end() is invalid
    assert nobody.state == "INVALID_REQUEST"


def test_without_the_topic_nobody_is_the_coordinator(tmp_path: Path) -> None:
    with RunningBroker(tmp_path, QUICK) as running, running.connect() as client:
        create_topic(client, "t")
        early = Producer(client)
        refused = ErrorCode.NOT_COORDINATOR
        assert early.init().error_code == refused
        assert early.add(("t", 0)) == {("t", 0): refused}
        assert early.add_offsets() is refused
        assert early.end() is refused
        assert early.state == "NOT_COORDINATOR"
