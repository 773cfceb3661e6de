"""Processes are killed: nothing is lost, and in transactions nothing doubled."""

import os
import signal
from pathlib import Path

from moldau.connect.engine_api import State
from tests.connect_spark.world import World

NUMBERS = "tests.connect_spark.connectors.Numbers"
STEADY_NUMBERS = "tests.connect_spark.connectors.SteadyNumbers"


def processes_with(text: str) -> list[int]:
    """The processes of this test run whose command line has ``text``."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if text in command and _is_ours(int(entry.name)):
            found.append(int(entry.name))
    return found


def _is_ours(process: int) -> bool:
    while process > 1:
        if process == os.getpid():
            return True
        try:
            stat = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False
        process = int(stat.rpartition(")")[2].split()[1])
    return False


def reader_of(world: World, name: str) -> int:
    """The process in which a source runs."""
    run = world.engine._runners[name]._run
    assert run is not None
    process = run.directory.process()
    assert process is not None
    return process


def writes_on(world: World, topic: str) -> None:
    before = len(world.values(topic))
    world.until("more is written", lambda: len(world.values(topic)) > before)


def test_a_source_whose_process_is_killed_goes_on_exactly_once(world: World) -> None:
    topic, name = world.new_topic(partitions=2), world.name("numbers")
    world.run(
        name,
        {"connector.class": STEADY_NUMBERS, "topic": topic, "until": "1000000000"},
        exactly_once_source_support="enabled",
    )
    for _ in range(2):
        writes_on(world, topic)
        os.kill(reader_of(world, name), signal.SIGKILL)
        world.seen.wait(name, State.RESTARTING)
        world.seen.wait(name, State.RUNNING)
    writes_on(world, topic)
    world.engine.stop(name)
    values = [value for value in world.values(topic) if value is not None]
    [(partition, offset)] = world.offsets.read(name)
    assert partition == {"counter": "one"}
    expected = {b"number %d" % number for number in range(offset["next"])}
    assert len(values) == len(expected)
    assert set(values) == expected


def test_all_connectors_go_on_in_a_new_jvm(world: World) -> None:
    topic = world.new_topic()
    sink, lines = world.folder / "jvm.txt", world.name("lines")
    numbers = world.name("numbers")
    world.run(
        lines,
        {
            "connector.class": "tests.connect_spark.connectors.Lines",
            "topics": topic,
            "file": str(sink),
        },
    )
    world.run(numbers, {"connector.class": NUMBERS, "topic": topic, "until": "500"})
    world.until("it runs", lambda: sink.exists() and len(sink.read_text().splitlines()) == 500)
    [java] = processes_with("org.apache.spark.deploy.SparkSubmit")
    os.kill(java, signal.SIGKILL)
    for name in (lines, numbers):
        world.seen.wait(name, State.RESTARTING)
    for name in (lines, numbers):
        world.seen.wait(name, State.RUNNING)
    world.run(numbers, {"connector.class": NUMBERS, "topic": topic, "until": "600"})

    def arrived() -> set[str]:
        return set(sink.read_text().splitlines())

    world.until("it goes on", lambda: arrived() == {f"number {each}" for each in range(600)})
    for name in (lines, numbers):
        world.engine.stop(name)
