"""How often a sink has batches."""

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.connect.engine.topic_ranges import INTERVAL_MS, Pace, RangeStreamReader, TopicRanges
from tests.running import RunningBroker


class Watch:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_the_first_batch_is_due_at_once() -> None:
    assert Pace(5.0, Watch()).left_s() == 0.0


def test_a_batch_that_takes_everything_is_followed_by_one_after_the_interval() -> None:
    watch = Watch()
    pace = Pace(5.0, watch)
    pace.begun(has_left=False)
    watch.now_s += 2.0
    assert pace.left_s() == 3.0
    watch.now_s += 4.0
    assert pace.left_s() < 0.0


def test_a_batch_that_leaves_records_is_followed_by_one_at_once() -> None:
    pace = Pace(5.0, Watch())
    pace.begun(has_left=True)
    assert pace.left_s() == 0.0


def test_a_backlog_is_worked_off_without_a_pause(broker: RunningBroker) -> None:
    bootstrap = broker.bootstrap
    with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        admin.create_topic("t", 1)
        for _ in range(5):
            producer.send("t", b"x")
        producer.flush()
    source = TopicRanges(
        {
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": "t",
            "startingoffsets": "earliest",
            "maxoffsetspertrigger": "2",
            INTERVAL_MS: "600000",
        }
    )
    reader = source.streamReader(source.schema())  # type: ignore[arg-type]
    assert isinstance(reader, RangeStreamReader)
    position = reader.initialOffset()
    reached = []
    for _ in range(3):
        assert reader._pace.left_s() <= 0
        position = reader.latestOffset(position, reader.getDefaultReadLimit())
        [task] = reader.partitions(reader.initialOffset(), position)
        reached.append(task.ranges[0].end)  # type: ignore[attr-defined]
    assert reached == [2, 4, 5]
    assert reader._pace.left_s() > 60
