"""Errors are reported in one line; once fixed, the app continues without loss.

Each app copies a topic and is run from one checkpoint before, with and after the error, as a user
would do it: on the command line, which prints the line, and with ``--debug`` Spark's error.
"""

import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moldau.cli.main import main
from moldau.client.admin import Admin
from moldau.client.consumer import Consumer
from moldau.client.offsets import EARLIEST, LATEST
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from moldau.streams import LONG, STRING
from tests.spark.conftest import NewTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# An app that copies numbers; what it does to them, and with which options, differs.
APP = """
import socket
from pyspark.sql import functions as F
from moldau.streams import LONG, STRING, App, Json

{more}
app = App(
    "copying-{topic}",
    bootstrap={bootstrap!r},
    checkpoint_dir={folder!r},
    source_options={options},
)
numbers = app.stream({topic!r}, value={value})
numbers{operator}.to("{topic}-copied", key=STRING, value=LONG)
"""


class Copying:
    """An app that is changed and run again from its checkpoint."""

    def __init__(self, bootstrap: str, topic: str, folder: Path, said: Callable[[], str]) -> None:
        self.topic = topic
        self._bootstrap = bootstrap
        self._folder = folder
        self._said = said
        self._sent = 0

    def send(self, *values: bytes | int) -> None:
        """Each under its position in the topic as the key."""
        with Producer(self._bootstrap) as producer:
            for value in values:
                data = LONG.dumps(value) if isinstance(value, int) else value
                producer.send(self.topic, data, b"%d" % self._sent)
                self._sent += 1

    def run(
        self,
        *arguments: str,
        operator: str = "",
        options: str = "{}",
        value: str = "LONG",
        more: str = "",
    ) -> list[str]:
        """Do all that is there; the lines of what was said on standard error."""
        path = self._folder / "copying.py"
        path.write_text(
            APP.format(
                topic=self.topic,
                bootstrap=self._bootstrap,
                folder=str(self._folder),
                operator=operator,
                options=options,
                value=value,
                more=more,
            )
        )
        self._said()
        status = main(["stream", "run", str(path), "--once", "--report", "none", *arguments])
        said = self._said().splitlines()
        assert status == (1 if said else 0)
        return said

    def copied(self) -> list[tuple[str, int]]:
        return [
            (STRING.loads(key or b""), LONG.loads(value or b""))
            for key, value in self.records(f"{self.topic}-copied")
        ]

    def records(self, topic: str) -> list[tuple[bytes | None, bytes | None]]:
        """Every record of a topic of one partition, in order."""
        partition = TopicPartition(topic, 0)
        found: list[tuple[bytes | None, bytes | None]] = []
        with Consumer(self._bootstrap) as consumer:
            consumer.assign(consumer.offsets_at({partition: EARLIEST}))
            end = consumer.offsets_at({partition: LATEST})[partition]
            while consumer.positions[partition] < end:
                found.extend((record.key, record.value) for record in consumer.poll(1.0))
        return found


