"""DescribeConfigs and ListConfigResources."""

from collections.abc import Awaitable, Callable, Hashable
from typing import TYPE_CHECKING, Final

from moldau.broker import log_levels
from moldau.broker.dynamic_config import WHOLE_CLUSTER
from moldau.broker.handlers.config_answers import ConfigAnswer, encode_settings
from moldau.config.describe import (
    ConfigEntry,
    ConfigSource,
    describe_broker,
    describe_cluster_default,
    describe_topic,
)
from moldau.controller.group_settings import describe_group
from moldau.controller.telemetry_settings import describe_client_metrics
from moldau.controller.topic_names import topic_name_problem
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from moldau.network.turns import Steps
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsSynonym,
)
from moldau.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

UNKNOWN_TYPE: Final = 0

# The requested settings; None for all.
Keys = frozenset[str] | None


def describe(
    broker: "Broker", request: DescribeConfigsRequest, context: "RequestContext"
) -> ConfigAnswer | Awaitable[ConfigAnswer]:
    return context.in_turns(_described(broker, request, context.api_version))


def _described(
    broker: "Broker", request: DescribeConfigsRequest, version: int
) -> Steps[ConfigAnswer]:
    """One resource per step; one with the same settings as an earlier one costs very little."""
    answer = ConfigAnswer(version)
    known: dict[Hashable, bytes] = {}
    for resource in request.resources:
        resource_type, name = resource.resource_type, resource.resource_name
        # An empty list of keys means all, as null does (KAFKA-9472).
        asked = resource.configuration_keys
        keys = frozenset(asked) if asked else None
        try:
            same = _same_settings(broker, resource_type, name)
            settings = known.get((same, keys))
            if settings is None:
                answer.check_room()
                entries = _entries(broker, resource_type, name, keys)
                shown = [_shown(each, request) for each in entries]
                settings = known[(same, keys)] = encode_settings(shown, version)
            answer.add(resource_type, name, settings)
        except ApiError as error:
            answer.add_error(resource_type, name, error)
        yield
    return answer


def _same_settings(broker: "Broker", resource_type: int, name: str) -> Hashable:
    """A key that is equal for resources with the same description.

    Raises:
        ApiError: the topic does not exist.
    """
    if resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        return resource_type, name
    if resource_type == TOPIC_RESOURCE and name not in broker.image.topics_by_name:
        problem = topic_name_problem(name)
        if problem is not None:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    own = frozenset(broker.configs.of(resource_type, name).items())
    return resource_type, bool(name), own


def _entries(broker: "Broker", resource_type: int, name: str, keys: Keys) -> list[ConfigEntry]:
    describers: dict[int, Callable[[Broker, str, Keys], list[ConfigEntry]]] = {
        TOPIC_RESOURCE: _topic,
        BROKER_RESOURCE: _broker,
        BROKER_LOGGER_RESOURCE: _loggers,
        CLIENT_METRICS_RESOURCE: _client_metrics,
        GROUP_RESOURCE: _group,
    }
    describer = describers.get(resource_type)
    if describer is None:
        message = f"resource type {resource_type} has no configs"
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
    return describer(broker, name, keys)


def _topic(broker: "Broker", name: str, keys: Keys) -> list[ConfigEntry]:
    configs = broker.configs
    return describe_topic(
        configs.of(TOPIC_RESOURCE, name),
        configs.static,
        configs.per_broker(),
        configs.cluster_wide(),
        keys,
        effective=configs.broker,
    )


def _broker(broker: "Broker", name: str, keys: Keys) -> list[ConfigEntry]:
    configs = broker.configs
    if name == WHOLE_CLUSTER:
        return describe_cluster_default(configs.cluster_wide(), keys)
    _check_is_this_broker(broker, name)
    return describe_broker(configs.static, configs.per_broker(), configs.cluster_wide(), keys)


def _loggers(broker: "Broker", name: str, keys: Keys) -> list[ConfigEntry]:
    _check_is_this_broker(broker, name)
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return [
        ConfigEntry(logger, level, False, source, False, [], UNKNOWN_TYPE, "")
        for logger, level in log_levels.levels().items()
        if keys is None or logger in keys
    ]


def _client_metrics(broker: "Broker", name: str, keys: Keys) -> list[ConfigEntry]:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "a client metrics subscription needs a name")
    entries = describe_client_metrics(broker.configs.of(CLIENT_METRICS_RESOURCE, name))
    return _among(entries, keys)


def _group(broker: "Broker", name: str, keys: Keys) -> list[ConfigEntry]:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "a group needs a name")
    configs = broker.configs
    entries = describe_group(
        configs.of(GROUP_RESOURCE, name),
        configs.static,
        configs.per_broker(),
        configs.cluster_wide(),
    )
    return _among(entries, keys)


def _among(entries: list[ConfigEntry], keys: Keys) -> list[ConfigEntry]:
    return [entry for entry in entries if keys is None or entry.name in keys]


def _check_is_this_broker(broker: "Broker", name: str) -> None:
    if name != str(broker.node_id):
        message = (
            f"broker {name!r} was asked of broker {broker.node_id}: send the request to "
            "that broker, or leave the name empty for what holds for all"
        )
        raise ApiError(ErrorCode.INVALID_REQUEST, message)


def _shown(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else []
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in synonyms
        ],
        config_type=entry.type,
        documentation=entry.doc if request.include_documentation else None,
    )


def list_resources(
    broker: "Broker", request: ListConfigResourcesRequest, context: "RequestContext"
) -> ListConfigResourcesResponse:
    supported: tuple[int, ...] = (
        GROUP_RESOURCE,
        CLIENT_METRICS_RESOURCE,
        BROKER_LOGGER_RESOURCE,
        BROKER_RESOURCE,
        TOPIC_RESOURCE,
    )
    if context.api_version == 0:
        supported = (CLIENT_METRICS_RESOURCE,)
    types = request.resource_types or supported
    if not set(types) <= set(supported):
        message = f"resource types {types}: version {context.api_version} knows {supported}"
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
    image = broker.image
    names: dict[int, list[str]] = {
        GROUP_RESOURCE: [],
        CLIENT_METRICS_RESOURCE: [],
        BROKER_LOGGER_RESOURCE: [str(each) for each in image.brokers],
        BROKER_RESOURCE: [str(each) for each in image.brokers],
        TOPIC_RESOURCE: list(image.topics_by_name),
    }
    for resource_type, name in image.configs:
        if resource_type in (GROUP_RESOURCE, CLIENT_METRICS_RESOURCE):
            names[resource_type].append(name)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=resource_type)
            for resource_type in supported
            if resource_type in types
            for name in names[resource_type]
        ]
    )
