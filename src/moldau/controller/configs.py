"""IncrementalAlterConfigs and AlterConfigs: dynamic settings become ConfigRecords.

The changes to a resource are applied together or not at all, and validated by the resulting
settings. Resources are independent: an error in one does not affect the others.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Final, TypeVar

from moldau.config.broker import dynamic_setting, validate_cordoned, validate_dynamic
from moldau.config.cordoning import CORDONED_LOG_DIRS
from moldau.config.definition import SettingType
from moldau.config.topic import TOPIC_SETTINGS, validate_topic_overrides
from moldau.controller.group_settings import validate_group
from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.state import ControllerState, check_record_count
from moldau.controller.telemetry_settings import CLIENT_METRICS_SETTINGS, validate_client_metrics
from moldau.controller.thread_settings import validate_threads
from moldau.controller.topic_names import topic_name_problem
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.features import METADATA_4_3_IV0
from moldau.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    ConfigResource,
)
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from moldau.protocol.messages.alter_configs import AlterConfigsResource as LegacyResource
from moldau.protocol.messages.alter_configs import (
    AlterConfigsResourceResponse as LegacyResourceResponse,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.protocol.records.metadata import ClearElrRecord, ConfigRecord

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
_MAX_VALUE_LENGTH: Final = 32_767
# No resource has half as many. The settings of a resource are validated in one step, so that their
# number must have a bound, which Kafka does not have.
MAX_SETTINGS: Final = 1_000
_CONTROLLER_ITSELF: Final = -1


class ConfigOperation(IntEnum):
    """The operations of IncrementalAlterConfigs, with their numbers on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def incremental_alter_configs(
    state: ControllerState, request: IncrementalAlterConfigsRequest, received_by: int
) -> Deciding[IncrementalAlterConfigsResponse]:
    """Change single settings and leave the others unchanged.

    ``received_by`` is the broker that got the request: it accepts settings of a single broker only
    if they are its own. It is -1 if the controller itself got it, which accepts those of any node.
    """
    records, responses = yield from _alter(
        state,
        received_by,
        request.resources,
        partial(_changed, state),
        AlterConfigsResourceResponse,
    )
    return Outcome(
        [] if request.validate_only else records,
        IncrementalAlterConfigsResponse(responses=responses),
    )


def alter_configs(
    state: ControllerState, request: AlterConfigsRequest, received_by: int
) -> Deciding[AlterConfigsResponse]:
    """Replace all settings of a resource: those not named are reset to their defaults."""
    records, responses = yield from _alter(
        state, received_by, request.resources, partial(_replaced, state), LegacyResourceResponse
    )
    return Outcome(
        [] if request.validate_only else records, AlterConfigsResponse(responses=responses)
    )


_Changes = Mapping[str, str | None]
# The two requests have the same fields in different classes.
_Asked = TypeVar("_Asked", AlterConfigsResource, LegacyResource)
_Answer = TypeVar("_Answer", AlterConfigsResourceResponse, LegacyResourceResponse)


