"""The same conversation with two brokers, written down so that the two can be compared.

A scenario asks a broker about groups through a ``Talk``, which keeps what was asked and what was
answered as lines of text. What must differ between two brokers is given names on the way: member
ids that a coordinator draws become ``<client 1>``, topic ids become the topics' names. Members,
topics and partitions are written in the order of their text: theirs has no meaning. Everything else
is compared to the letter, messages included.
"""

import itertools
import re
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from moldau.errors import ErrorCode
from moldau.protocol.message import Struct
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.running import WireClient

PATIENCE_S = 120.0
GROUP_RESOURCE = 32
SESSION_SETTING = "consumer.session.timeout.ms"
# The longest that a broker allows. Members of a scenario send heartbeats only where it says so.
LONG_SESSION_MS = 60_000
UNKNOWN_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NOT_YET = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)

_RANDOM_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_CLASSIC_ID = re.compile(rf"([\w.]*)-{_RANDOM_UUID}")

# Why a pattern is not valid is said by a library, and each side has its own.
_REGEX_PROBLEM = re.compile(r"(is not a valid regular expression): .*")
_FIRST_OFFSET = OffsetCommitRequestPartition(0, 0)

Scenario = Callable[["Talk"], None]


def transcripts(ports: Sequence[int], scenario: Scenario) -> list[list[str]]:
    """What was said to each of the brokers."""
    suffix = uuid.uuid4().hex[:6]

    def transcript(port: int) -> list[str]:
        talk = Talk(port, suffix)
        try:
            talk.configure_group(talk.group, {SESSION_SETTING: LONG_SESSION_MS})
            scenario(talk)
        finally:
            talk.close()
        return talk.lines

    # Some answers need a moment: let it pass for all of them at once.
    with ThreadPoolExecutor() as pool:
        return list(pool.map(transcript, ports))


