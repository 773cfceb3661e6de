"""A controller with registered brokers, and shortcuts for requests."""

import random
from collections.abc import Sequence
from typing import Any

from moldau.config.broker import BrokerConfig
from moldau.controller.context import DecisionContext
from moldau.controller.outcome import decided
from moldau.errors import ErrorCode
from moldau.metadata.features import SUPPORTED_FEATURES, default_features
from moldau.metadata.framing import decode_record, encode_record
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.protocol.records.metadata import FeatureLevelRecord
from tests.controller.direct import DirectController

CLUSTER = "Q8iz1nzKR4Wq8YoVMRjTrw"


class Cluster:
    """A controller whose records are committed at once."""

    def __init__(
        self, brokers: int = 1, level: int = 30, settings: dict[str, str] | None = None
    ) -> None:
        self.config = BrokerConfig.from_properties(settings or {})
        self.controller = DirectController(1, CLUSTER, self.config, random.Random(7))
        self.offset = 0
        self.now_ms = 0
        levels = default_features(level)
        bootstrap = [
            FeatureLevelRecord(name=name, feature_level=levels[name])
            for name in levels
            if levels[name] > 0
        ]
        self.commit(self.controller.activate(bootstrap))
        self.controller.activated(self.now_ms)
        for broker_id in range(1, brokers + 1):
            self.register(broker_id)
            self.heartbeat(broker_id)

    @property
    def image(self) -> MetadataImage:
        return self.controller.image

    def commit(self, records: Sequence[Message]) -> Sequence[Message]:
        if records:
            # As the log has them, in the format of the metadata.version.
            level = self.image.metadata_version
            written = [encode_record(record, level if level >= 0 else 30) for record in records]
            read = [decode_record(value) for value in written]
            self.controller.replay(self.offset, 1, 1000, read)
            self.offset += len(records)
        return records

    def register(
        self,
        broker_id: int = 1,
        *,
        incarnation: int = 1,
        previous_epoch: int = -1,
        rack: str | None = None,
    ) -> Sequence[Message]:
        """Register a broker. Broker 1 is in the process of the controller."""
        request = registration(broker_id, incarnation, previous_epoch, rack)
        outcome = self.controller.register_broker(
            request, self.offset, self.now_ms, is_local=broker_id == 1
        )
        return self.commit(outcome.records)

    def heartbeat(
        self, broker_id: int = 1, *, fence: bool = False, shut_down: bool = False
    ) -> Sequence[Message]:
        request = BrokerHeartbeatRequest(
            broker_id=broker_id,
            broker_epoch=self.image.brokers[broker_id].epoch,
            current_metadata_offset=self.offset,
            want_fence=fence,
            want_shut_down=shut_down,
        )
        return self.commit(self.controller.broker_heartbeat(request, self.now_ms).records)

    def upkeep(self) -> Sequence[Message]:
        """What the controller does now without a request."""
        return self.commit(decided(self.controller.upkeep(self.now_ms)).records)

    def decide(self, request: Message, version: int | None = None) -> Any:
        """Decide a request by its API key; returns the response."""
        context = DecisionContext(next_offset=self.offset)
        if version is None:
            version = request.MAX_VERSION
        outcome = decided(self.controller.decide(request, version, context, self.now_ms))
        self.commit(outcome.records)
        return outcome.response

    def create(self, *topics: CreatableTopic, validate_only: bool = False) -> list[tuple[int, str]]:
        """The error code and message of every topic, in the order of the response."""
        request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
        outcome = self.controller.create_topics(request)
        self.commit(outcome.records)
        return [(each.error_code, each.error_message or "") for each in outcome.response.topics]

    def configure(self, topic: str, name: str, value: str) -> None:
        """Change a setting of a topic."""
        config = AlterableConfig(name=name, config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=[config])
        response = self.decide(IncrementalAlterConfigsRequest(resources=[resource]))
        assert response.responses[0].error_code == ErrorCode.NONE

    def delete(self, name: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])
        assert self.decide(request).responses[0].error_code == ErrorCode.NONE

    def must_create(self, name: str, partitions: int = 1, factor: int = 1, **configs: str) -> bytes:
        [(code, message)] = self.create(topic(name, partitions, factor, **configs))
        assert code == ErrorCode.NONE, message
        return self.image.topics_by_name[name].id


def topic(name: str, partitions: int = 1, factor: int = 1, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )


def registration(
    broker_id: int, incarnation: int = 1, previous_epoch: int = -1, rack: str | None = None
) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER,
        incarnation_id=bytes([incarnation]) * 16,
        rack=rack,
        log_dirs=[bytes([100 + broker_id]) * 16],
        previous_broker_epoch=previous_epoch,
        features=[
            Feature(
                name=name,
                min_supported_version=versions.min_version,
                max_supported_version=versions.max_version,
            )
            for name, versions in SUPPORTED_FEATURES.items()
        ],
    )
