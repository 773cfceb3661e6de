"""Connectors of tests: one as a user would write it, and some that misbehave."""

import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from moldau.connect.config.definition import ConfigDef, Type
from moldau.connect.connector import OffsetReader, SinkConnector, SinkTask, SourceConnector
from moldau.connect.data.errors import RetriableError
from moldau.connect.data.record import SinkRecord, SourceRecord
from moldau.connect.data.schema import STRING
from moldau.ids import TopicPartition


class Numbers(SourceConnector):
    """Counts up to ``until``."""

    config = ConfigDef().define("topic", Type.STRING).define("until", Type.INT)

    def start(self, config: Mapping[str, str], offsets: OffsetReader) -> None:
        self.topic, self.until = config["topic"], int(config["until"])
        stored = offsets.get({"counter": "one"})
        self.next = stored["next"] if stored else 0

    def poll(self) -> list[SourceRecord]:
        records: list[SourceRecord] = []
        while self.next < self.until and len(records) < 100:
            record = SourceRecord(self.topic, value_schema=STRING, value=f"number {self.next}")
            self.next += 1
            record.source_partition, record.source_offset = {"counter": "one"}, {"next": self.next}
            records.append(record)
        return records


class SteadyNumbers(Numbers):
    """Counts a few thousand a second, so that it is never at its end when a test looks."""

    def poll(self) -> list[SourceRecord]:
        time.sleep(0.02)
        return super().poll()


class Lines(SinkConnector):
    """Appends values to a file."""

    config = ConfigDef().define("file", Type.STRING)

    def open(self, config: Mapping[str, str], task: SinkTask) -> None:
        self.path = Path(config["file"])

    def put(self, records: list[SinkRecord]) -> None:
        with self.path.open("a") as file:
            file.writelines(f"{record.value}\n" for record in records)


class Raising(Lines):
    def put(self, records: list[SinkRecord]) -> None:
        raise ValueError("this sink does not like its records")


class Blocking(Lines):
    """Blocks for ever, after it has said which process it is in."""

    def put(self, records: list[SinkRecord]) -> None:
        self.path.write_text(str(os.getpid()))
        while True:
            time.sleep(3600)


class Hungry(Lines):
    """Takes memory until there is none."""

    def put(self, records: list[SinkRecord]) -> None:
        taken = []
        while True:
            taken.append(bytearray(64 << 20))


class Moody(Lines):
    """Fails with a retriable error until a file exists."""

    def put(self, records: list[SinkRecord]) -> None:
        if not self.path.with_suffix(".open").exists():
            raise RetriableError("the target is closed")
        super().put(records)


class Remembering(SinkConnector):
    """Exactly once: its lines and its offsets are stored together, by the driver."""

    config = (
        ConfigDef().define("file", Type.STRING).define("fail.after.commit", Type.STRING, "false")
    )

    def start(self, config: Mapping[str, str]) -> None:
        self.path = Path(config["file"])
        self.places = self.path.with_suffix(".offsets")
        self.fails = config.get("fail.after.commit") == "true"

    def stored_offsets(self) -> dict[TopicPartition, int]:
        if not self.places.exists():
            return {}
        return {TopicPartition(*place): at for *place, at in json.loads(self.places.read_text())}

    def write(self, records: Iterator[SinkRecord], task: SinkTask) -> list[str]:
        return [f"{record.value}\n" for record in records]

    def commit(
        self, messages: list[list[str]], offsets: Mapping[TopicPartition, int], batch_id: int
    ) -> None:
        with self.path.open("a") as file:
            file.writelines(line for each in messages for line in each)
        known = {**self.stored_offsets(), **offsets}
        self.places.write_text(json.dumps([[*place, at] for place, at in known.items()]))
        if self.fails:
            raise OSError("the machine went down")


def _log_to(path: Path, text: str) -> None:
    """Log a warning while the standard error of this process is a file."""
    before = os.dup(2)
    with path.open("a") as file:
        os.dup2(file.fileno(), 2)
        try:
            logging.getLogger("tests").warning("login with %s", text)
            sys.stderr.flush()
        finally:
            os.dup2(before, 2)
            os.close(before)


class Chatty(Lines):
    """Logs its password."""

    def put(self, records: list[SinkRecord]) -> None:
        super().put(records)
        _log_to(self.path.with_suffix(".log"), self.password)

    def open(self, config: Mapping[str, str], task: SinkTask) -> None:
        super().open(config, task)
        self.password = config["password"]


class ChattySource(Numbers):
    """Logs its password."""

    def start(self, config: Mapping[str, str], offsets: OffsetReader) -> None:
        super().start(config, offsets)
        _log_to(Path(config["log"]), config["password"])


class Picky(Lines):
    """Reports records that it cannot write, and writes the others."""

    def open(self, config: Mapping[str, str], task: SinkTask) -> None:
        super().open(config, task)
        self.task = task

    def put(self, records: list[SinkRecord]) -> None:
        for record in [each for each in records if "bad" in str(each.value)]:
            self.task.report(record, ValueError(f"not {record.value}"))
        super().put([each for each in records if "bad" not in str(each.value)])


class Naming(Numbers):
    """Its values are maps without a schema; every third cannot be written as JSON."""

    def poll(self) -> list[SourceRecord]:
        records = super().poll()
        for record in records:
            number = record.source_offset["next"] - 1
            record.value_schema = None
            record.value = object() if number % 3 == 2 else {"number": number}
        return records


class Unwritable(Numbers):
    """Every third value is too large for any topic; the fourth is for a topic that cannot be."""

    def poll(self) -> list[SourceRecord]:
        records = super().poll()
        for record in records:
            number = record.source_offset["next"] - 1
            if number % 3 == 2:
                record.value = "x" * 2000
            if number == 3:
                record.topic = "no/topic"
        return records


class BlockingSource(Numbers):
    def poll(self) -> list[SourceRecord]:
        while True:
            time.sleep(3600)


class RaisingSource(Numbers):
    def poll(self) -> list[SourceRecord]:
        raise OSError("the machine is not there")


class HungrySource(Numbers):
    """Takes memory in small pieces, so that not a byte is left; writes its numbers before."""

    def poll(self) -> list[SourceRecord]:
        records = super().poll()
        if records:
            return records
        taken: list[bytes] = []
        while True:
            taken.append(bytes(1000))
