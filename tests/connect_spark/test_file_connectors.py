"""The file connectors, through Spark and a broker."""

from moldau.connect.engine_api import State
from moldau.ids import TopicPartition
from tests.connect_spark.world import World

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


def test_lines_go_from_a_file_through_a_topic_to_a_file(world: World) -> None:
    lines = "".join(f"line {number}\n" for number in range(5000))
    source, sink = world.file("in.txt", lines), world.folder / "out.txt"
    topic = world.new_topic()
    world.run("in", {"connector.class": SOURCE, "file": str(source), "topic": topic})
    world.run("out", {"connector.class": SINK, "file": str(sink), "topics": topic})
    world.until("all lines arrive", lambda: sink.exists() and sink.read_text() == lines)
    world.until(
        "progress is stored",
        lambda: world.offsets.read("in") == [({"filename": str(source)}, {"position": len(lines)})],
    )
    world.until(
        "offsets are committed", lambda: world.committed("out") == {TopicPartition(topic, 0): 5000}
    )
    assert world.seen.states["in", None] == (State.RUNNING, None)
    assert {("in", topic), ("out", topic)} <= world.seen.topics
    for name in ("in", "out"):
        world.engine.stop(name)


def test_paused_connectors_go_on_where_they_were(world: World) -> None:
    source, sink = world.file("p-in.txt", "one\ntwo\nthr"), world.folder / "p-out.txt"
    topic = world.new_topic()
    from_file = {"connector.class": SOURCE, "file": str(source), "topic": topic}
    to_file = {"connector.class": SINK, "file": str(sink), "topics": topic}
    world.run("p-in", from_file)
    world.run("p-out", to_file)
    world.until("whole lines", lambda: sink.exists() and sink.read_text() == "one\ntwo\n")
    world.until("offsets", lambda: world.committed("p-out") == {TopicPartition(topic, 0): 2})
    for name in ("p-in", "p-out"):
        world.engine.pause(name)
        assert world.seen.states[name, 0] == (State.PAUSED, None)
    with source.open("a") as file:
        file.write("ee\nfour\n")
    world.run("p-in", from_file)
    world.run("p-out", to_file)
    world.until("the rest", lambda: sink.read_text() == "one\ntwo\nthree\nfour\n")
    for name in ("p-in", "p-out"):
        world.engine.stop(name)
