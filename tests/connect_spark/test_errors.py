"""Records that fail, and connectors that misbehave, beside others that go on."""

import time

from moldau.connect.engine_api import State
from moldau.ids import TopicPartition
from tests.connect_spark import connectors
from tests.connect_spark.world import JSON, World, records_of

LINES = "tests.connect_spark.connectors.Lines"
FROM_JSON = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
GOOD = [b'{"a": 1}', b'{"a": 2}']
POISON = b"{not json"


def test_a_poison_record_fails_a_connector_or_is_left_out(world: World) -> None:
    topic = world.new_topic()
    world.produce(topic, GOOD[0], POISON, GOOD[1])
    strict, tolerant, letters = (world.name(each) for each in ("strict", "tolerant", "letters"))
    base = {"connector.class": LINES, "topics": topic, **FROM_JSON}
    everything = {"errors.tolerance": "all"}
    queue = {
        "errors.deadletterqueue.topic.name": f"{letters}-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    files = {name: world.folder / name for name in (strict, tolerant, letters)}
    world.run(strict, {**base, "file": str(files[strict])})
    world.run(tolerant, {**base, **everything, "file": str(files[tolerant])})
    world.run(letters, {**base, **everything, **queue, "file": str(files[letters])})

    trace = world.seen.wait(strict, State.FAILED)
    assert trace is not None
    first = trace.partition("\n")[0]
    assert first.startswith("org.apache.kafka.connect.errors.ConnectException: ")
    assert first.endswith("errors.tolerance is none")
    assert "Caused by: org.apache.kafka.connect.errors.DataException: " in trace
    assert world.committed(strict) == {}

    done = {TopicPartition(topic, 0): 3}
    world.until("tolerant", lambda: world.committed(tolerant) == done)
    world.until("letters", lambda: world.committed(letters) == done)
    for name in (tolerant, letters):
        assert files[name].read_text() == "{'a': 1}\n{'a': 2}\n"
    [letter] = records_of(world.bootstrap, f"{letters}-dead")
    assert letter.value == POISON
    headers = {
        key.removeprefix("__connect.errors."): (value or b"").decode()
        for key, value in letter.headers
    }
    stack = headers.pop("exception.stacktrace")
    message = headers.pop("exception.message")
    assert headers == {
        "topic": topic,
        "partition": "0",
        "offset": "1",
        "connector.name": letters,
        "task.id": "0",
        "stage": "VALUE_CONVERTER",
        "class.name": JSON,
        "exception.class.name": "org.apache.kafka.connect.errors.DataException",
    }
    assert stack.startswith(f"org.apache.kafka.connect.errors.DataException: {message}\n\tat ")
    for name in (strict, tolerant, letters):
        world.engine.stop(name)


def test_letters_that_cannot_be_written_fail_the_connector_and_move_nothing(world: World) -> None:
    topic, dead = world.new_topic(), world.new_topic(configs={"max.message.bytes": "100"})
    poison = POISON + b" " * 1000
    world.produce(topic, GOOD[0], poison)
    name, picky = world.name("unwritable"), world.name("picky")
    world.run(
        name,
        {
            "connector.class": LINES,
            "topics": topic,
            "file": str(world.folder / name),
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": dead,
            **FROM_JSON,
        },
    )
    # A sink reports records that it cannot write in the same way.
    words, letters = world.new_topic(), world.new_topic()
    world.produce(words, b"good", b"bad one", b"fine")
    world.run(
        picky,
        {
            "connector.class": "tests.connect_spark.connectors.Picky",
            "topics": words,
            "file": str(world.folder / picky),
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": letters,
        },
    )
    trace = world.seen.wait(name, State.FAILED) or ""
    assert f"errors.deadletterqueue.topic.name={dead}" in trace
    assert world.committed(name) == {}
    world.until("picky", lambda: world.committed(picky) == {TopicPartition(words, 0): 3})
    assert (world.folder / picky).read_text() == "good\nfine\n"
    assert world.values(letters) == [b"bad one"]
    for each in (name, picky):
        world.engine.stop(each)


def test_connectors_that_raise_block_or_take_memory_leave_others_alone(world: World) -> None:
    topic = world.new_topic()
    world.produce(topic, b"one")
    kinds = ("Raising", "Blocking", "Blocking", "Hungry", "Lines")
    names = [world.name(kind.lower()) for kind in kinds]
    raising, blocking, _, hungry, good = names
    for kind, name in zip(kinds, names, strict=True):
        world.run(
            name,
            {
                "connector.class": f"tests.connect_spark.connectors.{kind}",
                "topics": topic,
                "file": str(world.folder / name),
                "moldau.task.memory.mb": "1000",
            },
        )
    stuck, broken = world.name("stuck"), world.name("broken")
    for kind, name in (("BlockingSource", stuck), ("RaisingSource", broken)):
        config = {"connector.class": f"tests.connect_spark.connectors.{kind}", "topic": topic}
        world.run(name, {**config, "until": "5"})

    trace = world.seen.wait(raising, State.FAILED) or ""
    assert trace.startswith("ValueError: this sink does not like its records\n\tat put(")
    assert (world.seen.wait(hungry, State.FAILED) or "").startswith("MemoryError")
    trace = world.seen.wait(broken, State.FAILED) or ""
    assert trace.startswith("OSError: the machine is not there\n\tat poll(")
    world.until("it blocks", lambda: (world.folder / blocking).exists())
    # With two of them blocked there is still room.
    world.produce(topic, b"two")
    world.until("the good one", lambda: world.committed(good) == {TopicPartition(topic, 0): 2})
    assert (world.folder / good).read_text() == "one\ntwo\n"
    for name in (*names, stuck, broken):
        started_s = time.monotonic()
        world.engine.stop(name)
        # It gives up after five seconds; those that block do so for an hour.
        assert time.monotonic() - started_s < 60, name
    assert world.committed(blocking) == {}


def test_a_target_that_is_away_for_a_while_is_written_again(world: World) -> None:
    topic, name = world.new_topic(), world.name("moody")
    world.produce(topic, b"one", b"two")
    path = world.folder / name
    config = {
        "connector.class": "tests.connect_spark.connectors.Moody",
        "topics": topic,
        "file": str(path),
    }
    world.run(name, {**config, "moldau.sink.retry.timeout.ms": "-1"})
    impatient = world.name("impatient")
    world.run(impatient, {**config, "moldau.sink.retry.timeout.ms": "500"})
    trace = world.seen.wait(impatient, State.FAILED) or ""
    assert "RetriableException: the target is closed" in trace
    assert world.committed(name) == {}
    world.engine.stop(impatient)
    path.with_suffix(".open").touch()
    world.until("it is written", lambda: world.committed(name) == {TopicPartition(topic, 0): 2})
    assert path.read_text() == "one\ntwo\n"
    world.engine.stop(name)


def test_the_users_connectors_are_short() -> None:
    """The source of a user's connector fits on a page (see connectors.Numbers)."""
    import inspect

    assert len(inspect.getsource(connectors.Numbers).splitlines()) <= 30
    assert len(inspect.getsource(connectors.Lines).splitlines()) <= 30


def test_logs_of_sparks_processes_have_no_secrets(world: World) -> None:
    """A source runs in a process that reads, a sink in one that runs tasks."""
    topic = world.new_topic()
    sink, source = world.name("chatty"), world.name("chatty-source")
    file, log = world.folder / sink, world.folder / f"{source}.log"
    package = "tests.connect_spark.connectors"
    secrets = {"blue-moose": "${env:MOOSE}"}
    told = {"password": "blue-moose"}
    counting = {"connector.class": f"{package}.ChattySource", "topic": topic, "until": "1"}
    world.run(source, {**told, **counting, "log": str(log)}, secrets)
    writing = {"connector.class": f"{package}.Chatty", "topics": topic, "file": str(file)}
    world.run(sink, {**told, **writing}, secrets)
    world.until("a record", lambda: world.committed(sink) == {TopicPartition(topic, 0): 1})
    for path in (log, file.with_suffix(".log")):
        assert path.read_text() == "login with ${env:MOOSE}\n"
    for name in (source, sink):
        world.engine.stop(name)
