"""Kafka Streams, as its authors ship it: the word count, and the smoke test of its own suite.

The word count updates a count for every word it reads. Written exactly once, the counts of a word
are 1, 2, 3 and so on without a gap or a repetition, whoever was killed in between.
"""

import os
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tools import wire
from tools.brokers import HOST, PROJECT, Broker

from moldau.client.admin import Admin
from moldau.client.consumer import Consumer
from moldau.client.offsets import EARLIEST, LATEST
from moldau.client.producer import Producer
from tests.compat.clients.programs import UnavailableError, compile_java, require
from tests.compat.conftest import NO_TRANSACTIONS, TXN_OFFSET_COMMIT

WORD_COUNT = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"
SMOKE_TEST = "org.apache.kafka.streams.tests.StreamsSmokeTest"
SENTENCE = "all work and no play makes jack a dull boy and all that"
SENTENCES = 60
WORDS = SENTENCE.split()
PATIENCE_S = 180
SMOKE_LIMIT_S = 400
# Keys, records of each, and seconds: those of Kafka's own suite, or a short form.
SMOKE_DATA = (20, 1000, 90) if "STREAMS_SMOKE" in os.environ else (5, 200, 15)
SMOKE_TOPICS = (
    *("data", "echo", "max", "min", "min-suppressed", "min-raw", "dif", "sum", "sws-raw"),
    *("sws-suppressed", "cnt", "avg", "tagg", "fk"),
)
BROKER_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    # The smoke test writes records of two days ago.
    "log.retention.ms": "-1",
}


class Program:
    """A Java program of Kafka Streams, which can be killed."""

    def __init__(
        self, folder: Path, log: Path, name: str, *arguments: str, classes: Path | None = None
    ) -> None:
        path = str(folder / "*") if classes is None else f"{folder / '*'}{os.pathsep}{classes}"
        jvm = ("java", "-Xmx256M", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={log.parent}")
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*jvm, "-cp", path, name, *arguments], stdout=output, stderr=output
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def jars() -> Path:
    folder = Path(os.environ.get("KAFKA_STREAMS_DIR") or PROJECT / ".cache" / "kafka-streams")
    try:
        require("java")
    except UnavailableError as reason:
        pytest.skip(str(reason))
    if not (folder / "READY").exists():
        pytest.skip("Kafka Streams is not installed: run tools/install-kafka-streams")
    return folder / "jars"


@pytest.fixture
def broker(broker_kind: type[Broker], tmp_path: Path) -> Iterator[Broker]:
    with broker_kind(tmp_path / "data", BROKER_SETTINGS) as running:
        if TXN_OFFSET_COMMIT not in wire.api_versions(HOST, running.port):
            pytest.skip(NO_TRANSACTIONS)
        yield running


def counted(bootstrap: str) -> dict[str, list[int]]:
    """The counts of each word, in the order in which they were written, as far as committed."""
    found: dict[str, list[int]] = {}
    with Consumer(bootstrap, read_committed=True) as consumer:
        places = consumer.partitions_of("streams-wordcount-output")
        ends = consumer.offsets_at(dict.fromkeys(places, LATEST))
        consumer.assign(consumer.offsets_at(dict.fromkeys(places, EARLIEST)))
        while any(consumer.positions[place] < ends[place] for place in places):
            for record in consumer.poll(0.2):
                count: int = struct.unpack(">q", record.value or b"")[0]
                found.setdefault((record.key or b"").decode(), []).append(count)
    return found


