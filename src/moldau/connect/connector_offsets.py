"""How far connectors have read, and changes to that by the user (KIP-875).

A sink's offsets are those of its consumer group, a source's are in the offsets topic. A connector
whose target or source stores offsets too (an exactly-once sink, a replication slot) may go on there
instead: the answer says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from moldau.client.admin import Admin
from moldau.client.security import parse_security
from moldau.connect.config.errors import ConfigError
from moldau.connect.connector import SinkConnector
from moldau.connect.data.errors import ConnectError
from moldau.connect.rest_errors import BadRequestError, RestError
from moldau.connect.stores import offset_records
from moldau.connect.stores.offset_store import OffsetStore
from moldau.connect.transforms.java_regex import compile_pattern
from moldau.connect.worker_config import WorkerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition

Json = dict[str, Any]

_TOPIC: Final = "kafka_topic"
_PARTITION: Final = "kafka_partition"
_OFFSET: Final = "kafka_offset"
_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1


def group_of(name: str, config: Mapping[str, str]) -> str:
    """The consumer group of a sink."""
    return config.get("consumer.override.group.id") or f"connect-{name}"


def admin_of(worker: WorkerConfig, config: Mapping[str, str]) -> Admin:
    """A client for the group of a connector, with the connector's own settings."""
    prefix = "admin.override."
    own = {
        name.removeprefix(prefix): value
        for name, value in config.items()
        if name.startswith(prefix)
    }
    settings = {**worker.client_overrides("admin"), **own}
    try:
        security = parse_security(settings)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return Admin(
        settings.get("bootstrap.servers", worker.bootstrap),
        client_id=f"connect-{worker.group_id}-offsets",
        security=security,
    )


def sink_offsets(name: str, config: Mapping[str, str], admin: Admin) -> Json:
    """As ``GET /connectors/{name}/offsets`` answers for a sink."""
    committed = admin.groups.offsets(group_of(name, config))
    return {
        "offsets": [
            {
                "partition": {_PARTITION: partition.partition, _TOPIC: partition.topic},
                "offset": {_OFFSET: found.offset},
            }
            for partition, found in sorted(committed.items())
        ]
    }


def source_offsets(name: str, store: OffsetStore) -> Json:
    """As ``GET /connectors/{name}/offsets`` answers for a source."""
    return {
        "offsets": [
            {"partition": partition, "offset": offset} for partition, offset in store.read(name)
        ]
    }


def alter_sink(
    name: str, config: Mapping[str, str], admin: Admin, offsets: Mapping[TopicPartition, int | None]
) -> None:
    """Set and remove offsets of a group without members."""
    group = group_of(name, config)
    changed = {partition: offset for partition, offset in offsets.items() if offset is not None}
    removed = [partition for partition, offset in offsets.items() if offset is None]
    try:
        if changed:
            admin.groups.alter_offsets(group, changed)
        if removed:
            admin.groups.delete_offsets(group, removed)
    except ApiError as error:
        raise _not_changed("alter", name, error) from error


def reset_sink(name: str, config: Mapping[str, str], admin: Admin) -> None:
    """Delete the group, which may be gone already."""
    try:
        admin.groups.delete(group_of(name, config))
    except ApiError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise _not_changed("reset", name, error) from error


def alter_target(
    connector: type[SinkConnector],
    config: Mapping[str, str],
    offsets: Mapping[TopicPartition, int | None],
) -> bool:
    """Change the offsets that a sink stores with its data; whether it has any to change."""
    try:
        return connector.alter_offsets(config, offsets)
    except ConnectError as error:
        raise RestError(500, str(error)) from error


def reset_target(
    connector: type[SinkConnector],
    config: Mapping[str, str],
    committed: Iterable[TopicPartition] = (),
    topics: Sequence[str] = (),
) -> bool:
    """Forget the offsets that a sink stores with its data; whether it has any to forget.

    Also those of its ``topics``, and of the partitions that its group has ``committed``: without
    them, a target may not know where to look.
    """
    sink = connector()
    sink.topics = topics
    try:
        sink.start(config)
        try:
            stored = sink.stored_offsets()
        finally:
            sink.stop()
    except ConnectError as error:
        raise RestError(500, str(error)) from error
    if stored is None:
        return False
    return alter_target(connector, config, dict.fromkeys([*stored, *committed]))


