"""An administrator: creates topics, changes their settings, adds partitions, deletes them.

Each has its own topics and sends one request at a time, so what was acknowledged last is what the
cluster must show; except for requests without an answer, which may be carried out later.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import NO_UUID
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from moldau.simulator.clients.cluster import Address, ClusterClient
from moldau.simulator.history import TopicFacts

_TIMEOUT_MS: Final = 3_000
_TOPIC: Final = 2
_MOST_TOPICS: Final = 6
# So many replicas cannot be placed now.
_WHILE_BROKERS_ARE_DOWN: Final = (ErrorCode.INVALID_REPLICATION_FACTOR,)
_SETTINGS: Final = ("retention.ms", "max.message.bytes", "segment.ms")

Send = Callable[[], Awaitable[int]]


class Admin:
    """Changes metadata, one change at a time."""

    def __init__(self, client: ClusterClient, pause_ms: int, replication_factor: int) -> None:
        self._client = client
        self._rng = client.rng
        self._pause_ms = pause_ms
        self._replication_factor = replication_factor
        self._mine: list[TopicFacts] = []
        self._created = 0

    def start(self) -> None:
        self._client.begin(self._work())

    async def _work(self) -> None:
        while not self._client.is_stopping:
            await self._change()
            await asyncio.sleep(self._rng.randint(1, 2 * self._pause_ms) / 1000)

    async def _change(self) -> None:
        existing = [each for each in self._mine if each.exists]
        if not existing or (len(existing) < _MOST_TOPICS and self._rng.random() < 0.4):
            await self._create_next()
            return
        facts = self._rng.choice(existing)
        change = self._rng.choice((self._alter, self._alter, self._grow, self._delete))
        await change(facts)

    async def _create_next(self) -> None:
        self._created += 1
        name = f"{self._client.name}-{self._created}"
        facts = TopicFacts(name, self._rng.randint(1, 3))
        self._mine.append(facts)
        self._client.history.topics[name] = facts
        await self.create(facts)

    async def create(self, facts: TopicFacts) -> None:
        """Create the topic that the facts describe."""
        topic = CreatableTopic(
            facts.name,
            facts.partitions,
            self._replication_factor,
            configs=[CreatableTopicConfig(*each) for each in facts.configs.items()],
        )

        async def send() -> int:
            client = self._client
            asked = CreateTopicsRequest([topic], _TIMEOUT_MS)
            address = client.any_node()
            answer = await client.send(address, asked, CreateTopicsResponse)
            if answer.topics[0].error_code == ErrorCode.NONE:
                await self._check_visible(address, facts.name)
            if answer.topics[0].topic_id != NO_UUID:
                client.topic_ids[facts.name] = answer.topics[0].topic_id
            return answer.topics[0].error_code

        def doubt() -> None:
            facts.may_be_created = True

        await self._until_done(
            f"creates {facts.name}", send, doubt, repeated=[ErrorCode.TOPIC_ALREADY_EXISTS]
        )
        facts.exists = True

    async def _check_visible(self, address: Address, topic: str) -> None:
        """The node that acknowledges a topic must know it."""
        client = self._client
        asked = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        losses = client.losses(address)
        with contextlib.suppress(Disconnected):
            answer = await client.send(address, asked, MetadataResponse)
            # Over another connection it may be another process, which is about to catch up.
            if answer.topics[0].error_code and client.losses(address) == losses:
                client.world.surprise(
                    client.name, f"{topic} was created at {address.host}, which does not know it"
                )

    async def _alter(self, facts: TopicFacts) -> None:
        name, value = self._rng.choice(_SETTINGS), str(self._rng.randint(60_000, 1_000_000))
        config = AlterableConfig(name, 0, value)
        asked = IncrementalAlterConfigsRequest([AlterConfigsResource(_TOPIC, facts.name, [config])])

        async def send() -> int:
            client = self._client
            answer = await client.send(client.any_node(), asked, IncrementalAlterConfigsResponse)
            return answer.responses[0].error_code

        def doubt() -> None:
            facts.possible_configs.setdefault(name, set()).add(value)

        await self._until_done(f"sets {name}={value} of {facts.name}", send, doubt)
        facts.configs[name] = value

    async def _grow(self, facts: TopicFacts) -> None:
        count = facts.partitions + 1
        asked = CreatePartitionsRequest(
            [CreatePartitionsTopic(facts.name, count, None)], _TIMEOUT_MS
        )

        async def send() -> int:
            client = self._client
            answer = await client.send(client.any_node(), asked, CreatePartitionsResponse)
            return answer.results[0].error_code

        # A topic cannot have fewer partitions again, and a late request asks for no more.
        await self._until_done(
            f"gives {facts.name} {count} partitions",
            send,
            lambda: None,
            repeated=[ErrorCode.INVALID_PARTITIONS],
        )
        facts.partitions = count

    async def _delete(self, facts: TopicFacts) -> None:
        asked = DeleteTopicsRequest([DeleteTopicState(facts.name)], timeout_ms=_TIMEOUT_MS)

        async def send() -> int:
            client = self._client
            answer = await client.send(client.any_node(), asked, DeleteTopicsResponse)
            return answer.responses[0].error_code

        def doubt() -> None:
            facts.may_be_deleted = True

        await self._until_done(
            f"deletes {facts.name}",
            send,
            doubt,
            repeated=[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        )
        facts.exists = False

    async def _until_done(
        self,
        what: str,
        send: Send,
        doubt: Callable[[], None],
        repeated: Sequence[ErrorCode] = (),
    ) -> None:
        """Send until it is acknowledged; ``repeated`` are the errors that say it was done before.

        ``doubt`` is called when an attempt has no answer.
        """
        client = self._client
        has_doubt = False
        while True:
            try:
                code = ErrorCode(await send())
            except Disconnected:
                has_doubt = True
                doubt()
                await client.back_off()
                continue
            if code in repeated and not has_doubt:
                # The node may have sent it to two controllers, one after the other.
                doubt()
            if code == ErrorCode.NONE or code in repeated:
                client.world.tell(client.name, what)
                return
            if code == ErrorCode.REQUEST_TIMED_OUT:
                has_doubt = True
                doubt()
            elif not code.retriable and code not in _WHILE_BROKERS_ARE_DOWN:
                client.world.surprise(client.name, f"{what}: {code.name}")
                return
            await client.back_off()
