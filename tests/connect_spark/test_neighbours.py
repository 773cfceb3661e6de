"""Connectors that fill their memory, among nine that go on (see test_errors for other misdeeds)."""

import time

from moldau.connect.engine_api import State
from tests.connect_spark.world import World

NEIGHBOURS = 9
MEMORY = {"moldau.task.memory.mb": "1000"}


def test_nine_neighbours_of_a_connector_that_fills_its_memory_go_on(world: World) -> None:
    topics = [world.new_topic() for _ in range(NEIGHBOURS)]
    names = [world.name("neighbour") for _ in topics]
    files = [world.file(name, "first\n") for name in names]
    for name, path, topic in zip(names, files, topics, strict=True):
        world.run(name, {"connector.class": "FileStreamSource", "file": str(path), "topic": topic})
    for topic in topics:
        world.until(f"{topic} flows", lambda topic=topic: world.values(topic) == [b"first"])  # type: ignore[misc]
    known = len(world.seen.history)

    hungry, eater, full = world.name("hungry"), world.name("eater"), world.new_topic()
    package = "tests.connect_spark.connectors"
    source = {"connector.class": f"{package}.HungrySource", "topic": full, "until": "5"}
    world.run(hungry, {**source, **MEMORY})
    sink = {"connector.class": f"{package}.Hungry", "topics": full}
    world.run(eater, {**sink, "file": str(world.folder / eater), **MEMORY})

    for name in (hungry, eater):
        trace = world.seen.wait(name, State.FAILED) or ""
        reason = "MemoryError: this connector needs more memory than moldau.task.memory.mb=1000\n"
        assert trace.startswith(reason), trace
    assert len(world.values(full)) == 5
    for path in files:
        with path.open("a") as file:
            file.write("second\n")
    wanted = [b"first", b"second"]
    for topic in topics:
        world.until(f"{topic} goes on", lambda topic=topic: world.values(topic) == wanted)  # type: ignore[misc]
    # None of them was even started again.
    assert [each for each in world.seen.history[known:] if each[0] in names] == []

    # Started again it does the same; it is stopped while it does.
    world.run(hungry, {**source, "until": "0", **MEMORY})
    world.seen.wait(hungry, State.RUNNING)
    for name in (hungry, eater, *names):
        started_s = time.monotonic()
        world.engine.stop(name)
        print(f"{name} stopped in {time.monotonic() - started_s:.1f} s")
        assert time.monotonic() - started_s < 60, name
