"""A controller with registered brokers, and shortcuts for requests."""

import random
from collections.abc import Sequence

from moldau.config.broker import BrokerConfig
from moldau.controller.controller import Controller
from moldau.errors import ErrorCode
from moldau.metadata.features import SUPPORTED_FEATURES, default_features
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.records.metadata import FeatureLevelRecord

CLUSTER = "Q8iz1nzKR4Wq8YoVMRjTrw"


class Cluster:
    """A controller whose records are committed at once."""

    def __init__(
        self, brokers: int = 1, level: int = 30, settings: dict[str, str] | None = None
    ) -> None:
        self.config = BrokerConfig.from_properties(settings or {})
        self.controller = Controller(1, CLUSTER, self.config, random.Random(7))
        self.offset = 0
        levels = default_features(level)
        bootstrap = [
            FeatureLevelRecord(name=name, feature_level=levels[name])
            for name in levels
            if levels[name] > 0
        ]
        self.commit(self.controller.activate(bootstrap))
        for broker_id in range(1, brokers + 1):
            self.register(broker_id)
            self.heartbeat(broker_id)

    @property
    def image(self) -> MetadataImage:
        return self.controller.image

    def commit(self, records: Sequence[Message]) -> Sequence[Message]:
        if records:
            self.controller.replay(self.offset, 1, 1000, records)
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
        request = registration(broker_id, incarnation, previous_epoch, rack)
        return self.commit(self.controller.register_broker(request, self.offset).records)

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
        return self.commit(self.controller.broker_heartbeat(request).records)

    def create(self, *topics: CreatableTopic, validate_only: bool = False) -> list[tuple[int, str]]:
        """The error code and message of every topic, in the order of the response."""
        request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
        outcome = self.controller.create_topics(request)
        self.commit(outcome.records)
        return [(each.error_code, each.error_message or "") for each in outcome.response.topics]

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
