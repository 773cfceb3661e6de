"""kcat: a client on an old librdkafka, as found in Linux distributions."""

import json
import subprocess
import uuid
from typing import Any

import pytest

from tests.compat.clients.base import Client
from tests.compat.sample import PARTITIONS, text_records, wait_until

LIMIT_S = 180


class Kcat:
    def __init__(self, path: str, bootstrap: str) -> None:
        self._command = [path, "-b", bootstrap]

    def run(self, *arguments: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            [*self._command, *arguments], input=stdin, capture_output=True, timeout=LIMIT_S
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def read(self, topic: str, *arguments: str) -> list[dict[str, Any]]:
        """Everything up to the end of the partitions, as kcat's JSON."""
        output = self.run("-C", "-t", topic, "-e", "-q", "-J", *arguments)
        return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def cat(kcat: str, bootstrap: str) -> Kcat:
    return Kcat(kcat, bootstrap)


def test_metadata_is_listed(cat: Kcat, reference: Client, topic: str) -> None:
    reference.create_topic(topic, 3)
    wait_until(lambda: topic in reference.list_topics())
    listed = json.loads(cat.run("-L", "-J", "-t", topic))
    (described,) = listed["topics"]
    assert described["topic"] == topic
    assert [one["partition"] for one in described["partitions"]] == [0, 1, 2]
    assert all(len(one["isrs"]) == 1 for one in described["partitions"])


def test_lines_with_keys_and_headers_round_trip_with_every_codec(
    cat: Kcat, reference: Client, topic: str, codec: str
) -> None:
    reference.create_topic(topic, PARTITIONS)
    wait_until(lambda: topic in reference.list_topics())
    lines = "".join(f"key-{n}:value {n} of many that are alike\n" for n in range(100))
    headers = ["-H", "trace=abc", "-H", "empty="]
    cat.run("-P", "-t", topic, "-K", ":", "-z", codec, *headers, stdin=lines.encode())

    found = cat.read(topic)

    assert sorted((one["key"], one["payload"]) for one in found) == sorted(
        (f"key-{n}", f"value {n} of many that are alike") for n in range(100)
    )
    assert all(one["headers"] == ["trace", "abc", "empty", ""] for one in found)
    assert len({one["partition"] for one in found}) == PARTITIONS


def test_null_and_empty_values_are_told_apart(cat: Kcat, reference: Client, topic: str) -> None:
    reference.create_topic(topic)
    wait_until(lambda: topic in reference.list_topics())
    cat.run("-P", "-t", topic, "-K", ":", "-Z", stdin=b"gone:\n")
    cat.run("-P", "-t", topic, "-K", ":", stdin=b"empty:\n")
    assert [one["payload"] for one in cat.read(topic)] == [None, ""]


def test_a_large_value_is_sent_from_standard_input(
    cat: Kcat, reference: Client, topic: str
) -> None:
    reference.create_topic(topic)
    wait_until(lambda: topic in reference.list_topics())
    value = (uuid.uuid4().hex * 30000)[:900_000]
    cat.run("-P", "-t", topic, "-D", "\x01", stdin=value.encode())
    assert [one["payload"] for one in cat.read(topic)] == [value]


def test_what_another_client_wrote_is_read(cat: Kcat, reference: Client, topic: str) -> None:
    reference.create_topic(topic, PARTITIONS)
    records = [r for n in range(PARTITIONS) for r in text_records(20, partition=n)]
    records = [r._replace(headers=(("a", b"1"), ("b", b""))) for r in records]
    reference.produce(topic, records, codec="zstd")
    found = cat.read(topic)
    assert sorted((one["partition"], one["ts"], one["payload"]) for one in found) == sorted(
        (r.partition, r.timestamp, (r.value or b"").decode()) for r in records
    )
    assert all(one["headers"] == ["a", "1", "b", ""] for one in found)


def test_reading_starts_at_a_time_or_counted_from_the_end(
    cat: Kcat, reference: Client, topic: str
) -> None:
    reference.create_topic(topic)
    records = text_records(30)
    reference.produce(topic, records)
    since = cat.read(topic, "-o", f"s@{records[21].timestamp}")
    assert [one["offset"] for one in since] == list(range(21, 30))
    last = cat.read(topic, "-p", "0", "-o", "-4")
    assert [one["offset"] for one in last] == [26, 27, 28, 29]
    asked = cat.run("-Q", "-t", f"{topic}:0:{records[5].timestamp}")
    assert asked.strip() == f"{topic} [0] offset 5"
