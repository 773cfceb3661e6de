"""Interactive queries on tables, from a real topic."""

import itertools
from collections.abc import Callable

import pytest

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from moldau.spark.errors import PipelineError
from moldau.streams import LONG, STRING, App
from moldau.streams.queryable import TableReader
from moldau.streams.windowed_keys import WindowedKey

Put = Callable[..., None]

_numbers = itertools.count()


@pytest.fixture
def topic(bootstrap: str) -> str:
    name = f"table-{next(_numbers)}"
    with Admin(bootstrap) as admin:
        admin.create_topic(name, 2, configs={"cleanup.policy": "compact,delete"})
    return name


@pytest.fixture
def put(bootstrap: str, topic: str) -> Put:
    def write(**values: int | None) -> None:
        with Producer(bootstrap) as producer:
            for key, value in values.items():
                encoded = None if value is None else LONG.dumps(value)
                producer.send(topic, encoded, STRING.dumps(key))

    return write


def test_the_latest_value_of_a_key_is_given(bootstrap: str, topic: str, put: Put) -> None:
    put(a=1, b=2)
    put(a=3)
    table = App("asking", bootstrap=bootstrap).table(topic, key=STRING, value=LONG)
    assert table.get("a") == 3
    assert table.get("b") == 2
    assert table.get("c") is None
    assert table.get("c", 0) == 0
    assert sorted(table.items()) == [("a", 3), ("b", 2)]


def test_what_is_new_is_seen_and_what_is_deleted_is_gone(
    bootstrap: str, topic: str, put: Put
) -> None:
    table = App("asking", bootstrap=bootstrap).table(topic, key=STRING, value=LONG)
    assert table.get("a") is None
    put(a=1)
    assert table.get("a") == 1
    put(a=None)
    assert table.get("a") is None


def test_only_what_is_new_is_read(bootstrap: str, topic: str, put: Put) -> None:
    reader = TableReader(bootstrap, topic, STRING, LONG)
    put(a=1, b=1, c=1)
    assert reader.get("a") == 1
    # Records that are gone from the topic are still known: they were read before.
    with Admin(bootstrap) as admin:
        partitions = admin.describe_topics([topic])[0].partitions
        admin.delete_records({TopicPartition(topic, each.partition): -1 for each in partitions})
    put(b=2)
    assert reader.get("b") == 2
    assert reader.get("c") == 1
    reader.close()


def test_a_topic_that_was_made_anew_is_read_anew(bootstrap: str, topic: str, put: Put) -> None:
    reader = TableReader(bootstrap, topic, STRING, LONG)
    put(a=1, b=1)
    put(a=2, b=2)
    assert reader.get("a") == 2
    with Admin(bootstrap) as admin:
        admin.delete_topics([topic])
        admin.create_topic(topic, 2)
    put(b=5)
    assert reader.get("a") is None
    assert reader.get("b") == 5
    reader.close()


def test_a_windowed_table_is_asked_by_key_and_window(bootstrap: str, topic: str) -> None:
    app = App("asking", bootstrap=bootstrap)
    key = WindowedKey(STRING)
    with Producer(bootstrap) as producer:
        producer.send(topic, LONG.dumps(7), key.dumps(("a", 10_000)))
    table = app.table(topic, key=key, value=LONG)
    assert table.get(("a", 10_000)) == 7
    assert list(table.items()) == [(("a", 10_000), 7)]


def test_a_table_is_the_same_whoever_asks_for_it(bootstrap: str) -> None:
    app = App("asking", bootstrap=bootstrap)
    assert app.table("x", key=STRING, value=LONG) is app.table("x", key=STRING, value=LONG)
    assert app.table("x", key=STRING, value=LONG) is not app.table("x", key=STRING, value=STRING)


def test_serdes_are_those_that_the_app_writes_with() -> None:
    app = App("asking")
    counts = app.stream("words").group_by_key().count(name="counts")
    counts.to("word-counts", key=STRING, value=LONG)
    by_topic = app.table("word-counts")
    assert (by_topic.node.topic, by_topic.node.value_serde) == ("word-counts", LONG)
    assert app.table("counts").node.topic == "word-counts"
    counts.to("unnamed")
    with pytest.raises(PipelineError, match=r"asking writes unnamed without naming its serdes"):
        app.table("unnamed")


def test_what_is_computed_from_a_table_is_in_no_topic() -> None:
    doubled = App("asking").table("x", value=LONG).map_values(lambda value: value * 2)
    with pytest.raises(PipelineError, match=r"map_values-1 is in no topic: write it with \.to"):
        doubled.get("a")  # type: ignore[attr-defined]


def test_a_topic_that_does_not_exist_is_named(bootstrap: str) -> None:
    with pytest.raises(PipelineError, match="topic nowhere does not exist"):
        App("asking", bootstrap=bootstrap).table("nowhere").get("a")
