"""The sink of Parquet files in a directory or a bucket: exactly once.

    PATH/TOPIC/TOPIC+PARTITION+FIRST OFFSET.parquet

Tasks write temporary files where no reader looks; the driver moves those of a batch to their names
together with the next offsets (see ``journal``). A file ends when the batch ends, after
``flush.size`` records, or when the schema changes: one file has one schema.
"""

import contextlib
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from moldau.connect.config.definition import (
    ConfigDef,
    Importance,
    NonEmptyString,
    Range,
    Type,
    ValidString,
)
from moldau.connect.connector import EXACTLY_ONCE, ConfigProblem, SinkConnector, SinkTask
from moldau.connect.connectors.lake.arrow_types import PARQUET
from moldau.connect.connectors.lake.disk import Disk
from moldau.connect.connectors.lake.journal import STATE, Journal, state_folder
from moldau.connect.connectors.lake.rows import (
    CHUNK,
    RowMaker,
    Rows,
    parse_options,
    row_options,
)
from moldau.connect.connectors.lake.storage import Move, Storage
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.record import SinkRecord
from moldau.ids import TopicPartition

_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_SUFFIX: Final = ".parquet"
_DATA: Final = re.compile(
    r"(?P<folder>[^/]+)/(?P<topic>[^/+]+)\+(?P<partition>\d+)\+\d+" + re.escape(_SUFFIX)
)
_STORES: Final = ("s3://", "s3a://")
# In the footers of files.
CONNECTOR: Final = b"moldau.connector"
TOPIC: Final = b"moldau.topic"
PARTITION: Final = b"moldau.partition"
NEXT_OFFSET: Final = b"moldau.next_offset"

CODECS: Final = ("snappy", "zstd", "gzip", "lz4", "none")


class _Group(NamedTuple):
    """The records that share files: where they were read, and the topic that they have now."""

    original_topic: str
    original_partition: int
    topic: str


class ParquetSink(SinkConnector):
    """Writes records to files of a directory or a bucket."""

    config = row_options(
        ConfigDef()
        .define(
            "path",
            Type.STRING,
            validator=NonEmptyString(),
            importance=Importance.HIGH,
            doc="The directory of the files, shared if executors are on other machines; or a URL "
            "such as s3://bucket/prefix. Options below storage. are those of the object store.",
        )
        .define(
            "flush.size",
            Type.INT,
            1_000_000,
            Range(1),
            doc="The most records in a file. Each batch ends its files as well.",
        )
        .define(
            "parquet.codec",
            Type.STRING,
            "snappy",
            ValidString(*CODECS),
            importance=Importance.LOW,
            doc="How files are compressed.",
        )
    )
    delivery = EXACTLY_ONCE

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        """Whether there is a directory, or can be, or a bucket that can be listed."""
        try:
            _storage(config).check()
        except ConnectError as error:
            return [ConfigProblem("path", str(error))]
        return []

    # -- driver -------------------------------------------------------------------------------

    def start(self, config: Mapping[str, str]) -> None:
        storage, name = _storage(config), config.get("name", "")
        storage.check()
        self._journal = Journal(storage, name)
        topics = frozenset(filter(None, re.split(r"[\s,]+", config.get("topics", ""))))
        known = None if self._journal.exists else _offsets_in_files(storage, name, topics)
        self._journal.start(known)

    def stored_offsets(self) -> dict[TopicPartition, int]:
        return self._journal.offsets()

    def commit(
        self, messages: list[Any], offsets: Mapping[TopicPartition, int], batch_id: int
    ) -> None:
        self._journal.commit([move for message in messages for move in message], offsets)

    # -- tasks --------------------------------------------------------------------------------

    def open(self, config: Mapping[str, str], task: SinkTask) -> None:
        values = self.config.parse(config)
        self._storage = _storage(config)
        self._limit: int = values["flush.size"]
        self._codec: str = values["parquet.codec"]
        self._rows = RowMaker(parse_options(values, PARQUET))

    def write(self, records: Iterator[SinkRecord], task: SinkTask) -> list[Move]:
        done: list[Move] = []
        open_files: dict[_Group, _File] = {}
        try:
            with self._storage.errors():
                limit = min(self._limit, CHUNK)
                for group, rows in self._rows.chunks(records, _group_of, task, limit):
                    file = open_files.get(group)
                    if file is not None and not file.takes(rows, self._limit):
                        done.append(open_files.pop(group).end())
                        file = None
                    if file is None:
                        file = _File(self._storage, task.connector, group, rows, self._codec)
                        open_files[group] = file
                    file.write(rows)
                while open_files:
                    done.append(open_files.popitem()[1].end())
        except BaseException:
            for file in open_files.values():
                file.abort()
            with contextlib.suppress(ConnectError), self._storage.errors():
                for move in done:
                    self._storage.remove(move.source)
            raise
        return done


