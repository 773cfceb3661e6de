"""The fetch session of a follower: what it names, what it forgets, and what it takes."""

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from moldau.replica.followed_partitions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MOST_NAMED,
    NO_SESSION,
    FollowedPartitions,
    PlannedFetch,
)
from moldau.replica.follower_state import FollowerState, Phase

TOPIC_ID = bytes(range(16))
SESSION = 77


def state(index: int = 0, offset: int = 0, leader_epoch: int = 1) -> FollowerState:
    return FollowerState(TopicPartition("t", index), TOPIC_ID, leader_epoch, offset, -1, 0)


def followed(*states: FollowerState) -> FollowedPartitions:
    made = FollowedPartitions(1000)
    for each in states:
        made.follow(each)
    return made


def named(topics: list[FetchTopic]) -> list[tuple[int, int]]:
    """The partitions of a request, with their offsets."""
    return [(each.partition, each.fetch_offset) for topic in topics for each in topic.partitions]


def forgotten(planned: PlannedFetch) -> list[int]:
    return [index for topic in planned.forgotten for index in topic.partitions]


def answers(*indexes: int, session_id: int = SESSION) -> FetchResponse:
    partitions = [PartitionData(partition_index=index) for index in indexes]
    return FetchResponse(
        session_id=session_id,
        responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=partitions)],
    )


def plan(made: FollowedPartitions, now_ms: int = 0) -> PlannedFetch:
    planned = made.plan(now_ms)
    assert planned is not None
    return planned


def exchange(made: FollowedPartitions, *indexes: int) -> PlannedFetch:
    planned = plan(made)
    made.answered(planned, answers(*indexes))
    return planned


def test_a_session_names_a_partition_once_and_then_only_when_it_changed() -> None:
    first, second = state(0, 5), state(1, 7)
    made = followed(first, second)
    planned = exchange(made)
    assert (planned.session_id, planned.session_epoch) == (NO_SESSION, INITIAL_EPOCH)
    assert named(planned.topics) == [(0, 5), (1, 7)]

    planned = exchange(made)
    assert (planned.session_id, planned.session_epoch) == (SESSION, 1)
    assert planned.topics == []

    second.moved_to(9, 1, 0)
    made.changed(second)
    planned = exchange(made)
    assert planned.session_epoch == 2
    assert named(planned.topics) == [(1, 9)]


def test_a_change_that_was_undone_is_not_named() -> None:
    only = state(0, 5)
    made = followed(only)
    exchange(made)
    for offset in (9, 5):
        only.moved_to(offset, -1, 0)
        made.changed(only)
    assert plan(made).topics == []


def test_a_partition_that_is_not_followed_any_more_is_forgotten_and_takes_no_answer() -> None:
    made = followed(state(0), state(1))
    exchange(made)
    planned = plan(made)
    made.forget(TopicPartition("t", 0))
    assert [each[0].key[1] for each in made.answered(planned, answers(0, 1))] == [1]
    assert forgotten(plan(made)) == [0]
    assert forgotten(plan(made)) == []


def test_a_new_leader_epoch_replaces_what_was_followed_and_the_same_one_changes_nothing() -> None:
    old = state(0, 5, leader_epoch=1)
    made = followed(old)
    planned = plan(made)
    assert not made.follow(state(0, 5, leader_epoch=1))
    new = state(0, 5, leader_epoch=2)
    assert made.follow(new)
    ((found, asked, _),) = made.answered(planned, answers(0))
    # It is judged by what the leader was asked, and that was in the epoch before.
    assert found is new
    assert asked.leader_epoch == 1
    (topic,) = plan(made).topics
    assert topic.partitions[0].current_leader_epoch == 2


def test_an_answer_without_records_keeps_the_last_fetched_epoch() -> None:
    only = state(0, 5)
    only.moved_to(6, 3, 0)
    made = followed(only)
    exchange(made, 0)
    exchange(made, 0)
    made.failed(plan(made), None)
    (topic,) = plan(made).topics
    assert topic.partitions[0].last_fetched_epoch == 3


def test_a_delayed_partition_leaves_the_session_until_its_pause_is_over() -> None:
    first, second = state(0), state(1)
    made = followed(first, second)
    exchange(made)
    made.delay(first, now_ms=100, most_ms=1000)
    assert made.next_due_ms() == 120
    planned = exchange(made)
    assert (forgotten(planned), planned.topics) == ([0], [])
    assert plan(made, 119).topics == []
    assert named(plan(made, 120).topics) == [(0, 0)]
    assert made.next_due_ms() is None


def test_the_pause_of_a_former_epoch_does_not_hold_up_the_next() -> None:
    old = state(0, leader_epoch=1)
    made = followed(old)
    made.delay(old, now_ms=0, most_ms=1000)
    made.follow(state(0, leader_epoch=2))
    assert made.next_due_ms() is None
    assert named(plan(made).topics) == [(0, 0)]


