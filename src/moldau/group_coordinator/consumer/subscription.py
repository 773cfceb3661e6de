"""Subscriptions of a group: by topic name, or by a pattern that the broker resolves.

Patterns use RE2 syntax (KIP-848) and must match the whole topic name. A resolved pattern is written
to the log with the offset of the metadata image it was resolved on, so that after a restart the
coordinator knows which topics are new.
"""

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Final, NamedTuple

from moldau.coordinator.patterns import compile_pattern
from moldau.group_coordinator.consumer.member import ConsumerGroupMember
from moldau.metadata.image import MetadataImage, TopicImage

# A fraction of a millisecond.
NAMES_PER_STEP: Final = 100
REMEMBERED_PATTERNS: Final = 20
# Compiling a pattern takes as long as matching this many names.
COMPILING: Final = 20
# Of topics that come or go.
REMEMBERED_CHANGES: Final = 1_000


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
    """Finds the topics that patterns match.

    What was found for an earlier image is the basis of what is found for the next one: only topics
    that came or went in between are looked at. A group brings along what is stored of its patterns;
    the last patterns of others are remembered.
    """

    def __init__(self) -> None:
        self._topics: Mapping[str, TopicImage] | None = None
        self._offset = -1
        # The names that came or went, and at which offsets, in order; complete from an offset on.
        self._changed_names: list[str] = []
        self._changed_at: list[int] = []
        self._complete_from = -1
        self._known: dict[str, ResolvedRegex] = {}

    def finding(
        self, regex: str, image: MetadataImage, resolved: ResolvedRegex | None = None
    ) -> Generator[None, None, tuple[str, ...]]:
        """Find the topics that a pattern matches, sorted, in steps.

        They are those of ``image``, or of a later one if that was asked for before. ``resolved`` is
        what a group knows of the pattern.

        Raises:
            ApiError: INVALID_REGULAR_EXPRESSION.
        """
        topics, offset = self._follow(image)
        basis = self._basis(regex, resolved)
        names = sorted(topics) if basis is None else self._changed_since(basis)
        if basis is not None and not names:
            return basis.topics
        match = compile_regex(regex)
        yield
        matched: list[str] = []
        if basis is not None:
            changed = dict.fromkeys(names)
            matched = [name for name in basis.topics if name not in changed]
            names = [name for name in changed if name in topics]
        yield
        for begin in range(0, len(names), NAMES_PER_STEP):
            some = names[begin : begin + NAMES_PER_STEP]
            matched += [name for name in some if match(name) is not None]
            yield
        matched.sort()
        if regex not in self._known and len(self._known) >= REMEMBERED_PATTERNS:
            self._known.clear()
        found = self._known[regex] = ResolvedRegex(tuple(matched), offset, -1)
        return found.topics

    def cost(self, regex: str, image: MetadataImage, resolved: ResolvedRegex | None) -> int:
        """How long ``finding`` would take: as long as to match this many names."""
        topics, _ = self._follow(image)
        basis = self._basis(regex, resolved)
        if basis is None:
            return COMPILING + len(topics)
        count = len(self._changed_since(basis))
        return count and COMPILING + count

    def _follow(self, image: MetadataImage) -> tuple[Mapping[str, TopicImage], int]:
        """Note which topics came or went since the last image; the topics and offset of the latest.

        What happened between two images cannot be told for one in the middle.
        """
        topics, offset = image.topics_by_name, image.offset
        if self._topics is not None and (topics is self._topics or offset < self._offset):
            return self._topics, self._offset
        if self._topics is None:
            self._complete_from = offset
        else:
            self._changed_names += sorted(self._topics.keys() ^ topics.keys())
            self._changed_at += [offset] * (len(self._changed_names) - len(self._changed_at))
            dropped = len(self._changed_names) - REMEMBERED_CHANGES
            if dropped > 0:
                self._complete_from = self._changed_at[dropped - 1]
                del self._changed_names[:dropped], self._changed_at[:dropped]
        self._topics, self._offset = topics, offset
        return topics, offset

    def _basis(self, regex: str, resolved: ResolvedRegex | None) -> ResolvedRegex | None:
        """The latest that is known of a pattern, if all changes since are known as well."""
        known = self._known.get(regex)
        if known is None or (resolved is not None and resolved.version > known.version):
            known = resolved
        # What another coordinator has stored may be without the topics that it did not show.
        if known is None or known.version < self._complete_from:
            return None
        return known

    def _changed_since(self, basis: ResolvedRegex) -> list[str]:
        return self._changed_names[bisect_right(self._changed_at, basis.version) :]
