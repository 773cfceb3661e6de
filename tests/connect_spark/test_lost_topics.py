"""Topics that lose records, or go and come back, under a sink: FAILED, and nothing is skipped."""

import pytest

from moldau.client.admin import Admin
from moldau.connect.engine_api import State
from moldau.ids import TopicPartition
from tests.connect_spark.world import JSON, World

LINES = "tests.connect_spark.connectors.Lines"
REMEMBERING = "tests.connect_spark.connectors.Remembering"
REMEDY = "delete its offsets"


def make_again(world: World, topic: str, *values: bytes) -> None:
    with Admin(world.bootstrap) as admin:
        admin.delete_topics([topic])
        world.until("it is gone", lambda: all(each.name != topic for each in admin.list_topics()))
    world.new_topic(topic)
    world.produce(topic, *values)


def test_progress_below_the_log_fails_the_sink(world: World) -> None:
    topic, name = world.new_topic(), world.name("expired")
    config = {"connector.class": LINES, "topics": topic, "file": str(world.folder / name)}
    world.produce(topic, b"one")
    world.run(name, config)
    world.until("the first", lambda: world.committed(name) == {TopicPartition(topic, 0): 1})
    world.engine.stop(name)
    world.produce(topic, b"two", b"three")
    with Admin(world.bootstrap) as admin:
        admin.delete_records({TopicPartition(topic, 0): 2})
    world.run(name, config)
    trace = world.seen.wait(name, State.FAILED) or ""
    assert f"at offset 1 of {topic}-0, which has 2 to 3" in trace
    assert REMEDY in trace
    world.engine.stop(name)


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_topic_that_is_deleted_under_a_running_sink_fails_it(
    world: World, comes_back: bool
) -> None:
    topic, name = world.new_topic(), world.name("gone")
    path = world.folder / name
    world.produce(topic, b"one")
    config = {"connector.class": LINES, "topics": topic, "file": str(path)}
    world.run(name, config)
    world.until("the first", lambda: world.committed(name) == {TopicPartition(topic, 0): 1})
    if comes_back:
        # It is longer than it was: by offsets alone nothing would be seen.
        make_again(world, topic, b"new one", b"new two", b"new three")
    else:
        with Admin(world.bootstrap) as admin:
            admin.delete_topics([topic])
    trace = world.seen.wait(name, State.FAILED) or ""
    assert topic in trace
    assert REMEDY in trace
    assert "failOnDataLoss" not in trace
    assert path.read_text() == "one\n"
    world.engine.stop(name)
    if comes_back:
        # Brokers delete the offsets of a group with the topic: a restart reads the new one.
        world.run(name, config)
        done = {TopicPartition(topic, 0): 3}
        world.until("the new topic", lambda: world.committed(name) == done)
        assert path.read_text() == "one\nnew one\nnew two\nnew three\n"
        world.engine.stop(name)


def test_offsets_in_a_target_are_not_used_for_another_topic_of_that_name(world: World) -> None:
    topic, name = world.new_topic(), world.name("remembering")
    path = world.folder / name
    config = {"connector.class": REMEMBERING, "topics": topic, "file": str(path)}
    world.produce(topic, b"one")
    world.run(name, config)
    world.until("the first", lambda: world.committed(name) == {TopicPartition(topic, 0): 1})
    world.engine.stop(name)
    make_again(world, topic, b"new one", b"new two", b"new three")
    world.run(name, config)
    trace = world.seen.wait(name, State.FAILED) or ""
    assert f"the target has {topic}-0 up to offset 1, and the group connect-{name} has no" in trace
    assert REMEDY in trace
    assert path.read_text() == "one\n"
    world.engine.stop(name)


def test_a_sink_with_offsets_in_its_target_goes_on_after_its_first_commit(world: World) -> None:
    """The group knows the partition before the target: a crash in between is told apart."""
    topic, name = world.new_topic(), world.name("crashing")
    path = world.folder / name
    config = {"connector.class": REMEMBERING, "topics": topic, "file": str(path)}
    world.produce(topic, b"one")
    # The sink ends the query after its commit, before the group has the offsets.
    world.run(name, {**config, "fail.after.commit": "true"})
    world.seen.wait(name, State.FAILED)
    assert world.committed(name) == {TopicPartition(topic, 0): 0}
    world.engine.stop(name)
    world.run(name, config)
    world.produce(topic, b"two")
    world.until("the second", lambda: world.committed(name) == {TopicPartition(topic, 0): 2})
    assert path.read_text() == "one\ntwo\n"
    world.engine.stop(name)


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("kind", ["topics", "topics.regex"])
def test_a_table_is_not_continued_with_another_topic_of_that_name(
    world: World, kind: str, is_there: bool
) -> None:
    """Tables leave out what they have by its offsets: a new topic's records would be lost."""
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    topic, name = world.new_topic(), world.name("table")
    folder = world.folder / name
    config = {
        "connector.class": "io.moldau.connect.DeltaSink",
        kind: topic,
        "path": f"{folder}/${{topic}}",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    old, new = b'{"text": "old"}', b'{"text": "new"}'
    world.produce(topic, old, old)
    world.run(name, config)
    world.until("two rows", lambda: world.committed(name) == {TopicPartition(topic, 0): 2})
    world.engine.stop(name)
    with Admin(world.bootstrap) as admin:
        admin.delete_topics([topic])
        world.until("it is gone", lambda: all(each.name != topic for each in admin.list_topics()))
    if not is_there:
        # The sink runs before there is a topic again.
        world.seen.forget(name)
        world.run(name, config)
        world.seen.wait(name, State.RUNNING)
    world.new_topic(topic)
    world.produce(topic, new, new, new)
    if is_there:
        world.run(name, config)
    for is_last in (False, True):
        trace = world.seen.wait(name, State.FAILED) or ""
        assert f"the target has {topic}-0 up to offset 2, and the group connect-{name} has" in trace
        assert REMEDY in trace
        # A restart changes nothing.
        if not is_last:
            world.seen.forget(name)
            world.engine.restart(name)
    world.engine.stop(name)
    rows = deltalake.DeltaTable(str(folder / topic)).to_pyarrow_table().to_pylist()
    assert ["old" in str(row) for row in rows] == [True, True]
