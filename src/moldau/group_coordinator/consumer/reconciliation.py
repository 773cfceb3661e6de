"""The next step of one member towards the target assignment (KIP-848).

A member first revokes the partitions that are not in its target, and stays at its epoch until
its heartbeat confirms that. Then it moves to the target epoch and gets the partitions of its
target, except those that others still own; they follow as the others revoke them.

    STABLE ──────────► UNREVOKED_PARTITIONS (has partitions to revoke)
      ▲  ▲                      │
      │  └──────────────────────┤
      └──── UNRELEASED_PARTITIONS (at the target epoch, others have partitions to revoke)
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.member import (
    NOTHING_ASSIGNED,
    STABLE,
    UNKNOWN_STATE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    Assigned,
    ConsumerGroupMember,
    Target,
)
from moldau.group_coordinator.consumer.subscription import ResolvedRegex, subscribed_topics
from moldau.metadata.image import MetadataImage

# Topic id and partitions from the heartbeat; None if it did not report them.
Owned = Sequence[tuple[bytes, Sequence[int]]] | None

# Less than a millisecond.
TOPICS_PER_STEP: Final = 200

T = TypeVar("T")
# Other requests are served between the steps.
NextMember = Generator[None, None, ConsumerGroupMember]


class Reconciliation:
    """One member, its target, and the partitions it reported."""

    def __init__(
        self,
        group: ConsumerGroup,
        member: ConsumerGroupMember,
        target_epoch: int,
        target: Target,
        resolved: Mapping[str, ResolvedRegex],
        owned: Owned,
        image: MetadataImage,
    ) -> None:
        self._group = group
        self._member = member
        self._target_epoch = target_epoch
        self._target = target
        self._resolved = resolved
        self._owned = owned
        self._image = image

    def next_member(self, has_subscription_changed: bool) -> NextMember:
        """The member after its next step, or unchanged if it must wait.

        Raises:
            ApiError: FENCED_MEMBER_EPOCH if a newer version wrote an unknown state.
        """
        member = self._member
        if member.state == STABLE:
            if member.member_epoch != self._target_epoch:
                return (yield from self._next(member.member_epoch))
            return (yield from self._without_unsubscribed()) if has_subscription_changed else member
        if member.state == UNREVOKED_PARTITIONS:
            if self._owns_any(member.pending_revocation):
                if not has_subscription_changed:
                    return member
                return (yield from self._without_unsubscribed())
            return (yield from self._next(member.member_epoch))
        if member.state == UNRELEASED_PARTITIONS:
            return (yield from self._next(member.member_epoch))
        assert member.state == UNKNOWN_STATE
        if self._owned is None or self._owned:
            message = (
                "The consumer group member is in a unknown state. "
                "The member must abandon all its partitions and rejoin."
            )
            raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, message)
        return (yield from self._next(self._target_epoch))

    def _owns_any(self, partitions: Assigned) -> bool:
        if self._owned is None:
            return True
        for topic_id, owned in self._owned:
            asked = partitions.get(topic_id)
            if asked is not None and any(partition in asked for partition in owned):
                return True
        return False

    def _subscribed_ids(self) -> Generator[None, None, dict[bytes, None]]:
        topics = self._image.topics_by_name
        found: dict[bytes, None] = {}
        for some in _slices(subscribed_topics(self._member, self._resolved)):
            for name in some:
                topic = topics.get(name)
                if topic is not None:
                    found[topic.id] = None
            yield
        return found

    def _without_unsubscribed(self) -> NextMember:
        """Revoke partitions of unsubscribed topics at once, before there is a new target."""
        member = self._member
        subscribed = yield from self._subscribed_ids()
        dropped = [topic_id for topic_id in member.assigned if topic_id not in subscribed]
        if not dropped:
            return member
        kept = {
            topic_id: partitions
            for topic_id, partitions in member.assigned.items()
            if topic_id in subscribed
        }
        revoked: dict[bytes, Mapping[int, int]] = dict(member.pending_revocation)
        for topic_id in dropped:
            revoked[topic_id] = {**revoked.get(topic_id, {}), **member.assigned[topic_id]}
        if self._owns_any(revoked):
            return member.moved_to(member.member_epoch, UNREVOKED_PARTITIONS, kept, revoked)
        return member.moved_to(member.member_epoch, member.state, kept, member.pending_revocation)

    def _next(self, epoch: int) -> NextMember:
        member = self._member
        subscribed = yield from self._subscribed_ids()
        kept: dict[bytes, dict[int, int]] = {}
        revoked: dict[bytes, dict[int, int]] = {}
        given: dict[bytes, dict[int, int]] = {}
        is_waiting = False
        topic_ids = {**self._target, **member.assigned}
        for count, topic_id in enumerate(topic_ids, 1):
            if count % TOPICS_PER_STEP == 0:
                yield
            meant = self._target.get(topic_id, ()) if topic_id in subscribed else ()
            has = member.assigned.get(topic_id, {})
            meant_set = set(meant)
            topic_kept = {p: since for p, since in has.items() if p in meant_set}
            if topic_kept:
                kept[topic_id] = topic_kept
            if len(topic_kept) < len(has):
                revoked[topic_id] = {p: since for p, since in has.items() if p not in meant_set}
            # Partitions it was to revoke are still its own, so it may keep them.
            own = member.pending_revocation.get(topic_id, {})
            topic_given: dict[int, int] = {}
            for partition in meant:
                if partition in topic_kept:
                    continue
                if partition not in own and self._group.is_held(topic_id, partition):
                    is_waiting = True
                else:
                    topic_given[partition] = self._target_epoch
            if topic_given:
                given[topic_id] = topic_given
        if revoked and self._owns_any(revoked):
            return member.moved_to(epoch, UNREVOKED_PARTITIONS, kept, revoked)
        for topic_id, partitions in given.items():
            if topic_id in kept:
                kept[topic_id].update(partitions)
            else:
                kept[topic_id] = partitions
        state = UNRELEASED_PARTITIONS if is_waiting else STABLE
        return member.moved_to(self._target_epoch, state, kept, NOTHING_ASSIGNED)


def _slices(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), TOPICS_PER_STEP):
        yield items[begin : begin + TOPICS_PER_STEP]