def await_counts(bootstrap: str, holds: Callable[[dict[str, list[int]]], bool], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds(found := counted(bootstrap)):
        if time.monotonic() > deadline:
            said = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
            latest = {word: counts[-1] for word, counts in found.items()}
            pytest.fail(f"counted up to {latest}; the word count said:\n{said}")
        time.sleep(0.1)


def await_words(log: Path, words: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while words not in (said := log.read_text(errors="replace")):
        assert time.monotonic() < deadline, f"{log.name} has no {words!r}:\n{said[-3000:]}"
        time.sleep(0.1)


def feed(bootstrap: str, sentences: int) -> None:
    with Producer(bootstrap) as producer:
        for number in range(sentences):
            producer.send("streams-plaintext-input", SENTENCE.encode(), partition=number % 2)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_words_are_counted_though_the_processor_and_the_broker_are_killed(
    jars: Path, broker: Broker, tmp_path: Path, guarantee: str
) -> None:
    bootstrap = broker.bootstrap
    with Admin(bootstrap) as admin:
        admin.create_topic("streams-plaintext-input", 2)
        admin.create_topic("streams-wordcount-output", 2)
    settings = tmp_path / "word-count.properties"
    settings.write_text(
        f"bootstrap.servers={bootstrap}\nprocessing.guarantee={guarantee}\n"
        f"state.dir={tmp_path}/state\ncommit.interval.ms=100\n"
        # A static member, so that its successor need not wait for the end of its session.
        "group.instance.id=counter\n"
    )
    log = tmp_path / "word-count.log"

    def start() -> Program:
        return Program(jars, log, WORD_COUNT, str(settings))

    program = start()
    try:
        feed(bootstrap, SENTENCES)
        await_counts(bootstrap, lambda found: len(found) == len(set(WORDS)), log)
        program.kill()
        program = start()
        feed(bootstrap, SENTENCES)
        await_counts(bootstrap, lambda found: max(found["jack"]) > SENTENCES, log)
        feed(bootstrap, SENTENCES)
        broker.kill()
        broker.start()
        totals = {word: 3 * SENTENCES * WORDS.count(word) for word in WORDS}
        await_counts(
            bootstrap,
            lambda found: all(max(found[word]) >= total for word, total in totals.items()),
            log,
        )
    finally:
        program.kill()
    found = counted(bootstrap)
    if guarantee == "exactly_once_v2":
        assert found == {word: list(range(1, total + 1)) for word, total in totals.items()}
    else:
        # Words may have been counted twice, and none was forgotten.
        assert all(set(found[word]) >= set(range(1, total + 1)) for word, total in totals.items())


@pytest.mark.timeout(2 * SMOKE_LIMIT_S)
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_the_smoke_test_succeeds_though_the_processor_and_the_broker_are_killed(
    jars: Path, broker: Broker, program_dir: Path, tmp_path: Path, guarantee: str
) -> None:
    with Admin(broker.bootstrap) as admin:
        for topic in SMOKE_TOPICS:
            admin.create_topic(topic, 1 if topic == "fk" else 4)
    settings = tmp_path / "smoke.properties"
    settings.write_text(
        f"bootstrap.servers={broker.bootstrap}\nprocessing.guarantee={guarantee}\n"
        "session.timeout.ms=6000\nheartbeat.interval.ms=1000\ncommit.interval.ms=200\n"
    )
    try:
        classes = compile_java(program_dir, "SmokeDriver", str(jars / "*"))
    except UnavailableError as reason:
        pytest.skip(str(reason))
    is_exact = str(guarantee == "exactly_once_v2").lower()
    logs = [tmp_path / f"{name}.log" for name in ("driver", "worker", "successor")]

    def start_worker(log: Path) -> Program:
        return Program(jars, log, SMOKE_TEST, str(settings), "process")

    running = [start_worker(logs[1])]
    try:
        await_words(logs[1], "REBALANCING -> RUNNING")
        arguments = (broker.bootstrap, *map(str, SMOKE_DATA), is_exact)
        driver = Program(jars, logs[0], "SmokeDriver", *arguments, classes=classes)
        running.append(driver)
        await_words(logs[1], "processed")
        running[0].kill()
        running.append(start_worker(logs[2]))
        await_words(logs[2], "processed")
        # Later there would be nothing left that could go wrong.
        assert "Result Verification" not in logs[0].read_text()
        broker.kill()
        broker.start()
        driver.process.wait(SMOKE_LIMIT_S)
    finally:
        for program in running:
            program.kill()
    said = logs[0].read_text(errors="replace")
    assert "\nSUCCESS\n" in said, said[-3000:]
    assert "ALL-RECORDS-DELIVERED" in said
    assert "SMOKE-TEST-CLIENT-EXCEPTION" not in logs[2].read_text(errors="replace")
