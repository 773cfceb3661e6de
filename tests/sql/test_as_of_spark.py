"""A topic AS OF a time or a version is what a consumer gets that stops there."""

import json
import random

import pytest

from moldau.client.admin import Admin
from moldau.client.consumer import Consumer, ConsumerRecord
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from moldau.sql.results import Form
from tests.sql.conftest import START_MS, Sql

TOPIC = "history"
PARTITIONS = 3


@pytest.fixture(scope="module")
def replay(bootstrap: str) -> list[tuple[int, int, int]]:
    """Partition, offset and timestamp of every record; the log grows in the order of time."""
    rng = random.Random(7)
    with Admin(bootstrap) as admin:
        admin.create_topic(TOPIC, PARTITIONS)
    with Producer(bootstrap) as producer:
        for moment in sorted(rng.randrange(100) for _ in range(60)):
            partition = rng.randrange(PARTITIONS)
            producer.send(TOPIC, b"{}", partition=partition, timestamp=START_MS + 1000 * moment)
    with Consumer(bootstrap) as consumer:
        consumer.assign({TopicPartition(TOPIC, each): 0 for each in range(PARTITIONS)})
        records: list[ConsumerRecord] = []
        while len(records) < 60:
            records += consumer.poll(timeout_s=10)
    return sorted((each.partition, each.offset, each.timestamp) for each in records)


@pytest.mark.parametrize("second", [0, 1, 33, 50, 98, 99, 1000])
def test_at_a_time(second: int, replay: list[tuple[int, int, int]], sql: Sql) -> None:
    moment_ms = START_MS + 1000 * second
    expected = [each[:2] for each in replay if each[2] <= moment_ms]
    where = f"{TOPIC} TIMESTAMP AS OF timestamp_millis({moment_ms})"
    shown = sql(f"SELECT _partition, _offset FROM {where} ORDER BY 1, 2", Form.CSV)
    if not expected:
        assert "its oldest record is of" in shown
        return
    rows = [tuple(map(int, each.split(","))) for each in shown.splitlines()[1:]]
    assert rows == expected


def test_at_a_version(replay: list[tuple[int, int, int]], sql: Sql) -> None:
    rng = random.Random(11)
    ends = [sum(each[0] == partition for each in replay) for partition in range(PARTITIONS)]
    for _ in range(3):
        cut = {partition: rng.randint(0, ends[partition]) for partition in range(PARTITIONS)}
        version = json.dumps({str(each): offset for each, offset in cut.items()})
        expected = [each[:2] for each in replay if each[1] < cut[each[0]]]
        where = f"{TOPIC} VERSION AS OF '{version}'"
        shown = sql(f"SELECT _partition, _offset FROM {where} ORDER BY 1, 2", Form.CSV)
        assert [tuple(map(int, each.split(","))) for each in shown.splitlines()[1:]] == expected


def test_before_the_log_after_records_were_deleted(bootstrap: str, sql: Sql) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topic("shortened", 1)
    with Producer(bootstrap) as producer:
        for i in range(5):
            producer.send("shortened", b"{}", timestamp=START_MS + 1000 * i)
    with Admin(bootstrap) as admin:
        admin.delete_records({TopicPartition("shortened", 0): 3})
    shown = sql(f"SELECT * FROM shortened TIMESTAMP AS OF timestamp_millis({START_MS})")
    assert "what was there before was deleted" in shown
    shown = sql("SELECT * FROM shortened VERSION AS OF 2")
    assert "records before were deleted, choose a later version" in shown
