"""One question to two brokers, and what they say as text that can be compared.

What must differ between two brokers gets a name: topic ids become the topic's name, ports and
times of the clock a word. The order of topics, partitions and the like has no meaning to a
client (Apache Kafka takes it from hash tables), so lists are written in the order of their text.
Messages are compared only where ``with_messages`` asks for it: what clients act on is the code.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from moldau.errors import ErrorCode
from moldau.protocol.message import Struct
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.running import WireClient

PATIENCE_S = 120.0
LATEST = -1
MESSAGES = frozenset(("error_message", "batch_index_error_message"))
CLOSED = "(connection closed)"

Question = Any | Callable[["Side"], Any]


class Side:
    """One of the brokers."""

    def __init__(self, port: int) -> None:
        self.client = WireClient(port)
        self._port = port
        self._ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}

    def create(self, name: str, partitions: int, settings: dict[str, str]) -> None:
        """Create a topic and wait until it has leaders."""
        configs = [CreatableTopicConfig(name=key, value=text) for key, text in settings.items()]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1, configs=configs
        )
        (created,) = self.client.send(CreateTopicsRequest(topics=[topic]), 7).topics
        assert created.error_code == 0, created
        self._ids[name] = created.topic_id
        self._names[created.topic_id] = f"<id of {name}>"
        # Apache Kafka's partitions begin to lead a little later than metadata says so.
        latest = [ListOffsetsPartition(index, timestamp=LATEST) for index in range(partitions)]
        topics = [ListOffsetsTopic(name=name, partitions=latest)]
        self.wait_for(
            ListOffsetsRequest(replica_id=-1, topics=topics),
            9,
            lambda answer: not any(each.error_code for each in answer.topics[0].partitions),
        )

    def wait_for(self, request: Any, version: int, holds: Callable[[Any], bool]) -> Any:
        """Ask until the answer is as it should be."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds(answer := self.client.send(request, version, "compat")):
            assert time.monotonic() < deadline, answer
            time.sleep(0.02)
        return answer

    def topic_id(self, name: str) -> bytes:
        return self._ids[name]

    def answer(self, request: Any, version: int) -> Any:
        """The answer; None if the broker closed the connection instead."""
        try:
            return self.client.send(request, version, "compat")
        except (ConnectionError, AssertionError):
            self.client.close()
            self.client = WireClient(self._port)
            return None

    def text(self, value: Any, without: frozenset[str], field: str = "") -> str:
        if value is None and not field:
            return CLOSED
        if isinstance(value, Struct):
            fields = [each for each in value.FIELDS if each not in without]
            said = [f"{each}={self.text(getattr(value, each), without, each)}" for each in fields]
            return f"{type(value).__name__}({', '.join(said)})"
        if isinstance(value, list):
            return f"[{', '.join(sorted(self.text(each, without, field) for each in value))}]"
        if isinstance(value, memoryview | bytes):
            return self._names.get(bytes(value), repr(bytes(value)))
        if field == "port":
            return "<port>"
        if field == "error_code":
            return ErrorCode(int(value)).name
        return repr(value)


class Both:
    """Apache Kafka and the broker under test."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.sides = [Side(port) for port in ports]

    def close(self) -> None:
        for side in self.sides:
            side.client.close()

    def create(self, name: str, partitions: int = 1, **settings: str) -> None:
        dotted = {key.replace("_", "."): text for key, text in settings.items()}
        for side in self.sides:
            side.create(name, partitions, dotted)

    def same(
        self, question: Question, version: int, *without: str, with_messages: bool = False
    ) -> str:
        """Ask both; their answers must read the same, but for the fields named."""
        left_out = frozenset(without) if with_messages else MESSAGES | frozenset(without)
        texts = []
        for side in self.sides:
            request = question if isinstance(question, Struct) else question(side)
            texts.append(side.text(side.answer(request, version), left_out))
        theirs, ours = texts
        assert ours == theirs, f"version {version}\nApache Kafka {theirs}\nthis broker  {ours}"
        return ours

    def each(self, ask: Callable[[Side], Any]) -> list[Any]:
        """What ``ask`` gives for each side, where the answers are needed for the next question."""
        return [ask(side) for side in self.sides]