def topics_of(config: Mapping[str, str], admin: Admin) -> list[str]:
    """The topics that match ``topics.regex`` of a sink; none if it names them."""
    regex = config.get("topics.regex", "").strip()
    if not regex:
        return []
    pattern = compile_pattern(regex)
    return sorted(each.name for each in admin.list_topics() if pattern.fullmatch(each.name))


def _not_changed(verb: str, name: str, error: ApiError) -> RestError:
    busy = (
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.UNKNOWN_MEMBER_ID,
    )
    message = f"The group of {name} refused to {verb} its offsets"
    if error.code in busy:
        return RestError(
            500,
            f"{message}: it still has members. Wait until no task of the connector runs, and try "
            "again",
        )
    return RestError(500, f"{message}: {error}")


def parse_sink_offsets(offsets: Sequence[Mapping[str, Any]]) -> dict[TopicPartition, int | None]:
    """Offsets of a sink as the user gives them.

    Raises:
        BadRequestError: one of them is not a topic, a partition and an offset or None.
    """
    found: dict[TopicPartition, int | None] = {}
    for each in offsets:
        partition, offset = each.get("partition"), each.get("offset")
        if not isinstance(partition, Mapping):
            raise BadRequestError(
                f"An entry without a partition: give one with {_TOPIC} and {_PARTITION}"
            )
        if _TOPIC not in partition or _PARTITION not in partition:
            raise BadRequestError(
                f"The partition {dict(partition)} needs {_TOPIC} and {_PARTITION}"
            )
        if partition[_TOPIC] is None:
            raise BadRequestError(f"{_TOPIC} is null: name a topic")
        if partition[_PARTITION] is None:
            raise BadRequestError(f"{_PARTITION} is null: give a number")
        number = _integer(partition[_PARTITION], "partition", _INT_MAX)
        where = TopicPartition(str(partition[_TOPIC]), number)
        if offset is None:
            found[where] = None
            continue
        if not isinstance(offset, Mapping) or _OFFSET not in offset:
            raise BadRequestError(
                f"The offset of {where.topic}-{number} is an object with {_OFFSET}, or null"
            )
        found[where] = _integer(offset[_OFFSET], "offset", _LONG_MAX)
    return found


def _integer(value: Any, what: str, largest: int) -> int:
    """Also from a text, as in Kafka."""
    try:
        number = int(str(value))
        # A negative offset would be committed, and read as "none" (-1) or as records that are lost.
        if isinstance(value, bool) or not 0 <= number <= largest:
            raise ValueError
    except ValueError:
        raise BadRequestError(
            f"The {what} of a sink must be an integer from 0 to {largest}, not {value!r}"
        ) from None
    return number


def parse_source_offsets(
    offsets: Sequence[Mapping[str, Any]],
) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Offsets of a source as the user gives them. Raises BadRequestError."""
    found = []
    for each in offsets:
        partition, offset = each.get("partition"), each.get("offset")
        if not isinstance(partition, Mapping):
            raise BadRequestError(
                "An entry without a partition: give the one that the source stores offsets by"
            )
        if not isinstance(offset, Mapping | None):
            raise BadRequestError(
                f"The offset of a source must be an object or null, not {offset!r}"
            )
        try:
            offset_records.encode("", partition, offset)
        except ValueError:
            raise BadRequestError(
                f"The partition {dict(partition)} or its offset {offset} has a list or an object "
                "in it: only texts, numbers, booleans and null can be stored"
            ) from None
        found.append((dict(partition), None if offset is None else dict(offset)))
    return found


def check_source_offsets(
    connector: Any,
    config: Mapping[str, str],
    offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]],
) -> bool:
    """Let the connector look at offsets; whether it says that they are all there is to change."""
    try:
        return bool(connector.alter_offsets(config, offsets))
    except ConnectError as error:
        raise RestError(500, str(error)) from error


def done(verb: str, *, is_all: bool) -> str:
    """The message of an answer: offsets were ``altered`` or ``reset``."""
    if is_all:
        return f"The offsets of this connector are {verb}"
    return (
        f"The offsets that Connect stores for this connector are {verb}. If it stores offsets "
        "elsewhere too, change those there"
    )