def _group_of(record: SinkRecord) -> _Group:
    topic = record.topic
    if not _TOPIC.fullmatch(topic) or topic in (".", "..", STATE):
        raise DataError(
            f"topic {topic!r}, as transforms have named it, is no name for a directory: "
            "use letters, digits, dots, dashes and underscores"
        )
    return _Group(record.original_topic, record.original_partition, topic)


class _File:
    """A temporary file that is being written."""

    def __init__(
        self, storage: Storage, connector: str, group: _Group, rows: Rows, codec: str
    ) -> None:
        self._group = group
        self._connector = connector
        self._schema: pa.Schema = rows.table.schema
        self._count = 0
        self._next_offset = 0
        name = f"{group.original_topic}+{group.original_partition}+{rows.records[0].offset:020d}"
        # Another attempt of this task may still be writing.
        source = f"{state_folder(connector)}/files/{name}.{uuid.uuid4().hex[:12]}"
        self._move = Move(source, f"{group.topic}/{name}{_SUFFIX}")
        self._file = storage.create(source)
        self._writer = pq.ParquetWriter(self._file.stream, self._schema, compression=codec)

    def takes(self, rows: Rows, limit: int) -> bool:
        """Whether these rows may go into this file."""
        return self._count + len(rows.records) <= limit and rows.table.schema == self._schema

    def write(self, rows: Rows) -> None:
        self._writer.write_table(rows.table)
        self._count += len(rows.records)
        self._next_offset = rows.records[-1].offset + 1

    def end(self) -> Move:
        try:
            metadata = {
                CONNECTOR: self._connector.encode(),
                TOPIC: self._group.original_topic.encode(),
                PARTITION: b"%d" % self._group.original_partition,
                NEXT_OFFSET: b"%d" % self._next_offset,
            }
            self._writer.add_key_value_metadata(metadata)
            self._writer.close()
            self._file.finish()
        except BaseException:
            self.abort()
            raise
        return self._move

    def abort(self) -> None:
        # Left open, it would write its footer to the closed file later.
        with contextlib.suppress(Exception):
            self._writer.close()
        self._file.abort()


def _offsets_in_files(
    storage: Storage, connector: str, topics: frozenset[str]
) -> dict[TopicPartition, int]:
    """The next offsets by the footers of a connector's files, for a place without a journal.

    Of each partition the last file is enough: footers are read from the end, up to one that is
    ours. ``topics`` are the topics of the connector, if they are named.
    """
    found: dict[TopicPartition, int] = {}
    with storage.errors():
        parsed = [_DATA.fullmatch(path) for path in reversed(storage.files(""))]
        done: set[tuple[str, str, str]] = set()
        for name in filter(None, parsed):
            group = (name["folder"], name["topic"], name["partition"])
            if group in done or (topics and name["topic"] not in topics):
                continue
            metadata = storage.footer(name[0]).metadata or {}
            if metadata.get(CONNECTOR) == connector.encode():
                done.add(group)
                place = TopicPartition(metadata[TOPIC].decode(), int(metadata[PARTITION]))
                found[place] = max(found.get(place, 0), int(metadata[NEXT_OFFSET]))
    return found


def _storage(config: Mapping[str, str]) -> Storage:
    """Where the files are.

    Raises:
        ConnectError: the path is a URL of something else, or its options are wrong.
    """
    path = config["path"]
    if path.startswith(_STORES):
        from moldau.connect.connectors.lake.objects import OPTIONS, Bucket

        options = {
            name.removeprefix(OPTIONS): value
            for name, value in config.items()
            if name.startswith(OPTIONS)
        }
        return Bucket(path, options)
    if "://" in path:
        raise ConnectError(
            f"path={path} is a URL, but not one of S3: write s3://bucket/prefix, or mount the "
            "storage and name its directory"
        )
    return Disk(path)
