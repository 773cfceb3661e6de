"""Create, list, describe, alter and delete topics, and delete their records.

moldau topics create orders --partitions 3 --config retention.ms=3600000
moldau topics list
moldau topics describe orders --format json
moldau topics alter orders --partitions 6
moldau topics delete orders
moldau topics delete-records orders --partition 0 --offset 100
"""

import argparse
from typing import Any

from moldau.cli import delete_records
from moldau.cli.admin_command import add_admin_verb, admin_of
from moldau.cli.errors import UsageError
from moldau.cli.option_types import positive_int
from moldau.cli.output import (
    add_format,
    plural,
    print_json,
    print_table,
)
from moldau.client.admin import Admin, ResourceType
from moldau.client.cluster import TopicMetadata
from moldau.client.offsets import EARLIEST, LATEST
from moldau.config.describe import ConfigSource
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition, uuid_to_str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_create(verbs)

    listing = _verb(verbs, "list", "list the topics", _list, takes_topics=False)
    listing.add_argument(
        "--exclude-internal", action="store_true", help="leave out internal topics"
    )
    listing.add_argument("--details", action="store_true", help="show a table, not only names")
    add_format(listing)

    describe = _verb(
        verbs, "describe", "show partitions, replicas and configurations of topics", _describe
    )
    add_format(describe)

    alter = _verb(verbs, "alter", "add partitions to topics", _alter)
    alter.add_argument(
        "--partitions", metavar="N", type=positive_int, required=True, help="the new total"
    )
    alter.add_argument(
        "--replica-assignment", metavar="0:1,1:2", help="the brokers of each new partition"
    )
    alter.add_argument(
        "--if-exists", action="store_true", help="succeed if the topic does not exist"
    )
    alter.add_argument("--validate-only", action="store_true", help="validate without applying")

    delete = _verb(verbs, "delete", "delete topics and their records", _delete)
    delete.add_argument(
        "--if-exists", action="store_true", help="succeed if the topic does not exist"
    )

    records = _verb(
        verbs, "delete-records", "delete the records of topics before an offset", delete_records.run
    )
    delete_records.add_arguments(records)


def _add_create(verbs: Any) -> None:
    create = _verb(verbs, "create", "create topics", _create)
    create.add_argument(
        "--partitions", metavar="N", type=positive_int, default=-1, help="default: num.partitions"
    )
    create.add_argument(
        "--replication-factor",
        metavar="N",
        type=positive_int,
        default=-1,
        help="default: default.replication.factor",
    )
    create.add_argument(
        "--replica-assignment",
        metavar="0:1,1:2",
        help="the brokers of each partition, instead of the two numbers above",
    )
    create.add_argument(
        "--config",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a topic configuration; may be repeated",
    )
    create.add_argument("--if-not-exists", action="store_true", help="succeed if the topic exists")
    create.add_argument("--validate-only", action="store_true", help="validate without applying")


def _verb(verbs: Any, name: str, meaning: str, action: Any, *, takes_topics: bool = True) -> Any:
    parser = add_admin_verb(verbs, name, meaning, action)
    if takes_topics:
        parser.add_argument("topics", nargs="*", metavar="TOPIC", help="names of topics")
        parser.add_argument("--topic", metavar="TOPIC", action="append", help=argparse.SUPPRESS)
    return parser


