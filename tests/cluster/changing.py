"""Changes the metadata of a cluster through all its brokers, and remembers what was acknowledged.

Each topic is changed by one thread, one request after the other. If a request fails in a way that
leaves its outcome open (a timeout, a lost connection), both outcomes are possible until a later
answer tells; what was acknowledged must be there on every node. A name is used for one topic only.
"""

import random
import threading
from collections.abc import Callable, Sequence
from typing import Final

from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from moldau.errors import ErrorCode
from tests.cluster.admins import TIMEOUT_S, MetadataAdmin
from tests.compat.clients.base import ClientError

SETTING: Final = "retention.ms"
# After these, and after none, the outcome is open: the next attempt tells.
_OPEN_OUTCOMES: Final = (
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    # Of a broker that has not caught up with the creation.
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class TopicStory:
    """The acknowledged facts of one topic, and what else is possible."""

    def __init__(self, name: str, partitions: int) -> None:
        self.name = name
        self.partitions = partitions
        self.may_exist = False
        self.must_exist = False
        # Values of the setting that it may have; None if it was never set.
        self.values: list[str | None] = [None]


class Changer(threading.Thread):
    """Creates, alters and deletes topics until it is stopped."""

    def __init__(self, name: str, admins: Sequence[MetadataAdmin], seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.stories: list[TopicStory] = []
        self.acknowledged = 0
        self.unknown = 0
        self.problems: list[str] = []
        self._rng = random.Random(seed)
        self._admins = admins
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._change()
        except Exception as error:
            self.problems.append(f"{self.name}: {error!r}")

    def _change(self) -> None:
        dice = self._rng.random()
        living = [story for story in self.stories if story.must_exist]
        if dice < 0.4 or not living:
            self._create_topic()
        elif dice < 0.8:
            self._alter_topic(self._rng.choice(living))
        else:
            self._delete_topic(self._rng.choice(living))

    def _create_topic(self) -> None:
        story = TopicStory(f"{self.name}-{len(self.stories)}", self._rng.randint(1, 4))
        self.stories.append(story)
        story.may_exist = True
        story.must_exist = self._is_done(
            lambda admin: admin.create_topic(story.name, story.partitions),
            ErrorCode.TOPIC_ALREADY_EXISTS,
        )

    def _alter_topic(self, story: TopicStory) -> None:
        value = str(self._rng.randint(1_000_000, 9_000_000))
        story.values.append(value)
        if self._is_done(lambda admin: admin.set_topic_config(story.name, {SETTING: value})):
            story.values = [value]

    def _delete_topic(self, story: TopicStory) -> None:
        story.must_exist = False
        story.may_exist = not self._is_done(
            lambda admin: admin.delete_topic(story.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )

    def _is_done(
        self, change: Callable[[MetadataAdmin], None], done_before: ErrorCode | None = None
    ) -> bool:
        """Attempt a change until it is acknowledged; False if that has not happened in time.

        ``done_before`` tells that an earlier attempt, of which the answer was lost, has done it:
        one of ours, or of the broker, which asks the next controller when it loses one.
        """
        while not self._stopping.is_set():
            try:
                change(self._rng.choice(self._admins))
            except ClientError as error:
                if error.code != done_before:
                    self.unknown += 1
                    if error.code > 0 and error.code not in _OPEN_OUTCOMES:
                        self.problems.append(f"{self.name}: {error}")
                    continue
            self.acknowledged += 1
            return True
        return False


def differences(address: str, stories: Sequence[TopicStory]) -> list[str]:
    """What a broker says that contradicts the acknowledged changes."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    topics = admin.list_topics(timeout=TIMEOUT_S).topics
    partitions = {name: len(topic.partitions) for name, topic in topics.items()}
    present = [story for story in stories if story.must_exist and story.name in partitions]
    values = _values(admin, present)
    return [f"{address}: {each}" for each in contradictions(stories, partitions, values)]


def contradictions(
    stories: Sequence[TopicStory], partitions: dict[str, int], values: dict[str, str | None]
) -> list[str]:
    """What is wrong with topics, by name their number of partitions and value of the setting."""
    found = []
    for story in stories:
        name = story.name
        if name not in partitions:
            if story.must_exist:
                found.append(f"{name} is missing")
        elif not story.may_exist:
            found.append(f"{name} is there, but was deleted")
        elif partitions[name] != story.partitions:
            found.append(f"{name} has {partitions[name]} partitions, not {story.partitions}")
        elif story.must_exist and values.get(name) not in story.values:
            found.append(f"{name} has {SETTING}={values.get(name)}, not {story.values}")
    return found


def _values(admin: AdminClient, stories: Sequence[TopicStory]) -> dict[str, str | None]:
    resources = [ConfigResource(ResourceType.TOPIC, story.name) for story in stories]
    found = {}
    described = admin.describe_configs(resources) if resources else {}
    for resource, future in described.items():
        entry = future.result(TIMEOUT_S)[SETTING]
        found[resource.name] = None if entry.is_default else entry.value
    return found
