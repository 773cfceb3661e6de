"""The records of a topic that count according to its ledger."""

import pytest

from moldau.client.cluster import Cluster
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from moldau.spark.batch_ledger import Ledger, LedgerTopic, Step, next_step
from moldau.spark.errors import PipelineError
from moldau.spark.offsets import OffsetRange
from tests.spark.conftest import NewTopic

EMPTY = Ledger({0: 0, 1: 0}, {})


def counting(ledger: Ledger, start: int, end: int, partition: int = 0) -> list[tuple[int, int]]:
    wanted = OffsetRange(TopicPartition("internal", partition), start, end)
    return [(each.start, each.end) for each in ledger.alive([wanted])]


def test_a_batch_that_was_written_once_counts_as_a_whole() -> None:
    ledger = EMPTY.after("q", 0, {0: 10, 1: 5}, {0: [(0, 10)], 1: [(0, 5)]})
    assert not ledger.dead
    assert counting(ledger, 0, 10) == [(0, 10)]


def test_what_is_behind_the_last_batch_does_not_count_yet() -> None:
    ledger = EMPTY.after("q", 0, {0: 10, 1: 5}, {0: [(0, 10)], 1: [(0, 5)]})
    assert counting(ledger, 4, 20) == [(4, 10)]
    assert counting(ledger, 10, 20) == []
    assert counting(ledger, 0, 20, partition=2) == []


def test_what_a_failed_try_has_written_never_counts() -> None:
    ledger = EMPTY.after("q", 0, {0: 10, 1: 0}, {0: [(0, 10)]})
    # Seven records of a try that failed, with one in the middle of the next batch.
    ledger = ledger.after("q", 1, {0: 30, 1: 0}, {0: [(16, 20), (21, 30)]})
    assert counting(ledger, 0, 30) == [(0, 10), (16, 20), (21, 30)]
    ledger = ledger.after("q", 2, {0: 40, 1: 3}, {0: [(30, 40)], 1: [(2, 3)]})
    assert counting(ledger, 12, 40) == [(16, 20), (21, 40)]
    assert counting(ledger, 0, 3, partition=1) == [(2, 3)]


def test_a_batch_that_is_in_the_ledger_is_not_written_again() -> None:
    ledger = EMPTY.after("q", 7, {0: 1, 1: 0}, {0: [(0, 1)]})
    assert next_step(EMPTY, "q", 7) is Step.WRITE
    assert next_step(ledger, "q", 7) is Step.SKIP
    assert next_step(ledger, "q", 8) is Step.WRITE
    # Of another history, as after a new checkpoint or some batches in transactions.
    assert next_step(ledger, "another", 0) is Step.BEGIN
    assert next_step(ledger, "q", 12) is Step.BEGIN
    with pytest.raises(PipelineError, match="batch 6, but 7 is written: it is an older state"):
        next_step(ledger, "q", 6)


def test_the_last_record_of_the_topic_is_the_ledger(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer, Cluster(bootstrap) as cluster:
        reading, writing = LedgerTopic(cluster, topic), LedgerTopic(producer.cluster, topic)
        assert reading.read() is None
        ledger = EMPTY
        for batch_id in range(3):
            end = 5 * (batch_id + 1)
            ledger = ledger.after("q", batch_id, {0: end, 1: 0}, {0: [(end - 2, end)]})
            writing.append(producer, ledger)
            assert reading.read() == writing.read() == ledger
        assert LedgerTopic(cluster, topic).read() == ledger
    assert ledger.dead == {0: [(0, 3), (5, 8), (10, 13)]}
