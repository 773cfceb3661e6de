"""The current settings: those at the start, and dynamic changes.

Changes are stored in the metadata, so every broker of a cluster sees them and they survive a
restart. Topic settings default to those of the broker, including dynamic ones.
"""

from collections.abc import Mapping
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.metadata.image import (
    BROKER_RESOURCE,
    EMPTY_IMAGE,
    TOPIC_RESOURCE,
    MetadataImage,
)

WHOLE_CLUSTER: Final = ""
NOTHING: Final[Mapping[str, str]] = {}


class DynamicConfig:
    """The settings as of the newest image."""

    def __init__(self, static: BrokerConfig) -> None:
        self.static = static
        self.broker = static
        self._image = EMPTY_IMAGE
        # Most topics have no overrides and share one object.
        self._default_log_config = LogConfig.build(static, NOTHING)

    def follow(self, image: MetadataImage) -> None:
        """Use ``image`` from now on."""
        is_changed = self._image.configs is not image.configs
        self._image = image
        if is_changed:
            self.broker = self.static.with_dynamic(self.cluster_wide(), self.per_broker())
            self._default_log_config = LogConfig.build(self.broker, NOTHING)

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        """The dynamic settings of a resource itself."""
        return self._image.config(resource_type, name)

    def cluster_wide(self) -> Mapping[str, str]:
        return self.of(BROKER_RESOURCE, WHOLE_CLUSTER)

    def per_broker(self) -> Mapping[str, str]:
        return self.of(BROKER_RESOURCE, str(self.static.node_id))

    def topic(self, name: str) -> LogConfig:
        overrides = self.of(TOPIC_RESOURCE, name)
        if not overrides:
            return self._default_log_config
        return LogConfig.build(self.broker, overrides)
