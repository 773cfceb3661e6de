"""What transactional producers write: records and offsets, over real sockets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.errors import ErrorCode
from moldau.ids import OFFSETS_TOPIC
from moldau.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.batches import idempotent
from tests.broker.grouping import fetch_request as offsets_request
from tests.broker.grouping import find_coordinator as find_group_coordinator
from tests.broker.producing import create_topic
from tests.broker.transacting import QUICK, TV1_END, TV2_END, find_coordinator
from tests.broker.transactional import transactional
from tests.broker.transactional_writer import ADDS, OLD, VERIFIES, Writer
from tests.running import RunningBroker, WireClient

NONE = ErrorCode.NONE


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path_factory.mktemp("data"), QUICK) as running:
        with running.connect() as client:
            find_coordinator(client, "tx")
            find_group_coordinator(client)
        yield running


@pytest.fixture
def client(broker: RunningBroker) -> Iterator[WireClient]:
    with broker.connect() as connection:
        yield connection


@pytest.fixture
def writer(client: WireClient, request: Any) -> Writer:
    """A producer with an id, and a topic of three partitions, both named after the test."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    create_topic(client, name, partitions=3)
    started = Writer(client, name)
    assert started.init().error_code == 0
    return started


# --- records


@pytest.mark.parametrize(("commit", "seen"), [(True, [b"a", b"b"]), (False, [])])
def test_a_producer_of_version_two_adds_partitions_by_writing(
    writer: Writer, commit: bool, seen: list[bytes]
) -> None:
    assert writer.write(0, b"a") is NONE
    assert writer.write(1, b"b") is NONE
    assert writer.read() == []
    assert writer.end(commit=commit, version=TV2_END) is NONE
    assert writer.read() == seen


@pytest.mark.parametrize(("commit", "seen"), [(True, [b"a"]), (False, [])])
@pytest.mark.parametrize("version", [3, OLD, VERIFIES])
def test_a_producer_of_version_one_adds_partitions_before_it_writes(
    writer: Writer, version: int, commit: bool, seen: list[bytes]
) -> None:
    assert set(writer.add((writer.topic, 0)).values()) == {NONE}
    assert writer.write(0, b"a", version=version) is NONE
    assert writer.end(commit=commit, version=TV1_END) is NONE
    assert writer.read() == seen


def test_a_topic_can_be_named_by_its_id(writer: Writer) -> None:
    metadata = writer.client.send(MetadataRequest([MetadataRequestTopic(name=writer.topic)]), 12)
    request = writer.request((0, writer.batch(0, b"a")))
    request.topic_data[0].topic_id = metadata.topics[0].topic_id
    response = writer.client.send(request, ADDS + 1)
    assert response.responses[0].partition_responses[0].error_code == 0
    assert writer.end(version=TV2_END) is NONE
    assert writer.read() == [b"a"]


def test_one_request_may_begin_the_transaction_in_several_partitions(writer: Writer) -> None:
    batches = [(index, writer.batch(0, b"%d" % index)) for index in range(3)]
    assert writer.send(*batches) == [NONE] * 3
    assert writer.end(version=TV2_END) is NONE
    assert [writer.read(index) for index in range(3)] == [[b"0"], [b"1"], [b"2"]]


