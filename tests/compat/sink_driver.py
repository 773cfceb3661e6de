"""Writes numbered records with the sink of tables until all are written: killed and started again.

Arguments: the URL of the database, how many records, and a seed.
"""

import random
import sys
import time
from typing import Any

from moldau.connect.connectors.jdbc.sink import JdbcSink, StageLostError
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import RetriableError
from moldau.connect.data.record import SinkRecord
from moldau.connect.data.schema import struct
from moldau.connect.data.struct import Struct
from moldau.ids import TopicPartition

VALUE = struct("value", {"n": schemas.INT64, "text": schemas.STRING})
# Between batches: on a fast machine there must be something left to write when the kill comes.
PAUSE_S = 0.04
PARTITIONS = (TopicPartition("numbers", 0), TopicPartition("numbers", 1))


class Task:
    connector = "numbers"
    batch_id = 0
    attempt = 0

    def __init__(self, task_id: int) -> None:
        self.task_id = task_id

    def report(self, record: SinkRecord, error: Exception) -> None:
        raise error


def record(partition: int, offset: int) -> SinkRecord:
    value = Struct.of(VALUE, [offset * 2 + partition, f"record {offset} of {partition}"])
    return SinkRecord("numbers", partition, None, None, VALUE, value, offset=offset)


def main(url: str, count: int, seed: int) -> None:
    rng = random.Random(seed)
    # Without a key, nothing but the offsets keeps a row from being written twice.
    config = {
        "name": "numbers",
        "connection.url": url,
        "auto.create": "true",
        "max.retries": "100",
        "retry.backoff.ms": "50",
    }
    driver = JdbcSink()
    driver.start(config)
    task = JdbcSink()
    task.open(config, Task(0))
    done = driver.stored_offsets()
    while any(done.get(partition, 0) < count for partition in PARTITIONS):
        ends = {at: min(count, done.get(at, 0) + rng.randint(0, 200)) for at in PARTITIONS}
        try:
            messages: list[Any] = []
            for place, (at, end) in enumerate(ends.items()):
                records = [record(at.partition, n) for n in range(done.get(at, 0), end)]
                messages.append(task.write(iter(records), Task(place)))
            driver.commit(messages, ends, 0)
        except StageLostError:
            continue
        except RetriableError:
            # The engine would stage the batch again.
            continue
        done = {**done, **ends}
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
