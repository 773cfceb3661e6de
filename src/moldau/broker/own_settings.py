"""What only a broker can validate of its settings: the paths of its own log directories.

The controller knows directories by their ids. It validates everything else.
"""

from moldau.broker.dynamic_config import DynamicConfig
from moldau.config.broker import validate_cordoned
from moldau.config.cordoning import CORDONED_LOG_DIRS
from moldau.controller.configs import ConfigOperation
from moldau.metadata.image import BROKER_RESOURCE
from moldau.protocol.messages.alter_configs import AlterConfigsResource as LegacyResource
from moldau.protocol.messages.incremental_alter_configs import AlterConfigsResource


def check_own_settings(configs: DynamicConfig, resource: AlterConfigsResource) -> None:
    """Raises ApiError INVALID_REQUEST if ``cordoned.log.dirs`` would name an unknown directory."""
    is_own = resource.resource_name == str(configs.static.node_id)
    if resource.resource_type != BROKER_RESOURCE or not is_own:
        return
    for change in resource.configs:
        if change.name != CORDONED_LOG_DIRS or not change.value:
            continue
        if change.config_operation == ConfigOperation.SET:
            text = change.value
        elif change.config_operation == ConfigOperation.APPEND:
            before = configs.per_broker().get(CORDONED_LOG_DIRS)
            text = f"{before},{change.value}" if before else change.value
        else:
            continue
        validate_cordoned({CORDONED_LOG_DIRS: text}, configs.static.log_dirs)


def check_own_replacement(configs: DynamicConfig, resource: LegacyResource) -> None:
    """As ``check_own_settings``, for this broker's settings in a request that replaces them all."""
    for config in resource.configs:
        if config.name == CORDONED_LOG_DIRS and config.value:
            validate_cordoned({CORDONED_LOG_DIRS: config.value}, configs.static.log_dirs)
