"""DescribeConfigs and ListConfigResources."""

from collections.abc import Awaitable, Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Final

from moldau.broker.dynamic_config import WHOLE_CLUSTER, DynamicConfig
from moldau.broker.handlers.config_answers import ConfigAnswer, encode_settings
from moldau.broker.log_levels import LogLevels
from moldau.broker.metadata_cache import MetadataCache
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
    MetadataImage,
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
    from moldau.broker.dispatch import RequestContext

UNKNOWN_TYPE: Final = 0
# The types of ListConfigResources, in Kafka's order.
LISTED_TYPES: Final[tuple[int, ...]] = (
    GROUP_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
)
KEYS_PER_STEP: Final = 1_000

# The requested settings; None for all.
Keys = frozenset[str] | None


class Configs:
    """Describes settings."""

    def __init__(
        self,
        node_id: int,
        metadata: MetadataCache,
        configs: DynamicConfig,
        log_levels: LogLevels,
    ) -> None:
        self._node_id = node_id
        self._metadata = metadata
        self._configs = configs
        self._log_levels = log_levels

    def describe(
        self, request: DescribeConfigsRequest, context: "RequestContext"
    ) -> ConfigAnswer | Awaitable[ConfigAnswer]:
        return context.in_turns(self._described(request, context.api_version))

    def _described(self, request: DescribeConfigsRequest, version: int) -> Steps[ConfigAnswer]:
        """One resource per step; one with the same settings as an earlier one costs very little."""
        answer = ConfigAnswer(version)
        known: dict[Hashable, bytes] = {}
        for resource in request.resources:
            resource_type, name = resource.resource_type, resource.resource_name
            keys = yield from _keys(resource.configuration_keys)
            try:
                same = self._same_settings(resource_type, name)
                settings = known.get((same, keys))
                if settings is None:
                    answer.check_room()
                    entries = self._entries(resource_type, name, keys)
                    shown = [_shown(each, request) for each in entries]
                    settings = known[(same, keys)] = encode_settings(shown, version)
                answer.add(resource_type, name, settings)
            except ApiError as error:
                answer.add_error(resource_type, name, error)
            yield
        return answer

    def _same_settings(self, resource_type: int, name: str) -> Hashable:
        """A key that is equal for resources with the same description.

        Raises:
            ApiError: the topic does not exist.
        """
        if resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
            return resource_type, name
        if resource_type == TOPIC_RESOURCE and name not in self._metadata.image.topics_by_name:
            problem = topic_name_problem(name)
            if problem is not None:
                raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        own = frozenset(self._configs.of(resource_type, name).items())
        return resource_type, bool(name), own

    def _entries(self, resource_type: int, name: str, keys: Keys) -> list[ConfigEntry]:
        describers: dict[int, Callable[[str, Keys], list[ConfigEntry]]] = {
            TOPIC_RESOURCE: self._topic,
            BROKER_RESOURCE: self._broker,
            BROKER_LOGGER_RESOURCE: self._loggers,
            CLIENT_METRICS_RESOURCE: self._client_metrics,
            GROUP_RESOURCE: self._group,
        }
        describer = describers.get(resource_type)
        if describer is None:
            message = f"resource type {resource_type} has no configs"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        return describer(name, keys)

    def _topic(self, name: str, keys: Keys) -> list[ConfigEntry]:
        configs = self._configs
        return describe_topic(
            configs.of(TOPIC_RESOURCE, name),
            configs.static,
            configs.per_broker(),
            configs.cluster_wide(),
            keys,
            effective=configs.broker,
        )

    def _broker(self, name: str, keys: Keys) -> list[ConfigEntry]:
        configs = self._configs
        if name == WHOLE_CLUSTER:
            return describe_cluster_default(configs.cluster_wide(), keys)
        self._check_is_this_broker(name)
        return describe_broker(configs.static, configs.per_broker(), configs.cluster_wide(), keys)

    def _loggers(self, name: str, keys: Keys) -> list[ConfigEntry]:
        self._check_is_this_broker(name)
        source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
        return [
            ConfigEntry(logger, level, False, source, False, [], UNKNOWN_TYPE, "")
            for logger, level in self._log_levels.all().items()
            if keys is None or logger in keys
        ]

    def _client_metrics(self, name: str, keys: Keys) -> list[ConfigEntry]:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a client metrics subscription needs a name")
        entries = describe_client_metrics(self._configs.of(CLIENT_METRICS_RESOURCE, name))
        return _among(entries, keys)

    def _group(self, name: str, keys: Keys) -> list[ConfigEntry]:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a group needs a name")
        configs = self._configs
        entries = describe_group(
            configs.of(GROUP_RESOURCE, name),
            configs.static,
            configs.per_broker(),
            configs.cluster_wide(),
        )
        return _among(entries, keys)

    def _check_is_this_broker(self, name: str) -> None:
        if name != str(self._node_id):
            message = (
                f"broker {name!r} was asked of broker {self._node_id}: send the request to "
                "that broker, or leave the name empty for what holds for all"
            )
            raise ApiError(ErrorCode.INVALID_REQUEST, message)

    def list_resources(
        self, request: ListConfigResourcesRequest, context: "RequestContext"
    ) -> ListConfigResourcesResponse | Awaitable[ListConfigResourcesResponse]:
        return context.in_turns(_listed(self._metadata.image, request, context.api_version))


def _keys(asked: list[str] | None) -> Steps[Keys]:
    # An empty list of keys means all, as null does (KAFKA-9472).
    if not asked:
        return None
    if len(asked) <= KEYS_PER_STEP:
        return frozenset(asked)
    keys: set[str] = set()
    for begin in range(0, len(asked), KEYS_PER_STEP):
        keys.update(asked[begin : begin + KEYS_PER_STEP])
        yield
    return frozenset(keys)


def _among(entries: list[ConfigEntry], keys: Keys) -> list[ConfigEntry]:
    return [entry for entry in entries if keys is None or entry.name in keys]


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


def _listed(
    image: MetadataImage, request: ListConfigResourcesRequest, version: int
) -> Steps[ListConfigResourcesResponse]:
    """One resource per step."""
    supported = (CLIENT_METRICS_RESOURCE,) if version == 0 else LISTED_TYPES
    types: set[int] = set()
    for asked in request.resource_types or supported:
        if asked not in supported:
            message = f"resource type {asked} is none of {supported} of version {version}"
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
        types.add(asked)
        yield
    response = ListConfigResourcesResponse()
    for resource_type in supported:
        if resource_type in types:
            for name in _names(image, resource_type):
                if name is not None:
                    response.config_resources.append(ConfigResource(name, resource_type))
                yield
    return response


def _names(image: MetadataImage, resource_type: int) -> Iterator[str | None]:
    """The names of all resources of a type, with None for resources of other types."""
    if resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        yield from map(str, image.brokers)
    elif resource_type == TOPIC_RESOURCE:
        yield from image.topics_by_name
    else:
        for each in image.configs:
            yield each.name if each.type == resource_type else None
