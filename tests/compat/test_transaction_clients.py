"""Transactions through every library: all or nothing, one owner of an id, offsets included."""

import re
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from tools.brokers import Broker

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from tests.compat.clients.base import ClientError
from tests.compat.clients.programs import UnavailableError
from tests.compat.clients.transactors import TRANSACTOR_NAMES, Transactor, start_transactor

PATIENCE_S = 120
FENCED = re.compile("fenced|epoch|taken over|same transactional_id", re.IGNORECASE)
COPIED = 12


@pytest.fixture(scope="module")
def bootstrap(transaction_broker: Broker) -> str:
    return transaction_broker.bootstrap


@pytest.fixture(scope="module")
def start(
    bootstrap: str, program_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Transactor]]:
    """Starts each library once."""
    started: dict[str, Transactor] = {}
    logs = tmp_path_factory.mktemp("transactors")

    def get(name: str) -> Transactor:
        if name not in started:
            try:
                started[name] = start_transactor(name, bootstrap, program_dir, logs)
            except UnavailableError as reason:
                pytest.skip(f"{name}: {reason}")
        return started[name]

    yield get
    for transactor in started.values():
        transactor.close()


@pytest.fixture(params=TRANSACTOR_NAMES)
def transactor(request: pytest.FixtureRequest, start: Callable[[str], Transactor]) -> Transactor:
    return start(request.param)


@pytest.fixture
def pair(bootstrap: str, topic: str) -> str:
    """A topic of two partitions."""
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, 2)
    return topic


def read(bootstrap: str, topic: str, *, isolation: str = "read_committed") -> list[list[str]]:
    """What librdkafka reads from both partitions, up to their ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 50,
        }
    )
    found: list[list[str]] = [[], []]
    ended: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    try:
        consumer.assign([Place(topic, partition, 0) for partition in range(2)])
        while len(ended) < 2:
            assert time.monotonic() < deadline, found
            for message in consumer.consume(100, 0.5):
                partition = message.partition()
                assert partition is not None
                if message.error() is not None:
                    ended.add(partition)
                else:
                    found[partition].append((message.value() or b"").decode())
    finally:
        consumer.close()
    return found


def test_all_of_a_transaction_is_read_or_nothing(
    transactor: Transactor, bootstrap: str, pair: str
) -> None:
    transactor.open("p", f"id-of-{pair}")
    transactor.write("p", pair, 0, ["a", "b"], commit=True)
    transactor.write("p", pair, 0, ["never", "never"], commit=False)
    transactor.begin("p")
    transactor.send("p", pair, 0, ["c"])
    transactor.send("p", pair, 1, ["d"])
    # The rest waits for the end of the transaction.
    assert read(bootstrap, pair) == [["a", "b"], []]
    transactor.end("p", commit=True)
    transactor.write("p", pair, 1, ["never"], commit=False)

    expected = [["a", "b", "c"], ["d"]]
    # An answer may come before the last marker.
    wait(lambda: read(bootstrap, pair) == expected)
    everything = [["a", "b", "never", "never", "c"], ["d", "never"]]
    assert read(bootstrap, pair, isolation="read_uncommitted") == everything


def test_the_second_producer_of_an_id_fences_the_first(
    transactor: Transactor, bootstrap: str, pair: str
) -> None:
    transactor.open("old", f"id-of-{pair}")
    transactor.write("old", pair, 0, ["first"], commit=True)
    transactor.begin("old")
    transactor.send("old", pair, 0, ["of the fenced"])
    transactor.open("new", f"id-of-{pair}")
    with pytest.raises(ClientError, match=FENCED):
        transactor.end("old", commit=True)
    transactor.write("new", pair, 0, ["second"], commit=True)
    wait(lambda: read(bootstrap, pair) == [["first", "second"], []])


def test_what_is_read_is_written_once_though_every_transaction_was_aborted_before(
    transactor: Transactor, bootstrap: str, pair: str
) -> None:
    source, group = f"{pair}-source", f"group-of-{pair}"
    with Admin(bootstrap) as admin:
        admin.create_topic(source, 2)
    with Producer(bootstrap) as feed:
        for number in range(COPIED):
            feed.send(source, b"%d" % number, partition=number % 2)

    transactor.copy(source, pair, group, f"id-of-{pair}", COPIED)

    expected = [[str(number) for number in range(start, COPIED, 2)] for start in range(2)]
    wait(lambda: read(bootstrap, pair) == expected)
    with Admin(bootstrap) as admin:
        committed = admin.groups.offsets(group)
    assert {place: each.offset for place, each in committed.items()} == {
        TopicPartition(source, partition): COPIED // 2 for partition in range(2)
    }


def test_libraries_of_both_protocols_take_over_one_id_in_turn(
    start: Callable[[str], Transactor], bootstrap: str, pair: str
) -> None:
    """Each leaves a transaction open, which the next one's taking over aborts."""
    turns = [*TRANSACTOR_NAMES, *reversed(TRANSACTOR_NAMES)]
    before: Transactor | None = None
    for number, name in enumerate(turns):
        transactor = start(name)
        transactor.open(f"turn-{number}", f"id-of-{pair}")
        if before is not None:
            with pytest.raises(ClientError, match=FENCED):
                before.end(f"turn-{number - 1}", commit=True)
        transactor.write(f"turn-{number}", pair, 0, [f"{number} {name}"], commit=True)
        transactor.begin(f"turn-{number}")
        transactor.send(f"turn-{number}", pair, 0, ["never"])
        before = transactor
    assert before is not None
    before.end(f"turn-{len(turns) - 1}", commit=False)
    expected = [f"{number} {name}" for number, name in enumerate(turns)]
    wait(lambda: read(bootstrap, pair) == [expected, []])


def test_kcat_writes_its_input_as_one_transaction(kcat: str, bootstrap: str, pair: str) -> None:
    command = [kcat, "-b", bootstrap, "-t", pair]
    lines = "".join(f"line {number}\n" for number in range(50))
    for name in ("one", "two"):
        subprocess.run(
            [*command, "-P", "-p", "0", "-X", f"transactional.id=kcat-{pair}-{name}"],
            input=lines,
            text=True,
            check=True,
            capture_output=True,
            timeout=PATIENCE_S,
        )
    with Producer(bootstrap, transactional_id=f"id-of-{pair}") as producer:
        producer.begin_transaction()
        producer.send(pair, b"never", partition=0)
        producer.flush()
        producer.abort_transaction()
    read_committed = ["-C", "-p", "0", "-e", "-q", "-X", "isolation.level=read_committed"]
    found = subprocess.run(
        [*command, *read_committed],
        text=True,
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    ).stdout
    assert found == lines * 2


def wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
