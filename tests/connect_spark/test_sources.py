"""Sources: converters, transforms, topics that are created, and tolerance."""

import json

import pytest

from moldau.client.admin import Admin, ResourceType
from moldau.connect.engine_api import State
from tests.connect_spark.world import JSON, World, records_of

PACKAGE = "tests.connect_spark.connectors"


def test_records_are_transformed_converted_and_written_to_topics_made_for_them(
    world: World,
) -> None:
    name, topic = world.name("named"), world.name("made")
    config = {
        "connector.class": f"{PACKAGE}.Naming",
        "topic": topic,
        "until": "7",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "transforms": "mark,route",
        "transforms.mark.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.mark.static.field": "by",
        "transforms.mark.static.value": "test",
        "transforms.mark.predicate": "ours",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "(.*)",
        "transforms.route.replacement": "$1-routed",
        "predicates": "ours",
        "predicates.ours.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "predicates.ours.pattern": "made.*",
        "topic.creation.default.partitions": "3",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.retention.ms": "12345678",
    }
    strict = world.name("strict")
    world.run(strict, config)
    world.run(name, {**config, "errors.tolerance": "all"})
    trace = world.seen.wait(strict, State.FAILED) or ""
    assert "errors.tolerance is none" in trace
    world.until(
        "it is done", lambda: world.offsets.read(name) == [({"counter": "one"}, {"next": 7})]
    )
    written = records_of(world.bootstrap, f"{topic}-routed")
    values = [json.loads(record.value or b"") for record in written]
    expected = [{"number": number, "by": "test"} for number in (0, 1, 3, 4, 6)]
    assert sorted(values, key=lambda value: value["number"]) == expected
    with Admin(world.bootstrap) as admin:
        [described] = admin.describe_topics([f"{topic}-routed"])
        configs = admin.describe_configs(ResourceType.TOPIC, f"{topic}-routed")
    assert len(described.partitions) == 3
    assert "12345678" in str(configs)
    assert (name, f"{topic}-routed") in world.seen.topics
    for each in (name, strict):
        world.engine.stop(each)


def test_records_that_brokers_refuse_fail_a_source_or_are_left_out(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    small = {"max.message.bytes": "1000"}
    topic, strict_topic, whole_topic = (world.new_topic(configs=small) for _ in range(3))
    config = {"connector.class": f"{PACKAGE}.Unwritable", "until": "7"}
    tolerant, strict, whole = (world.name(each) for each in ("tolerant", "strict", "whole"))
    world.run(tolerant, {**config, "topic": topic, "errors.tolerance": "all"})
    world.run(strict, {**config, "topic": strict_topic})
    # A transaction has all records or fails, whatever is tolerated: as in Kafka.
    exactly_once = {"topic": whole_topic, "errors.tolerance": "all"}
    world.run(whole, {**config, **exactly_once}, exactly_once_source_support="enabled")

    done = [({"counter": "one"}, {"next": 7})]
    world.until("the rest", lambda: world.offsets.read(tolerant) == done)
    assert world.values(topic) == [b"number 0", b"number 1", b"number 4", b"number 6"]
    assert (tolerant, "no/topic") not in world.seen.topics
    assert f"connector {tolerant}: 3 records are left out" in caplog.text
    for each in (strict, whole):
        world.seen.wait(each, State.FAILED)
        assert world.offsets.read(each) == []
    assert world.values(whole_topic) == []
    for each in (tolerant, strict, whole):
        world.engine.stop(each)
