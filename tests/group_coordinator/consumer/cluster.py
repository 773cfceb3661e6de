"""A shard with a log, topics, and consumers that send heartbeats to it."""

import random
from collections.abc import Mapping, Sequence

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import CoordinatorRecord, Outcome
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.records import decode_record, encode_record
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.group_coordinator.shard import GroupCoordinatorShard
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import GROUP_RESOURCE, ConfigResource, MetadataImage
from moldau.protocol.message import Struct
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from moldau.protocol.records.metadata import (
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)

GROUP = "readers"
Owned = dict[bytes, set[int]]


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b".")


def topic_name(identity: bytes) -> str:
    return identity.rstrip(b".").decode()


class Cluster:
    """One partition of ``__consumer_offsets``: every outcome is encoded, stored and replayed."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.config = BrokerConfig.from_properties(
            {"group.consumer.assignment.interval.ms": "0", **(settings or {})}
        )
        self.now_ms = 1_000_000
        # Tests may set the wall clock; no time passes.
        self.wall_ahead_ms = 1_700_000_000_000
        self.image = MetadataImage(offset=0)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.last_records: list[CoordinatorRecord] = []
        self.answers: dict[int, Struct] = {}
        self._token = 0
        # Every broker generates different ids.
        self._rng = random.Random(7)
        self.shard = self._new_shard()

    @property
    def wall_ms(self) -> int:
        return self.now_ms + self.wall_ahead_ms

    @property
    def now(self) -> Now:
        return Now(self.wall_ms, self.now_ms)

    def _new_shard(self) -> GroupCoordinatorShard:
        shard = GroupCoordinatorShard(self.config, self._rng)
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            shard.replay(record.key, record.value)
        shard.on_metadata(self.image, None)
        shard.on_loaded(self.now)
        return shard

    def reload(self, compact: bool = False) -> None:
        """Another broker takes over the partition, possibly after compaction."""
        if compact:
            last = {key: position for position, (key, _) in enumerate(self.log)}
            self.log = [self.log[position] for position in sorted(last.values())]
        self.shard = self._new_shard()

    def take(self, out: Outcome) -> None:
        self.last_records = list(out.records)
        for record in out.records:
            self.log.append(encode_record(record))
            self.shard.replay(record.key, record.value)
        for reply in out.replies:
            self.answers[reply.token] = reply.response
        while self.shard.next_deadline_ms() == 0:
            follow_up = self.shard.tick(self.now)
            kept = self.last_records
            self.take(follow_up)
            self.last_records = kept + self.last_records

    def token(self) -> int:
        self._token += 1
        return self._token

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, version: int = 1
    ) -> ConsumerGroupHeartbeatResponse:
        token = self.token()
        # Check that the reply can be encoded.
        request.encode(version)
        self.take(
            self.shard.handle_consumer_group_heartbeat(
                token, request, self.context(version), self.now
            )
        )
        response = self.answers.pop(token)
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        response.encode(version)
        return response

    def context(self, version: int) -> GroupRequestContext:
        return GroupRequestContext(version, "client", "/127.0.0.1")

    def pass_time(self, by_ms: int) -> None:
        """Let time pass, firing every timer at its time."""
        end_ms = self.now_ms + by_ms
        while True:
            deadline_ms = self.shard.next_deadline_ms()
            if deadline_ms is None or deadline_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, deadline_ms)
            self.take(self.shard.tick(self.now))
        self.now_ms = end_ms

    @property
    def group(self) -> ConsumerGroup:
        return self.shard._consumer.groups[GROUP]

    @property
    def state(self) -> str:
        return self.shard.consumer_group_describe([GROUP])[0].group_state

    # Metadata

    def change(self, *records: Struct) -> None:
        delta = MetadataDelta(self.image)
        delta.replay_all(records)  # type: ignore[arg-type]
        self.image = delta.build(self.image.offset + 1, 1, self.wall_ms)
        self.take(self.shard.on_metadata(self.image, delta))

    def create_topic(self, name: str, partitions: int, replicas: Sequence[int] = (1,)) -> None:
        identity = topic_id(name)
        self.change(
            TopicRecord(name=name, topic_id=identity),
            *(_partition(identity, number, replicas) for number in range(partitions)),
        )

    def add_partitions(self, name: str, count: int) -> None:
        identity = topic_id(name)
        begin = len(self.image.topics_by_name[name].partitions)
        self.change(*(_partition(identity, begin + i, (1,)) for i in range(count)))

    def delete_topic(self, name: str) -> None:
        self.change(RemoveTopicRecord(topic_id=topic_id(name)))

    def add_broker(self, broker_id: int, rack: str) -> None:
        self.change(RegisterBrokerRecord(broker_id=broker_id, broker_epoch=1, rack=rack))

    def configure_group(self, settings: Mapping[str, str]) -> None:
        configs = {**self.image.configs, ConfigResource(GROUP_RESOURCE, GROUP): dict(settings)}
        self.image = self.image._replace(configs=configs, offset=self.image.offset + 1)
        self.take(self.shard.on_metadata(self.image, MetadataDelta(self.image)))


def _partition(identity: bytes, number: int, replicas: Sequence[int]) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=identity,
        replicas=list(replicas),
        isr=list(replicas),
        leader=replicas[0],
        directories=[bytes(15) + b"\x01"] * len(replicas),
    )


class Consumer:
    """A client of the new protocol. It revokes partitions when it reconciles."""

    def __init__(
        self,
        cluster: Cluster,
        member_id: str,
        topics: Sequence[str] | None = ("foo",),
        regex: str | None = None,
        instance_id: str | None = None,
        rack_id: str | None = None,
        assignor: str | None = None,
    ) -> None:
        self.cluster = cluster
        self.member_id = member_id
        self.topics = topics
        self.regex = regex
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.assignor = assignor
        self.epoch = 0
        self.owned: Owned = {}
        self.told: Owned = {}
        self.error = 0
        # After a lost reply, a client sends a full heartbeat, to get a full reply.
        self.must_tell_all = False

    def join(self) -> "Consumer":
        self.epoch = 0
        self.owned = {}
        self._send(
            ConsumerGroupHeartbeatRequest(
                group_id=GROUP,
                member_id=self.member_id,
                member_epoch=0,
                instance_id=self.instance_id,
                rack_id=self.rack_id,
                rebalance_timeout_ms=30_000,
                subscribed_topic_names=None if self.topics is None else list(self.topics),
                subscribed_topic_regex=self.regex,
                server_assignor=self.assignor,
                topic_partitions=[],
            )
        )
        return self

    def subscribe(self, topics: Sequence[str] | None = None, regex: str | None = None) -> None:
        self.topics = topics
        self.regex = regex
        self._send(
            self._complete(
                self._heartbeat(subscribed_topic_names=topics, subscribed_topic_regex=regex)
            )
        )

    def beat(self) -> None:
        """Apply the last assignment and report it."""
        self.owned = {identity: set(numbers) for identity, numbers in self.told.items() if numbers}
        self.beat_as_is()

    def beat_as_is(self) -> None:
        self._send(self._complete(self._heartbeat()))

    def _complete(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatRequest:
        if self.must_tell_all:
            request.rebalance_timeout_ms = 30_000
            request.subscribed_topic_names = list(self.topics or ())
            request.subscribed_topic_regex = self.regex or ""
            self.must_tell_all = False
        return request

    def beat_in_silence(self) -> None:
        """Send a heartbeat without changes."""
        request = self._heartbeat()
        request.topic_partitions = None
        self._send(request)

    def leave(self, epoch: int = -1) -> None:
        request = self._heartbeat()
        request.member_epoch = epoch
        self._send(request)
        self.owned, self.told = {}, {}

    def _heartbeat(
        self,
        subscribed_topic_names: Sequence[str] | None = None,
        subscribed_topic_regex: str | None = None,
    ) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            subscribed_topic_names=(
                None if subscribed_topic_names is None else list(subscribed_topic_names)
            ),
            subscribed_topic_regex=subscribed_topic_regex,
            topic_partitions=[
                TopicPartitions(topic_id=identity, partitions=sorted(numbers))
                for identity, numbers in sorted(self.owned.items())
            ],
        )

    def _send(self, request: ConsumerGroupHeartbeatRequest) -> None:
        response = self.cluster.heartbeat(request)
        self.error = response.error_code
        if response.error_code:
            return
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self.told = {
                topic.topic_id: set(topic.partitions)
                for topic in response.assignment.topic_partitions
            }

    @property
    def has(self) -> str:
        """The last assignment, as ``foo:0,1 bar:2``."""
        return " ".join(
            f"{topic_name(identity)}:{','.join(map(str, sorted(numbers)))}"
            for identity, numbers in sorted(self.told.items())
            if numbers
        )

    @property
    def count(self) -> int:
        return sum(len(numbers) for numbers in self.told.values())


def settle(consumers: Sequence[Consumer], rounds: int = 20) -> None:
    """Heartbeats until the group is stable."""
    for _ in range(rounds):
        for consumer in consumers:
            consumer.beat()
        if consumers[0].cluster.state == "Stable":
            return
    raise AssertionError(f"not stable after {rounds} rounds of heartbeats")