@pytest.fixture
def new_app(
    spark: "SparkSession",
    bootstrap: str,
    new_topic: NewTopic,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Copying:
    return Copying(bootstrap, new_topic(), tmp_path, lambda: capsys.readouterr().err)


@pytest.fixture
def copying(new_app: Copying) -> Copying:
    """It has copied a first record already."""
    new_app.send(10)
    assert new_app.run() == []
    return new_app


def test_a_topic_that_is_not_there_is_named(copying: Copying) -> None:
    copying.send(11)
    (line,) = copying.run(operator=f".merge(app.stream('{copying.topic}-more', value=LONG))")
    assert line == (
        f"moldau: topic {copying.topic}-more does not exist, which to-{copying.topic}-copied "
        f"reads: moldau topics create {copying.topic}-more"
    )
    assert copying.run() == []
    assert copying.copied() == [("0", 10), ("1", 11)]


@pytest.mark.parametrize(
    "options, said",
    [
        ("{'startingOfset': 'latest'}", "no option startingofset: did you mean startingOffsets?"),
        ("{'startingOffsets': '{\"n\": {'}", 'option startingOffsets={"n": {: earliest or latest'),
    ],
)
def test_an_option_that_is_wrong_is_told(copying: Copying, options: str, said: str) -> None:
    copying.send(11)
    (line,) = copying.run(options=options)
    assert line.startswith(f"moldau: query to-{copying.topic}-copied failed: ")
    assert said in line
    assert copying.run() == []
    assert copying.copied() == [("0", 10), ("1", 11)]


def test_records_that_are_gone_are_told_and_only_those_are_lost(
    copying: Copying, bootstrap: str
) -> None:
    copying.send(11, 12, 13)
    with Admin(bootstrap) as admin:
        admin.delete_records({TopicPartition(copying.topic, 0): 3})
    (line,) = copying.run()
    assert line.startswith(
        f"moldau: query to-{copying.topic}-copied failed: {copying.topic}-0 has no offset 1: it "
        "begins at 3 and ends at 4"
    )
    assert "failOnDataLoss=false" in line
    assert copying.run(options="{'failOnDataLoss': 'false'}") == []
    assert copying.copied() == [("0", 10), ("3", 13)]


def test_a_poison_record_is_told_where_it_is(copying: Copying) -> None:
    copying.send(11, b"not eight bytes", 13)
    (line,) = copying.run()
    assert f"{copying.topic}-0 has a poison record at offset 2: its value is not" in line
    assert "on_error='skip' leaves such records out, dead_letter='topic' puts them there" in line
    # Told what to do with it, the app goes on from the same checkpoint.
    assert copying.run(value=f"LONG, dead_letter='{copying.topic}-dead'") == []
    assert copying.copied() == [("0", 10), ("1", 11), ("3", 13)]
    assert copying.records(f"{copying.topic}-dead") == [(b"2", b"not eight bytes")]


def test_records_of_another_schema_are_told_the_schema(copying: Copying) -> None:
    copying.send(11)
    (line,) = copying.run(value="Json('amount long')", operator=".map_values(lambda v: v.amount)")
    assert "has a poison record at offset 1: its value is not JSON of amount " in line
    assert copying.run() == []
    assert copying.copied() == [("0", 10), ("1", 11)]


def test_a_field_that_is_not_there_is_told_with_those_that_are(copying: Copying) -> None:
    copying.send(11)
    (line,) = copying.run(
        value="Json('amount long')", operator=".map_values(lambda value: value.amont, name='m')"
    )
    assert "m: No such struct field `amont` in `amount`" in line
    assert copying.run() == []
    assert copying.copied() == [("0", 10), ("1", 11)]


def test_a_function_for_plain_values_is_told_what_it_gets(copying: Copying) -> None:
    copying.send(11)
    (line,) = copying.run(operator=".map_values(lambda value: int(value))")
    assert "moldau: the function in copying.py line " in line
    assert "TypeError: int() argument must be" in line
    assert "called once, with Spark's Columns; pyspark.sql.functions.udf makes it one for" in line
    assert copying.run() == []
    assert copying.copied() == [("0", 10), ("1", 11)]


def test_an_app_that_computes_something_else_than_its_state_is_told_so(new_app: Copying) -> None:
    counting = ".group_by(lambda: F.lit('all')).count(name='counted')"
    new_app.send(10, 11)
    assert new_app.run(operator=counting) == []
    new_app.send(12)
    (line,) = new_app.run(
        operator=".group_by(lambda: F.lit('all')).aggregate("
        "a=lambda value: F.sum(value), b=lambda value: F.max(value), name='counted')"
        ".map_values(lambda value: value.a)"
    )
    assert "failed: Provided value schema does not match existing state value schema." in line
    assert line.endswith(
        "moldau stream reset lets the app start over, another name= in .to() this query alone"
    )
    # As it was, it goes on.
    assert new_app.run(operator=counting) == []
    assert new_app.copied() == [("all", 2), ("all", 3)]


# A database as far as it matters here: it takes connections, or it does not.
ASKING = """
def asked(value):
    with socket.create_connection(("127.0.0.1", {port}), timeout=30):
        return value
"""


def test_a_database_that_is_dead_stops_the_app_which_goes_on_when_it_lives(
    copying: Copying,
) -> None:
    from pyspark.errors import StreamingQueryException

    # Bound but not listening: nobody else gets the port, and whoever connects is refused.
    with closing(socket.socket()) as database:
        database.bind(("127.0.0.1", 0))
        more = ASKING.format(port=database.getsockname()[1])
        operator = ".map_values(F.udf(asked, 'long'))"
        copying.send(11, 12)
        (line,) = copying.run(more=more, operator=operator)
        assert line == (
            f"moldau: query to-{copying.topic}-copied failed: ConnectionRefusedError: [Errno 111] "
            "Connection refused"
        )
        with pytest.raises(StreamingQueryException, match=r"(?s)Traceback .*in asked.*refused"):
            copying.run("--debug", more=more, operator=operator)
        database.listen(16)
        assert copying.run(more=more, operator=operator) == []
    assert copying.copied() == [("0", 10), ("1", 11), ("2", 12)]
