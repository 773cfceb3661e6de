"""``moldau topics delete-records``: delete a partition's records before an offset.

Which records comes from options, or from a file in the format of Kafka's own tool, with -1 for
every record:

    {"partitions": [{"topic": "orders", "partition": 0, "offset": 100}], "version": 1}

Every partition is tried; one that fails does not keep the others from being done.
"""

import argparse
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from moldau.cli.errors import CommandError, UsageError
from moldau.cli.output import add_format, plural, print_json, print_table
from moldau.cli.partition_lists import parse_partitions
from moldau.client.admin import Admin
from moldau.client.offsets import EARLIEST, LATEST
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition

_ALL: Final = -1
_FILE_VERSION: Final = 1
_EXAMPLE: Final = '{"partitions": [{"topic": "orders", "partition": 0, "offset": 100}]}'


class _Deletion(NamedTuple):
    """What became of one partition: its new earliest offset, or the error."""

    partition: TopicPartition
    earliest: int | None
    error: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--partition",
        metavar="N,N",
        action="append",
        help="only these partitions (default: all partitions of the topic)",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--offset", metavar="N", type=int, help="delete the records before this offset"
    )
    which.add_argument("--all", action="store_true", help="delete all records")
    which.add_argument(
        "--offset-json-file",
        metavar="FILE",
        help="partitions and offsets, as in a file for Kafka's own tool",
    )
    add_format(parser)


def run(admin: Admin, options: argparse.Namespace) -> int:
    """Delete, and print what became of each partition; 1 if any of them failed."""
    if options.offset_json_file is not None:
        offsets = _read_file(options)
    else:
        offsets = _from_options(admin, options)
    done = [_delete(admin, partition, offset) for partition, offset in sorted(offsets.items())]
    if options.format == "json":
        print_json([_as_json(each) for each in done])
    else:
        rows = [(*each.partition, each.earliest, each.error or "") for each in done]
        print_table(("TOPIC", "PARTITION", "EARLIEST", "ERROR"), rows)
    failed = sum(each.error is not None for each in done)
    if failed:
        total = plural(len(done), "partition")
        raise CommandError(f"the records of {failed} of {total} could not be deleted")
    return 0


def _from_options(admin: Admin, options: argparse.Namespace) -> dict[TopicPartition, int]:
    names = list(dict.fromkeys([*options.topics, *(options.topic or [])]))
    if not names:
        raise UsageError("topics delete-records: a topic name is required")
    if options.offset is not None and options.offset < 0:
        raise UsageError(f"--offset {options.offset}: must be 0 or greater; --all deletes all")
    wanted = parse_partitions(options.partition)
    offset = _ALL if options.all else options.offset
    offsets = {}
    for topic in admin.describe_topics(names):
        existing = [each.partition for each in topic.partitions]
        for number in existing if wanted is None else wanted:
            if number not in existing:
                raise UsageError(
                    f"--partition {number}: {topic.name} has partitions 0 to {max(existing)}"
                )
            offsets[TopicPartition(topic.name, number)] = offset
    return offsets


def _read_file(options: argparse.Namespace) -> dict[TopicPartition, int]:
    if options.topics or options.topic or options.partition:
        raise UsageError("--offset-json-file names the topics and partitions itself")
    path = options.offset_json_file
    try:
        document = json.loads(Path(path).read_text())
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        raise UsageError(f"{path}: must be an object such as {_EXAMPLE}")
    version = document.get("version", _FILE_VERSION)
    if version != _FILE_VERSION:
        raise UsageError(f"{path}: version {version!r} is not supported, only {_FILE_VERSION}")
    offsets: dict[TopicPartition, int] = {}
    for entry in document["partitions"]:
        partition, offset = _entry(path, entry)
        if partition in offsets:
            raise UsageError(f"{path}: {partition} is named twice")
        offsets[partition] = offset
    return offsets


def _entry(path: str, entry: Any) -> tuple[TopicPartition, int]:
    match entry:
        case {"topic": str(topic), "partition": int(partition), "offset": int(offset)} if (
            partition >= 0 and offset >= _ALL
        ):
            return TopicPartition(topic, partition), offset
    raise UsageError(
        f"{path}: {json.dumps(entry)} needs a topic, a partition (0 or greater) and an "
        "offset (-1 or greater)"
    )


def _delete(admin: Admin, partition: TopicPartition, offset: int) -> _Deletion:
    try:
        return _Deletion(partition, admin.delete_records({partition: offset})[partition], None)
    except ApiError as error:
        return _Deletion(partition, None, _explain(admin, partition, offset, error))


def _explain(admin: Admin, partition: TopicPartition, offset: int, error: ApiError) -> str:
    if error.code is ErrorCode.POLICY_VIOLATION:
        return f"cleanup.policy of the topic does not include delete ({error.code.name})"
    if error.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
        return f"{error} ({error.code.name})"
    start = admin.list_offsets({partition: EARLIEST})[partition].offset
    end = admin.list_offsets({partition: LATEST})[partition].offset
    return f"offset {offset} is out of range: must be {start} to {end} ({error.code.name})"


def _as_json(done: _Deletion) -> dict[str, Any]:
    return {
        "topic": done.partition.topic,
        "partition": done.partition.partition,
        "earliest_offset": done.earliest,
        "error": done.error,
    }
