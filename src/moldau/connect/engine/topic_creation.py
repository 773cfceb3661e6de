"""Creates the topics of a source by its ``topic.creation.*`` settings (KIP-158).

Each group has patterns of names and settings for new topics; the first group whose patterns match
a name decides, and ``default`` if none does. Without ``topic.creation.default.*`` a source creates
no topics: the brokers may, when they are written to.
"""

import logging
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.client.admin import Admin
from moldau.client.connection import ConnectionFailed
from moldau.connect.config.errors import invalid, missing
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.connect.engine.clients import new_admin
from moldau.connect.engine_api import ConnectorSpec
from moldau.connect.transforms.java_regex import JavaRegexError, compile_pattern
from moldau.errors import ApiError, ErrorCode

_log = logging.getLogger(__name__)

PREFIX: Final = "topic.creation."
_DEFAULT: Final = "default"
_OWN: Final = ("include", "exclude", "partitions", "replication.factor")


class TopicGroup(NamedTuple):
    """The settings of new topics whose names match."""

    name: str
    include: tuple[re.Pattern[str], ...]
    exclude: tuple[re.Pattern[str], ...]
    partitions: int
    replication_factor: int
    configs: dict[str, str]

    def matches(self, topic: str) -> bool:
        if any(each.fullmatch(topic) for each in self.exclude):
            return False
        return any(each.fullmatch(topic) for each in self.include)


def topic_groups(config: Mapping[str, str]) -> list[TopicGroup]:
    """The groups in their order, ``default`` last; none if the connector creates no topics.

    Raises:
        ConfigError: a setting is missing or is no number.
    """
    if not any(name.startswith(f"{PREFIX}{_DEFAULT}.") for name in config):
        return []
    names = [name.strip() for name in config.get(f"{PREFIX}groups", "").split(",")]
    groups = [_group(config, name) for name in names if name and name != _DEFAULT]
    return [*groups, _group(config, _DEFAULT)]


def _group(config: Mapping[str, str], name: str) -> TopicGroup:
    prefix = f"{PREFIX}{name}."
    given = {
        each.removeprefix(prefix): value
        for each, value in config.items()
        if each.startswith(prefix)
    }
    fallback = {} if name == _DEFAULT else _numbers(config, f"{PREFIX}{_DEFAULT}.")
    numbers = {**fallback, **_numbers(config, prefix)}
    for each in ("partitions", "replication.factor"):
        if each not in numbers:
            raise missing(f"{prefix}{each}")
    include = ".*" if name == _DEFAULT else given.get("include", "")
    if not include:
        raise missing(f"{prefix}include")
    return TopicGroup(
        name,
        _patterns(f"{prefix}include", include),
        _patterns(f"{prefix}exclude", given.get("exclude", "")),
        numbers["partitions"],
        numbers["replication.factor"],
        {each: value for each, value in given.items() if each not in _OWN},
    )


def _numbers(config: Mapping[str, str], prefix: str) -> dict[str, int]:
    found = {}
    for each in ("partitions", "replication.factor"):
        text = config.get(prefix + each)
        if text is None:
            continue
        # -1 is the default of the brokers.
        if not re.fullmatch(r"-1|[1-9]\d*", text.strip()):
            raise invalid(prefix + each, text, "give at least 1, or -1 for that of the broker")
        found[each] = int(text)
    return found


def _patterns(name: str, text: str) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(compile_pattern(each.strip()) for each in text.split(",") if each.strip())
    except JavaRegexError as error:
        raise invalid(name, text, f"not a regular expression: {error}") from None


class TopicMaker:
    """Makes sure that the topics of a source exist."""

    def __init__(self, spec: ConnectorSpec) -> None:
        is_enabled = spec.worker.get("topic.creation.enable", "true").strip().lower() == "true"
        self._groups = topic_groups(spec.config) if is_enabled else []
        self._spec = spec
        self._admin: Admin | None = None
        self._known: set[str] = set()

    def ensure(self, topic: str) -> None:
        """Create ``topic`` if it does not exist and the connector creates topics.

        Raises:
            ConnectError: the brokers refuse it.
            RetriableError: they are away.
        """
        if not self._groups or topic in self._known:
            return
        try:
            if self._admin is None:
                self._admin = new_admin(self._spec)
            if not any(each.name == topic for each in self._admin.list_topics()):
                self._create(self._admin, topic)
        except (ApiError, ConnectionFailed) as error:
            if isinstance(error, ApiError) and not error.code.retriable:
                raise
            raise RetriableError(
                f"it is not known whether topic {topic} exists: {error}"
            ) from error
        self._known.add(topic)

    def _create(self, admin: Admin, topic: str) -> None:
        group = next(each for each in self._groups if each.matches(topic))
        try:
            admin.create_topic(
                topic, group.partitions, group.replication_factor, configs=group.configs
            )
        except ApiError as error:
            if error.code is ErrorCode.TOPIC_ALREADY_EXISTS:
                return
            if error.code.retriable:
                raise
            raise ConnectError(
                f"topic {topic} cannot be created with the settings {PREFIX}{group.name}.*: {error}"
            ) from error
        _log.info("created topic %s by %s%s.*", topic, PREFIX, group.name)