def run(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        return int(options.action(admin, options) or 0)


def _topics(options: argparse.Namespace) -> list[str]:
    """The topics given as arguments, or with ``--topic`` as in Kafka's tools."""
    names = [*options.topics, *(options.topic or [])]
    if not names:
        raise UsageError(f"topics {options.verb}: a topic name is required")
    return list(dict.fromkeys(names))


def _create(admin: Admin, options: argparse.Namespace) -> None:
    configs = dict(key_value("--config", text) for text in options.config)
    assignments = _assignments(options.replica_assignment)
    for name in _topics(options):
        try:
            made = admin.create_topic(
                name,
                options.partitions,
                options.replication_factor,
                configs=configs,
                assignments=assignments,
                validate_only=options.validate_only,
            )
        except ApiError as error:
            if options.if_not_exists and error.code is ErrorCode.TOPIC_ALREADY_EXISTS:
                print(f"Topic {name} already exists.")
                continue
            raise
        what = (
            f"{plural(made.partitions, 'partition')}, replication factor {made.replication_factor}"
        )
        verb = "Would create" if options.validate_only else "Created"
        print(f"{verb} topic {name}: {what}." if made.partitions > 0 else f"{verb} topic {name}.")


def _list(admin: Admin, options: argparse.Namespace) -> None:
    topics = admin.list_topics(include_internal=not options.exclude_internal)
    if options.format == "json":
        print_json([_summary(topic) for topic in topics])
    elif options.details:
        rows = [
            (each.name, len(each.partitions), _replication(each), uuid_to_str(each.topic_id))
            for each in topics
        ]
        print_table(("TOPIC", "PARTITIONS", "REPLICATION", "ID"), rows)
    else:
        for topic in topics:
            print(topic.name)


def _describe(admin: Admin, options: argparse.Namespace) -> None:
    named = [*options.topics, *(options.topic or [])]
    topics = admin.describe_topics(named) if named else admin.list_topics(include_internal=True)
    described = [_details(admin, topic) for topic in topics]
    if options.format == "json":
        print_json(described)
        return
    for index, details in enumerate(described):
        if index:
            print()
        _print_topic(details)


def _details(admin: Admin, topic: TopicMetadata) -> dict[str, Any]:
    """One topic: its own configurations, and the replicas and offsets of each partition."""
    entries = admin.describe_configs(ResourceType.TOPIC, topic.name)
    configs = {
        entry.name: entry.value for entry in entries if entry.source is ConfigSource.TOPIC_CONFIG
    }
    led = [
        TopicPartition(topic.name, each.partition) for each in topic.partitions if each.leader >= 0
    ]
    starts = admin.list_offsets(dict.fromkeys(led, EARLIEST))
    ends = admin.list_offsets(dict.fromkeys(led, LATEST))
    rows = []
    for each in topic.partitions:
        at = TopicPartition(topic.name, each.partition)
        rows.append(
            {
                "partition": each.partition,
                "leader": each.leader if at in starts else None,
                "leader_epoch": each.leader_epoch,
                "replicas": each.replicas,
                "isr": each.isr,
                "offline_replicas": each.offline_replicas,
                "earliest_offset": starts[at].offset if at in starts else None,
                "latest_offset": ends[at].offset if at in ends else None,
            }
        )
    return {**_summary(topic), "configs": configs, "partition_details": rows}


def _print_topic(topic: dict[str, Any]) -> None:
    count = plural(topic["partitions"], "partition")
    print(f"{topic['name']}: {count}, replication factor {topic['replication_factor']}")
    print(f"  id {topic['id']}{', internal' if topic['internal'] else ''}")
    for name, value in topic["configs"].items():
        print(f"  {name}={value}")
    columns = {
        "PARTITION": "partition",
        "LEADER": "leader",
        "REPLICAS": "replicas",
        "ISR": "isr",
        "OFFLINE": "offline_replicas",
        "EARLIEST": "earliest_offset",
        "LATEST": "latest_offset",
    }
    rows = [[row[key] for key in columns.values()] for row in topic["partition_details"]]
    print_table(list(columns), rows, indent="  ")


def _alter(admin: Admin, options: argparse.Namespace) -> None:
    for name in _topics(options):
        try:
            admin.create_partitions(
                name,
                options.partitions,
                assignments=_assignments(options.replica_assignment),
                validate_only=options.validate_only,
            )
        except ApiError as error:
            if options.if_exists and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                print(f"Topic {name} does not exist.")
                continue
            raise
        verb = "would have" if options.validate_only else "now has"
        print(f"Topic {name} {verb} {plural(options.partitions, 'partition')}.")


def _delete(admin: Admin, options: argparse.Namespace) -> None:
    for name in _topics(options):
        try:
            admin.delete_topics([name])
        except ApiError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            if not options.if_exists:
                raise ApiError(error.code, f"topic {name} does not exist") from None
            print(f"Topic {name} does not exist.")
            continue
        print(f"Deleted topic {name}.")


def _summary(topic: TopicMetadata) -> dict[str, Any]:
    return {
        "name": topic.name,
        "id": uuid_to_str(topic.topic_id),
        "internal": topic.is_internal,
        "partitions": len(topic.partitions),
        "replication_factor": _replication(topic),
    }


def _replication(topic: TopicMetadata) -> int:
    return max((len(each.replicas) for each in topic.partitions), default=0)


def _assignments(text: str | None) -> list[list[int]]:
    """Parse ``0:1,1:2``: commas separate partitions, colons separate brokers."""
    if not text:
        return []
    try:
        return [[int(broker) for broker in item.split(":")] for item in text.split(",")]
    except ValueError:
        message = f"--replica-assignment {text}: expected broker:broker,broker:broker"
        raise UsageError(message) from None


def key_value(option: str, text: str) -> tuple[str, str]:
    """Parse ``key=value``. Raises UsageError, which names the option."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"{option} {text}: expected key=value")
    return key.strip(), value.strip()