@pytest.mark.parametrize(
    ("version", "code"),
    [(OLD, ErrorCode.INVALID_TXN_STATE), (VERIFIES, ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_a_partition_that_was_not_added_is_not_written_to(
    writer: Writer, version: int, code: ErrorCode
) -> None:
    assert writer.write(0, b"x", version=version) is code
    writer.add((writer.topic, 0))
    assert writer.write(0, b"x", partition=1, version=version) is code
    assert writer.write(0, b"a", version=version) is NONE


@pytest.mark.parametrize("version", [OLD, VERIFIES])
def test_a_late_write_after_the_abort_is_refused(writer: Writer, version: int) -> None:
    writer.add((writer.topic, 0))
    assert writer.write(0, b"a", version=version) is NONE
    assert writer.end(commit=False, version=TV1_END) is NONE
    assert writer.write(1, b"late", version=version) is not NONE
    assert writer.read() == []


def test_who_reads_committed_is_told_of_the_last_stable_offset(writer: Writer) -> None:
    assert writer.write(0, b"a") is NONE
    assert (latest(writer, 0), latest(writer, 1)) == (1, 0)
    assert writer.end(version=TV2_END) is NONE
    assert (latest(writer, 0), latest(writer, 1)) == (2, 2)


def latest(writer: Writer, isolation_level: int, partition: int = 0) -> int:
    """The end of a partition, for readers of everything (0) or of what is committed (1)."""
    wanted = ListOffsetsPartition(partition, timestamp=-1)
    topics = [ListOffsetsTopic(writer.topic, [wanted])]
    request = ListOffsetsRequest(-1, isolation_level, topics)
    answer = writer.client.send(request, 8).topics[0].partitions[0]
    assert answer.error_code == 0
    return int(answer.offset)


def test_a_late_write_does_not_reach_the_next_transaction(writer: Writer) -> None:
    late = writer.batch(1, b"late")
    assert writer.write(0, b"a") is NONE
    assert writer.end(commit=False, version=TV2_END) is NONE
    assert writer.write(0, b"next") is NONE
    assert writer.send((0, late)) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert writer.end(version=TV2_END) is NONE
    assert writer.read() == [b"next"]


def test_a_write_that_is_repeated_is_a_duplicate(writer: Writer) -> None:
    again = writer.batch(0, b"a")
    assert writer.send((0, again)) == writer.send((0, again)) == [NONE]
    assert writer.end(version=TV2_END) is NONE
    assert writer.read() == [b"a"]


def test_a_fenced_producer_writes_nothing(client: WireClient, writer: Writer) -> None:
    successor = Writer(client, writer.topic)
    assert successor.init().error_code == 0
    assert writer.write(0, b"zombie") is ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_id_of_somebody_else_is_refused(client: WireClient, writer: Writer) -> None:
    other = Writer(client, writer.topic)
    other.id = f"{writer.id}-other"
    assert other.init().error_code == 0
    other.id = writer.id
    assert other.write(0, b"x") is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_an_unknown_transactional_id_is_refused(client: WireClient, writer: Writer) -> None:
    writer.id = "nobody"
    assert writer.write(0, b"x") is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("version", [VERIFIES, ADDS])
def test_14916_a_plain_batch_under_a_transactional_id_needs_no_transaction(
    writer: Writer, version: int
) -> None:
    """Nor does it become part of one: its partition is not added, and gets no marker."""
    if version == VERIFIES:
        assert set(writer.add((writer.topic, 0)).values()) == {NONE}
    plain = idempotent(writer.producer_id, 0, b"plain", epoch=writer.epoch)
    batches = (1, plain), (0, writer.batch(0, b"a"))
    assert writer.send(*batches, version=version) == [NONE, NONE]
    assert writer.read(1) == [b"plain"]
    end_version = TV1_END if version == VERIFIES else TV2_END
    assert writer.end(commit=False, version=end_version) is NONE
    assert writer.read(0) == []
    assert latest(writer, 0, partition=1) == 1


def test_a_plain_batch_in_an_open_transaction_is_refused(writer: Writer) -> None:
    assert writer.write(0, b"a") is NONE
    plain = idempotent(writer.producer_id, 1, b"plain", epoch=writer.epoch)
    assert writer.send((0, plain)) == [ErrorCode.INVALID_TXN_STATE]


def test_one_request_has_one_transactional_producer(writer: Writer) -> None:
    other = transactional(writer.producer_id + 1, 0, b"other")
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert writer.send((0, writer.batch(0, b"a")), (1, other)) == [mapping, mapping]
    writer.client.post(writer.request((0, writer.batch(0, b"a")), (1, other), acks=0), ADDS)
    assert writer.client.is_closed_by_peer()


def test_a_partition_that_is_not_there_does_not_keep_the_others_from_being_written(
    writer: Writer,
) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert writer.send((7, writer.batch(0, b"x")), (0, writer.batch(0, b"a"))) == [unknown, NONE]


def test_a_producer_that_nothing_is_known_of_begins_with_zero(writer: Writer) -> None:
    assert writer.write(5, b"x") is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert writer.write(0, b"a") is NONE


def test_many_batches_of_one_request_are_written_in_several_turns(
    client: WireClient, writer: Writer
) -> None:
    wide = Writer(client, f"{writer.topic}-wide")
    create_topic(client, wide.topic, partitions=300)
    assert wide.init().error_code == 0
    assert wide.send(*((index, wide.batch(0, b"a")) for index in range(300))) == [NONE] * 300
    assert wide.end(version=TV2_END) is NONE
    assert [wide.read(index) for index in (0, 150, 299)] == [[b"a"]] * 3


def test_without_verification_old_producers_write_unasked(tmp_path: Path) -> None:
    settings = {**QUICK, "transaction.partition.verification.enable": "false"}
    with RunningBroker(tmp_path, settings) as running, running.connect() as client:
        find_coordinator(client, "tx")
        create_topic(client, "tx")
        writer = Writer(client, "tx")
        writer.init()
        assert writer.write(0, b"hanging", version=VERIFIES) is NONE


# --- offsets


@pytest.mark.parametrize(("commit", "offset"), [(True, 5), (False, -1)])
def test_offsets_of_version_two_are_part_of_the_transaction(
    writer: Writer, commit: bool, offset: int
) -> None:
    assert writer.commit_offset(5) is NONE
    assert writer.offset() == -1
    assert writer.offset(stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert writer.end(commit=commit, version=TV2_END) is NONE
    assert writer.offset(stable=True) == offset


@pytest.mark.parametrize("version", range(5))
def test_offsets_of_version_one_are_part_of_the_transaction_to_which_the_group_was_added(
    writer: Writer, version: int
) -> None:
    refused = ErrorCode.TRANSACTION_ABORTABLE if version >= 4 else ErrorCode.INVALID_TXN_STATE
    assert writer.commit_offset(4, version=version) is refused
    assert writer.add_offsets(writer.topic) is NONE
    assert writer.commit_offset(5, version=version) is NONE
    assert writer.end(version=TV1_END) is NONE
    assert writer.offset() == 5


def test_offsets_of_a_partition_that_is_not_there_are_refused(writer: Writer) -> None:
    place, missing, nowhere = (writer.topic, 0), (writer.topic, 9), ("nowhere", 0)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert writer.commit_offsets({nowhere: 1, missing: 1, place: 1}) == {
        nowhere: unknown,
        missing: unknown,
        place: NONE,
    }


def test_a_group_that_nobody_is_in_has_no_generation(writer: Writer) -> None:
    code = writer.commit_offset(5, generation_id=3, member_id="m")
    assert code is ErrorCode.ILLEGAL_GENERATION


def test_offsets_of_a_fenced_producer_are_refused(client: WireClient, writer: Writer) -> None:
    assert writer.commit_offset(5) is NONE
    successor = Writer(client, writer.topic)
    assert successor.init().error_code == 0
    assert writer.commit_offset(6) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert writer.offset(stable=True) == -1, "the transaction was aborted"


def test_offsets_and_records_are_committed_together(writer: Writer) -> None:
    for number in range(3):
        assert writer.write(0, b"%d" % number) is NONE
        assert writer.commit_offset(number + 1) is NONE
        assert writer.end(version=TV2_END) is NONE
        assert (writer.offset(stable=True), len(writer.read())) == (number + 1, number + 1)


def test_13288_a_transaction_that_hangs_in_the_offsets_of_a_group_is_described(
    broker: RunningBroker, writer: Writer
) -> None:
    """Internal topics are no exception."""
    index = broker.node.broker.groups.partition_for(writer.topic)
    wanted = TopicRequest(name=OFFSETS_TOPIC, partition_indexes=[index])

    def start_offsets() -> dict[int, int]:
        topic = writer.client.send(DescribeProducersRequest(topics=[wanted]), 0).topics[0]
        producers = topic.partitions[0].active_producers
        return {each.producer_id: each.current_txn_start_offset for each in producers}

    log = broker.node.broker.replicas.partition(OFFSETS_TOPIC, index).log
    begin = log.log_end_offset
    assert writer.commit_offset(5) is NONE
    assert start_offsets()[writer.producer_id] == begin
    producer_id = writer.producer_id
    assert writer.end(version=TV2_END) is NONE
    assert start_offsets()[producer_id] == -1


def test_many_offsets_are_committed_as_few_are(client: WireClient, writer: Writer) -> None:
    wide = f"{writer.topic}-wide"
    create_topic(client, wide, partitions=1200)
    offsets = {(wide, index): index for index in range(1201)}
    answers = writer.commit_offsets(offsets)
    assert answers.pop((wide, 1200)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(answers) == 1200
    assert set(answers.values()) == {NONE}
    assert writer.end(version=TV2_END) is NONE
    request = offsets_request(writer.topic, wide, list(range(1200)))
    request.require_stable = True
    (group,) = client.send(request, 9).groups
    assert [each.committed_offset for each in group.topics[0].partitions] == list(range(1200))