def _alter(
    state: ControllerState,
    received_by: int,
    asked: Sequence[_Asked],
    changes_of: Callable[[_Asked], _Changes],
    answer: Callable[..., _Answer],
) -> Generator[None, None, tuple[list[Message], list[_Answer]]]:
    """The records for every valid resource, and the answers; each resource is a step."""
    seen: dict[tuple[int, str], int] = {}
    for each in asked:
        named = (each.resource_type, each.resource_name)
        seen[named] = seen.get(named, 0) + 1
        yield
    records: list[Message] = []
    answers: list[_Answer] = []
    for each in asked:
        code, problem = ErrorCode.NONE, None
        try:
            resource = ConfigResource(each.resource_type, each.resource_name)
            if seen[each.resource_type, each.resource_name] > 1:
                message = "Each resource must appear at most once."
                raise ApiError(ErrorCode.INVALID_REQUEST, message)
            check_setting_count(len(each.configs))
            changes = changes_of(each)
            _check_type(resource, received_by)
            if received_by == _CONTROLLER_ITSELF:
                _check_cordoned(state, resource, changes)
            changed = alter_resource(state, resource, changes)
            check_record_count(len(records) + len(changed))
            records += changed
        except ApiError as error:
            code, problem = error.code, error.message
        answers.append(
            answer(
                error_code=code,
                error_message=problem,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
        yield
    records += clear_elr_records(state, records)
    return records, answers


def _check_type(resource: ConfigResource, received_by: int) -> None:
    if resource.type == BROKER_LOGGER_RESOURCE:
        # Each node changes its own, and asks the controller about the rest only.
        message = "The log levels of a node are not decided by the controller"
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
    if resource.type == BROKER_RESOURCE and resource.name:
        try:
            broker_id = int(resource.name)
        except ValueError:
            message = f"Node id must be an integer, but it is: {resource.name}"
            raise ApiError(ErrorCode.INVALID_REQUEST, message) from None
        if received_by not in (_CONTROLLER_ITSELF, broker_id):
            message = f"Unexpected broker id, expected {received_by}, but received {resource.name}"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)


def _check_cordoned(state: ControllerState, resource: ConfigResource, changes: _Changes) -> None:
    """Only a broker knows the paths of its directories. Others can only take some out."""
    text = changes.get(CORDONED_LOG_DIRS)
    if resource.type != BROKER_RESOURCE or text is None:
        return
    before = state.image.config(resource.type, resource.name).get(CORDONED_LOG_DIRS, "")
    known = [item.strip() for item in before.split(",")]
    if text.strip() and any(item.strip() not in known for item in text.split(",")):
        message = (
            f"When updating {CORDONED_LOG_DIRS} via controllers,  the new value must be a subset "
            "of the current configuration value."
        )
        raise ApiError(ErrorCode.INVALID_CONFIG, message)


def check_setting_count(count: int) -> None:
    """Raises ApiError: INVALID_REQUEST if a resource has more settings than exist."""
    if count > MAX_SETTINGS:
        message = f"{count} settings of one resource are too many: at most {MAX_SETTINGS}"
        raise ApiError(ErrorCode.INVALID_REQUEST, message)


def _check_names(names: list[str], nulls: list[str]) -> None:
    if len(set(names)) != len(names):
        raise ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if nulls:
        message = f"Null value not supported for : {', '.join(nulls)}"
        raise ApiError(ErrorCode.INVALID_REQUEST, message)


def _changed(state: ControllerState, resource: AlterConfigsResource) -> _Changes:
    """The new values of an incremental request; None means removal."""
    _check_names(
        [config.name for config in resource.configs],
        [
            config.name
            for config in resource.configs
            if config.value is None and config.config_operation != ConfigOperation.DELETE
        ],
    )
    current = state.image.config(resource.resource_type, resource.resource_name)
    changes: dict[str, str | None] = {}
    for config in resource.configs:
        operation = config.config_operation
        if operation == ConfigOperation.SET:
            changes[config.name] = config.value
        elif operation == ConfigOperation.DELETE:
            changes[config.name] = None
        elif operation in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
            assert config.value is not None
            items = _list_items(resource.resource_type, config.name, current, operation)
            given = config.value.split(",")
            if operation == ConfigOperation.APPEND:
                items += [item for item in dict.fromkeys(given) if item not in items]
            else:
                items = [item for item in items if item not in given]
            changes[config.name] = ",".join(items)
        else:
            message = f"Unknown operations type {operation}"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
    return changes


def _replaced(state: ControllerState, resource: LegacyResource) -> _Changes:
    """The new values of a legacy request: all settings that are not named are removed."""
    _check_names(
        [config.name for config in resource.configs],
        [config.name for config in resource.configs if config.value is None],
    )
    changes = {config.name: config.value for config in resource.configs}
    for name in state.image.config(resource.resource_type, resource.resource_name):
        changes.setdefault(name, None)
    return changes


def _list_items(
    resource_type: int, name: str, current: Mapping[str, str], operation: int
) -> list[str]:
    """The current items of a list setting, or those of its default."""
    default = _list_default(resource_type, name)
    if default is None:
        word = ConfigOperation(operation).name
        message = f"Can't {word} to key {name} because its type is not LIST."
        raise ApiError(ErrorCode.INVALID_CONFIG, message)
    return [item for item in current.get(name, default).split(",") if item]


def _list_default(resource_type: int, name: str) -> str | None:
    """The default of a list setting; None if it is not one."""
    if resource_type == CLIENT_METRICS_RESOURCE:
        return "" if CLIENT_METRICS_SETTINGS.get(name) is SettingType.LIST else None
    setting = None
    if resource_type == TOPIC_RESOURCE:
        setting = TOPIC_SETTINGS.get(name)
    elif resource_type == BROKER_RESOURCE:
        setting = dynamic_setting(name)
    if setting is None or setting.type is not SettingType.LIST:
        return None
    return setting.default or ""


def alter_resource(
    state: ControllerState,
    resource: ConfigResource,
    changes: Mapping[str, str | None],
    *,
    is_new: bool = False,
) -> list[Message]:
    """ConfigRecords for the changes of one resource; ``is_new`` if it is being created now.

    Raises:
        ApiError: INVALID_CONFIG, INVALID_REQUEST, or the error for an unknown resource.
    """
    current = {} if is_new else state.image.config(resource.type, resource.name)
    after = dict(current)
    records: list[Message] = []
    for name, value in changes.items():
        _check_change(state, resource, name, value)
        if value is None:
            after.pop(name, None)
        else:
            after[name] = value
        # Settings of a broker are written even if they are unchanged: that makes it reload
        # the files they name, such as a keystore (KAFKA-14136).
        if current.get(name) != value or resource.type == BROKER_RESOURCE:
            records.append(
                ConfigRecord(
                    resource_type=resource.type,
                    resource_name=resource.name,
                    name=name,
                    value=value,
                )
            )
    _check_resource(state, resource, after)
    if not is_new:
        _check_exists(state, resource)
    return records


def _check_change(
    state: ControllerState, resource: ConfigResource, name: str, value: str | None
) -> None:
    if value is not None and len(value) > _MAX_VALUE_LENGTH:
        message = (
            "The configuration value cannot be added because it exceeds the maximum value "
            f"size of {_MAX_VALUE_LENGTH} bytes."
        )
        raise ApiError(ErrorCode.INVALID_CONFIG, message)
    is_cordon = name == CORDONED_LOG_DIRS and resource.type == BROKER_RESOURCE
    if is_cordon and state.image.metadata_version < METADATA_4_3_IV0:
        message = (
            f"The {CORDONED_LOG_DIRS} configuration value cannot be set because it requires "
            "metadata.version >= 4.3-IV0"
        )
        raise ApiError(ErrorCode.INVALID_CONFIG, message)
    is_min_isr = name == MIN_INSYNC_REPLICAS and resource.type == BROKER_RESOURCE
    if not is_min_isr or not state.image.is_elr_enabled:
        return
    # ELR needs one min.insync.replicas for the whole cluster (KIP-966).
    if resource.name:
        message = f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled."
        raise ApiError(ErrorCode.INVALID_CONFIG, message)
    if value is None:
        message = f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled."
        raise ApiError(ErrorCode.INVALID_CONFIG, message)


def _check_resource(
    state: ControllerState, resource: ConfigResource, settings: Mapping[str, str]
) -> None:
    """Check that a resource may have these settings together."""
    if resource.type == TOPIC_RESOURCE:
        if not resource.name:
            message = "Default topic resources are not allowed."
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        problem = topic_name_problem(resource.name)
        if problem is not None:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        if settings:
            validate_topic_overrides(settings, state.config)
    elif resource.type == BROKER_RESOURCE:
        if resource.name.startswith("-"):
            raise ApiError(ErrorCode.INVALID_REQUEST, "Invalid negative broker ID.")
        validate_dynamic(settings, per_broker=bool(resource.name))
        validate_threads(state, resource.name, settings)
        if resource.name == str(state.node_id):
            validate_cordoned(settings, state.config.log_dirs)
    elif resource.type == CLIENT_METRICS_RESOURCE:
        validate_client_metrics(resource.name, settings)
    elif resource.type == GROUP_RESOURCE:
        if not resource.name:
            message = "Default group resources are not allowed."
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        validate_group(settings, state.config)
    else:
        message = f"Unknown resource type {resource.type}"
        raise ApiError(ErrorCode.INVALID_REQUEST, message)


def _check_exists(state: ControllerState, resource: ConfigResource) -> None:
    if resource.type == TOPIC_RESOURCE and resource.name not in state.image.topics_by_name:
        message = f"The topic '{resource.name}' does not exist."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    if resource.type == BROKER_RESOURCE and resource.name:
        node_id = int(resource.name)
        known = node_id in state.image.brokers or node_id in state.image.controllers
        if not known and node_id != state.node_id:
            message = f"No node with id {node_id} found."
            raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, message)


def clear_elr_records(state: ControllerState, records: Iterable[Message]) -> list[Message]:
    """Clear the ELRs after a change of min.insync.replicas: they relied on the old value."""
    if not state.image.is_elr_enabled:
        return []
    cleared: list[Message] = []
    for record in records:
        if isinstance(record, ConfigRecord) and record.name == MIN_INSYNC_REPLICAS:
            is_topic = record.resource_type == TOPIC_RESOURCE
            cleared.append(ClearElrRecord(topic_name=record.resource_name if is_topic else ""))
    return cleared
