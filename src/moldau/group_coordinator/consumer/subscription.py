"""Subscriptions of a group: by topic name, or by a pattern that the broker resolves.

Patterns use RE2 syntax (KIP-848) and must match the whole topic name. A resolved pattern is written
to the log with the offset of the metadata image it was resolved on, so that after a restart the
coordinator knows which topics are new.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Final, NamedTuple

from moldau.coordinator.patterns import compile_pattern
from moldau.group_coordinator.consumer.member import ConsumerGroupMember
from moldau.metadata.image import MetadataImage, TopicImage

# A fraction of a millisecond.
NAMES_PER_STEP: Final = 100
REMEMBERED_PATTERNS: Final = 20


class ResolvedRegex(NamedTuple):
    """The sorted topics that a pattern matched, with the time and the image offset."""

    topics: tuple[str, ...]
    version: int
    timestamp_ms: int


class Subscriptions(NamedTuple):
    """The subscriptions of all members of a group."""

    # Topic -> members that subscribe to it by name.
    by_name: Mapping[str, int]
    # Topic -> patterns (not members) that match it.
    by_regex: Mapping[str, int]
    # Pattern -> members that use it.
    regexes: Mapping[str, int]
    # Whether every member is subscribed to the same topics.
    is_homogeneous: bool

    @property
    def topics(self) -> list[str]:
        return sorted({**self.by_name, **self.by_regex})

    def has_topic(self, topic: str) -> bool:
        return topic in self.by_name or topic in self.by_regex

    def has_any(self, topics: Mapping[str, None]) -> bool:
        """Whether one of these topics is subscribed to: as fast as the smaller set allows."""
        names = topics.keys()
        return not (
            names.isdisjoint(self.by_name.keys()) and names.isdisjoint(self.by_regex.keys())
        )


NO_SUBSCRIPTIONS: Final = Subscriptions({}, {}, {}, True)


def subscriptions_of(
    members: Iterable[ConsumerGroupMember], resolved: Mapping[str, ResolvedRegex]
) -> Subscriptions:
    by_name: dict[str, int] = {}
    by_regex: dict[str, int] = {}
    regexes: dict[str, int] = {}
    count = 0
    for member in members:
        count += 1
        for topic in member.subscribed_topic_names:
            by_name[topic] = by_name.get(topic, 0) + 1
        regex = member.subscribed_topic_regex
        if regex:
            regexes[regex] = regexes.get(regex, 0) + 1
    for regex in regexes:
        found = resolved.get(regex)
        for topic in () if found is None else found.topics:
            by_regex[topic] = by_regex.get(topic, 0) + 1
    if not regexes:
        is_homogeneous = all(times == count for times in by_name.values())
    else:
        is_homogeneous = not by_name and len(regexes) == 1 and count in regexes.values()
    return Subscriptions(by_name, by_regex, regexes, is_homogeneous)


def subscribed_topics(
    member: ConsumerGroupMember, resolved: Mapping[str, ResolvedRegex]
) -> tuple[str, ...]:
    """The topics of a member; an unresolved pattern matches nothing."""
    names = member.subscribed_topic_names
    found = resolved.get(member.subscribed_topic_regex) if member.subscribed_topic_regex else None
    if found is None:
        return names
    if not names:
        return found.topics
    return tuple(dict.fromkeys(names + found.topics))


def compile_regex(regex: str) -> Callable[[str], object | None]:
    """A function that matches whole names. Raises ApiError INVALID_REGULAR_EXPRESSION."""
    return compile_pattern("SubscribedTopicRegex", regex)


class TopicMatches:
    """The topics that patterns match, remembered as long as no topic comes or goes."""

    def __init__(self) -> None:
        self._topics: Mapping[str, TopicImage] | None = None
        self._known: dict[str, tuple[str, ...]] = {}

    def finding(self, regex: str, image: MetadataImage) -> Generator[None, None, tuple[str, ...]]:
        """Find the topics that a pattern matches, sorted, in steps.

        Raises:
            ApiError: INVALID_REGULAR_EXPRESSION.
        """
        if image.topics_by_name is self._topics and regex in self._known:
            return self._known[regex]
        match = compile_regex(regex)
        yield
        names = sorted(image.topics_by_name)
        yield
        matched: list[str] = []
        for begin in range(0, len(names), NAMES_PER_STEP):
            some = names[begin : begin + NAMES_PER_STEP]
            matched += [name for name in some if match(name) is not None]
            yield
        if image.topics_by_name is not self._topics:
            self._topics = image.topics_by_name
            self._known.clear()
        elif len(self._known) >= REMEMBERED_PATTERNS:
            self._known.clear()
        found = self._known[regex] = tuple(matched)
        return found
