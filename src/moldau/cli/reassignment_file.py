"""Reassignments in the file format of Kafka's kafka-reassign-partitions."""

import json
from pathlib import Path
from typing import Any, Final

from moldau.cli.errors import CommandError
from moldau.cli.reassignment_plan import Assignment
from moldau.cli.text_files import read_text
from moldau.ids import TopicPartition

_VERSION: Final = 1
_EXAMPLE: Final = (
    '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}'
)
_ANY_LOG_DIR: Final = "any"


def read_plan(path: Path) -> Assignment:
    """The partitions and their new replicas. Raises CommandError, which names the file."""
    try:
        document = json.loads(read_text(path))
    except ValueError as error:
        raise CommandError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        raise CommandError(f"{path}: expected {_EXAMPLE}")
    version = document.get("version", _VERSION)
    if version != _VERSION:
        raise CommandError(f"{path}: version {version!r} is not supported, only {_VERSION}")
    plan: Assignment = {}
    for entry in document["partitions"]:
        partition, replicas = _entry(path, entry)
        if partition in plan:
            raise CommandError(f"{path}: {partition} is named twice")
        plan[partition] = replicas
    if not plan:
        raise CommandError(f"{path}: names no partitions; expected {_EXAMPLE}")
    return plan


def _entry(path: Path, entry: Any) -> tuple[TopicPartition, list[int]]:
    shown = json.dumps(entry)
    match entry:
        case {"topic": str(topic), "partition": int(number), "replicas": [_, *_] as replicas}:
            is_valid = _is_id(number) and all(map(_is_id, replicas))
        case _:
            is_valid = False
    if not is_valid:
        raise CommandError(
            f"{path}: {shown} needs a topic, a partition (0 or greater) and a list of broker ids; "
            f"expected {_EXAMPLE}"
        )
    if len(set(replicas)) < len(replicas):
        raise CommandError(f"{path}: {shown} names a broker twice")
    if any(each != _ANY_LOG_DIR for each in entry.get("log_dirs", ())):
        raise CommandError(
            f"{path}: {shown} names log directories, which this command does not move to: write "
            '"any" for each, and use kafka-reassign-partitions for moves between disks'
        )
    return TopicPartition(topic, number), replicas


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
