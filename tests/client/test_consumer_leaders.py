"""A consumer of several leaders: an error of one does not affect the others."""

import pytest

from moldau.client.consumer import Consumer
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import FetchResponse, PartitionData
from tests.client.fake_leaders import FakeLeaders, answered, record_at

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def refused(partition: int, offset: int) -> FetchResponse:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return answered(PartitionData(partition_index=partition, error_code=code, records=b""))


def refused_whole(partition: int, offset: int) -> FetchResponse:
    return FetchResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def moved(partition: int, offset: int) -> FetchResponse:
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return answered(PartitionData(partition_index=partition, error_code=code, records=b""))


def hung_up(partition: int, offset: int) -> None:
    return None


@pytest.mark.parametrize("refusal", [refused, refused_whole])
def test_an_answer_that_was_not_wanted_any_more_is_not_taken_for_the_next(
    refusal: object,
) -> None:
    with FakeLeaders(refusal, record_at) as leaders, Consumer(leaders.bootstrap) as consumer:  # type: ignore[arg-type]
        consumer.assign({FIRST: 0, SECOND: 5})
        with pytest.raises(ApiError) as raised:
            consumer.poll(0)
        assert raised.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        consumer.assign({SECOND: 2})
        assert [record.value for record in consumer.poll(10)] == [b"2"]


def test_records_that_came_with_an_error_are_read_again() -> None:
    with FakeLeaders(record_at, refused) as leaders, Consumer(leaders.bootstrap) as consumer:
        consumer.assign({FIRST: 3, SECOND: 0})
        with pytest.raises(ApiError):
            consumer.poll(0)
        consumer.unassign(SECOND)
        assert [record.value for record in consumer.poll(10)] == [b"3"]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_leader_that_hangs_up_holds_back_nobody_elses_records(failing: int) -> None:
    answers = [record_at, record_at]
    answers[failing] = hung_up  # type: ignore[assignment]
    with FakeLeaders(*answers) as leaders, Consumer(leaders.bootstrap) as consumer:
        consumer.assign({FIRST: 3, SECOND: 3})
        assert [record.partition for record in consumer.poll(10)] == [1 - failing]
        leaders.answers[failing] = record_at
        came = {(record.partition, record.value) for record in consumer.poll(10)}
        assert came == {(failing, b"3"), (1 - failing, b"4")}


def test_a_leader_that_moved_is_looked_up_before_anything_else_is_read() -> None:
    with FakeLeaders(moved, record_at) as leaders, Consumer(leaders.bootstrap) as consumer:
        consumer.assign({FIRST: 3, SECOND: 3})
        assert [record.value for record in consumer.poll(10)] == [b"3"]
        leaders.answers[0] = record_at
        assert {record.value for record in consumer.poll(10)} == {b"3", b"4"}