class Talk:
    """One scenario with one broker; groups and topics have names of their own."""

    def __init__(self, port: int, suffix: str) -> None:
        self.lines: list[str] = []
        self.group = f"group-{suffix}"
        self._port = port
        self._suffix = suffix
        self._connections: list[WireClient] = []
        self._names: dict[str, str] = {}
        self._ids: dict[str, bytes] = {}
        self._marks = itertools.count()
        self._client = self.connect()

    def connect(self) -> WireClient:
        client = WireClient(self._port)
        self._connections.append(client)
        return client

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    # --- asking

    def ask(self, request: Any, version: int, client: WireClient | None = None) -> Any:
        """Send, wait for the answer, write both down, and give the answer."""
        response = (client or self._client).send(request, version, "compat")
        self._note(request, version, response)
        return response

    def ask_for_id(self, request: Any, version: int) -> Any:
        """Ask, and call the id in the answer by a name: nothing else tells that it is an id."""
        response = self._client.send(request, version, "compat")
        self._names[response.member_id] = f"<drawn {len(self._names)}>"
        self._note(request, version, response)
        return response

    def post(self, client: WireClient, request: Any, version: int) -> None:
        """Send on a connection of its own; ``hear`` has the answer."""
        client.post(request, version, "compat")

    def hear(self, client: WireClient, request: Any, version: int) -> Any:
        response = client.receive(request.API_KEY, version)
        self._note(request, version, response)
        return response

    def ask_until(self, request: Any, version: int, holds: Callable[[Any], bool]) -> Any:
        """Ask in silence until the answer is as it should be, and write that one down."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds(response := self._client.send(request, version, "compat")):
            assert time.monotonic() < deadline, response
            time.sleep(0.05)
        self._note(request, version, response)
        return response

    def _note(self, request: Any, version: int, response: Any) -> None:
        self.lines.append(f"{self._text(request)} v{version}")
        self.lines.append(f"  {self._text(response)}")

    def _text(self, value: object) -> str:
        if isinstance(value, Struct):
            said = [f"{name}={self._text(getattr(value, name))}" for name in value.FIELDS]
            return f"{type(value).__name__}({', '.join(said)})"
        if isinstance(value, list):
            return f"[{', '.join(sorted(self._text(each) for each in value))}]"
        return self._anonymous(repr(value))

    def _anonymous(self, text: str) -> str:
        for real, name in self._names.items():
            text = text.replace(real, name)
        text = _REGEX_PROBLEM.sub(r"\1", text)
        return _CLASSIC_ID.sub(self._member_name, text)

    def _member_name(self, found: "re.Match[str]") -> str:
        count = sum(name.startswith(f"<{found[1]} ") for name in self._names.values())
        return self._names.setdefault(found[0], f"<{found[1]} {count + 1}>")

    # --- what scenarios begin with

    def without_waits(self) -> None:
        """No answer depends on the clock: a change is assigned at once, nobody is too slow."""
        settings = {"consumer.assignment.interval.ms": 0, SESSION_SETTING: LONG_SESSION_MS}
        self.configure_group(self.group, settings)

    def configure_group(self, group: str, settings: dict[str, int]) -> None:
        """Change settings of a group, and wait until its coordinator knows them."""
        self._alter_group(group, settings)
        self._wait_until_published()

    def _alter_group(self, group: str, settings: dict[str, int]) -> None:
        """Change settings of a group, and wait until the broker shows them."""
        changes = [AlterableConfig(name, 0, str(value)) for name, value in settings.items()]
        resource = AlterConfigsResource(GROUP_RESOURCE, group, changes)
        altered = self._client.send(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert altered.responses[0].error_code == 0, altered
        wanted = DescribeConfigsResource(GROUP_RESOURCE, group, list(settings))
        look = DescribeConfigsRequest(resources=[wanted])
        expected = {name: str(value) for name, value in settings.items()}
        deadline = time.monotonic() + PATIENCE_S
        while True:
            (found,) = self._client.send(look, 4).results
            if {each.name: each.value for each in found.configs} == expected:
                return
            assert time.monotonic() < deadline, found
            time.sleep(0.01)

    def _wait_until_published(self) -> None:
        """Until the coordinators know all that the broker shows now.

        A broker of Apache's publishes one change of the metadata after the other: first to those
        who show it, last to its coordinators. So they know a change as soon as the next is shown.
        """
        value = LONG_SESSION_MS - 1 - next(self._marks)
        self._alter_group(f"{self.group}-mark", {SESSION_SETTING: value})

    def coordinator(self, group: str | None = None) -> None:
        """Have the offsets topic made, and wait until the group's coordinator is at work."""
        key = self.group if group is None else group
        find = FindCoordinatorRequest(coordinator_keys=[key])
        fetch = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=key, topics=None)])
        deadline = time.monotonic() + PATIENCE_S
        while (
            self._client.send(find, 6).coordinators[0].error_code
            or self._client.send(fetch, 9).groups[0].error_code in NOT_YET
        ):
            assert time.monotonic() < deadline, "there is no coordinator"
            time.sleep(0.05)

    def topic(self, name: str, partitions: int = 3) -> str:
        """Create a topic; its id is called by its name from now on."""
        full_name = f"{name}-{self._suffix}"
        topic = CreatableTopic(name=full_name, num_partitions=partitions, replication_factor=1)
        (created,) = self._client.send(CreateTopicsRequest(topics=[topic]), 7).topics
        assert created.error_code == 0, created
        self._names[repr(created.topic_id)] = f"<{name}>"
        self._ids[full_name] = created.topic_id
        # Its leader is known a little later than its name.
        ask = OffsetCommitRequest(
            group_id=f"{self.group}-probe",
            topics=[OffsetCommitRequestTopic(full_name, bytes(16), [_FIRST_OFFSET])],
        )
        deadline = time.monotonic() + PATIENCE_S
        while self._client.send(ask, 9).topics[0].partitions[0].error_code == UNKNOWN_TOPIC:
            assert time.monotonic() < deadline, f"{full_name} does not come into being"
            time.sleep(0.02)
        self._wait_until_published()
        return full_name

    def topic_id(self, topic: str) -> bytes:
        return self._ids[topic]

    def pause(self, duration_s: float) -> None:
        """Let the brokers' clocks go on, where an answer depends on them."""
        time.sleep(duration_s)

    def delete_topic(self, topic: str) -> None:
        request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000)
        self._client.send(request, 5)