def test_a_pause_that_ended_early_does_not_end_the_next_one() -> None:
    only = state(0)
    made = followed(only)
    made.delay(only, now_ms=0, most_ms=1000)
    made.resume(only)
    made.delay(only, now_ms=10, most_ms=1000)
    assert made.next_due_ms() == 50
    assert made.plan(20) is None


def test_what_was_replaced_does_not_touch_its_successor() -> None:
    old = state(0, leader_epoch=1)
    made = followed(old)
    exchange(made)
    made.follow(state(0, 3, leader_epoch=2))
    made.delay(old, now_ms=0, most_ms=1000)
    made.hold(old, Phase.STOPPED)
    old.phase = Phase.FETCHING
    made.changed(old)
    planned = plan(made)
    assert (named(planned.topics), forgotten(planned)) == ([(0, 3)], [])


def test_a_throttled_partition_waits_as_long_as_the_quota_is_exceeded() -> None:
    first, second = state(0), state(1)
    made = followed(first, second)
    exchange(made)
    made.throttle(first, now_ms=0, excess_ms=100)
    made.delay(second, now_ms=80, most_ms=1000)
    planned = made.plan(100, excess_ms=50)
    assert planned is not None
    # The other one is back before the leader was told to forget it.
    assert (second.phase, forgotten(planned)) == (Phase.FETCHING, [0])
    assert made.next_due_ms() == 150
    assert plan(made, 149).topics == []
    assert named(plan(made, 150).topics) == [(0, 0)]


def test_a_held_partition_is_fetched_again_when_it_resumes() -> None:
    only = state(0)
    made = followed(only)
    exchange(made)
    made.hold(only, Phase.ASKING)
    assert made.plan(0) is None
    made.resume(only)
    assert named(plan(made).topics) == [(0, 0)]
    # One that was replaced meanwhile stays so.
    made.hold(only, Phase.ASKING)
    made.follow(state(0, leader_epoch=2))
    made.resume(only)
    assert only.phase is Phase.ASKING


def test_after_a_lost_connection_everything_is_named_to_a_new_session() -> None:
    made = followed(state(0), state(1))
    exchange(made)
    made.failed(plan(made), None)
    planned = plan(made)
    # The leader closes the old one, whose id is named.
    assert (planned.session_id, planned.session_epoch) == (SESSION, INITIAL_EPOCH)
    assert named(planned.topics) == [(0, 0), (1, 0)]


def test_a_session_that_the_leader_does_not_know_is_not_named_again() -> None:
    made = followed(state(0))
    exchange(made)
    made.failed(plan(made), ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    planned = plan(made)
    assert (planned.session_id, planned.session_epoch) == (NO_SESSION, INITIAL_EPOCH)
    assert named(planned.topics) == [(0, 0)]


def test_a_leader_without_room_for_a_session_is_told_everything_each_time() -> None:
    made = followed(*(state(index) for index in range(MOST_NAMED + 10)))
    made.answered(plan(made), answers(session_id=NO_SESSION))
    for _ in range(2):
        planned = plan(made)
        assert len(named(planned.topics)) == MOST_NAMED + 10
        assert planned.is_complete
        made.answered(planned, answers(session_id=NO_SESSION))


def test_many_partitions_are_named_in_several_requests_that_do_not_wait() -> None:
    made = followed(*(state(index) for index in range(MOST_NAMED + 10)))
    planned = exchange(made)
    assert len(named(planned.topics)) == MOST_NAMED
    assert not planned.is_complete
    planned = exchange(made)
    assert len(named(planned.topics)) == 10
    assert planned.is_complete


def test_what_the_waiting_request_does_not_name_is_fetched_beside_it() -> None:
    made = followed(state(0))
    waiting = plan(made)
    assert made.plan_beside(0) is None
    made.follow(state(1, 4))
    beside = made.plan_beside(0)
    assert beside is not None
    assert (beside.session_id, beside.session_epoch) == (NO_SESSION, FINAL_EPOCH)
    assert named(beside.topics) == [(1, 4)]
    assert len(made.answered(beside, answers(1, session_id=NO_SESSION))) == 1
    # The session goes on as if nothing had been, and has it from its next request on.
    made.answered(waiting, answers())
    planned = plan(made)
    assert planned.session_epoch == 1
    assert named(planned.topics) == [(1, 4)]


def test_answers_for_partitions_that_nobody_asked_for_are_ignored() -> None:
    made = followed(state(0))
    assert made.answered(plan(made), answers(0, 5)) != []
    made.follow(state(5))
    waiting = plan(made)
    made.follow(state(6))
    assert made.answered(waiting, answers(6)) == []


def test_nothing_is_asked_for_when_nothing_is_followed() -> None:
    made = followed(state(0))
    exchange(made)
    made.forget(TopicPartition("t", 0))
    assert made.plan(0) is None
    made.follow(state(1))
    planned = plan(made)
    # A new session, which replaces the one that the leader may still have.
    assert (planned.session_id, planned.session_epoch) == (SESSION, INITIAL_EPOCH)
    assert named(planned.topics) == [(1, 0)]
