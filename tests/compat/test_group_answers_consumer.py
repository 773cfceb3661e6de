"""Groups of KIP-848, and classic ones that become such: answers compared with Apache Kafka's."""

from typing import Any

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.list_groups import ListGroupsRequest
from tests.compat.group_requests import (
    assignment,
    beat_request,
    commit_request,
    delete_offsets,
    enter,
    fetch_many,
    join_request,
    joining_beat,
    owned,
    settle,
    subscription,
    sync_request,
)
from tests.compat.group_talk import Scenario, Talk, transcripts


def heartbeats_that_make_no_sense(talk: Talk) -> None:
    talk.coordinator()
    group = talk.group
    for version in (0, 1):
        talk.ask(joining_beat("", "m", ["t"]), version)
        talk.ask(joining_beat("  ", "m", ["t"]), version)
        talk.ask(joining_beat(group, "", ["t"]), 1)
        talk.ask(joining_beat(group, " ", ["t"]), 1)
        talk.ask(beat_request(group, "", 1), version)
        talk.ask(beat_request(group, "", -1), version)
        talk.ask(beat_request(group, "", -2), version)
        talk.ask(joining_beat(group, "m", ["t"], instance_id=""), version)
        talk.ask(joining_beat(group, "m", ["t"], rack_id=""), version)
        talk.ask(joining_beat(group, "m", ["t"], rebalance_timeout_ms=-1), version)
        talk.ask(joining_beat(group, "m", ["t"], server_assignor="mine"), version)
        talk.ask(joining_beat(group, "m", ["t"], server_assignor=""), version)
        talk.ask(beat_request(group, "m", 0, rebalance_timeout_ms=1), version)
        some = owned(b"t" * 16, 0)
        with_some = {"rebalance_timeout_ms": 1, "topic_partitions": some}
        talk.ask(beat_request(group, "m", 0, subscribed_topic_names=["t"], **with_some), version)
        nothing = {"rebalance_timeout_ms": 1, "topic_partitions": []}
        talk.ask(beat_request(group, "m", 0, **nothing), version)
        talk.ask(beat_request(group, "m", -2), version)
        talk.ask(beat_request(group, "m", -3), version)
        for epoch in (1, 7, -1):
            talk.ask(beat_request(group, "m", epoch), version)
        talk.ask(beat_request(group, "m", -2, instance_id="i"), version)
    broken = joining_beat(group, "m", [], subscribed_topic_regex="(")
    talk.ask(broken, 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)


def one_member_lives_and_leaves(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    group, topic_id = talk.group, talk.topic_id(topic)
    joined = talk.ask(joining_beat(group, "m", [topic]), 1)
    epoch = joined.member_epoch
    talk.ask(ConsumerGroupDescribeRequest([group], True), 1)
    talk.ask(beat_request(group, "m", epoch), 1)
    talk.ask(beat_request(group, "m", epoch, topic_partitions=owned(topic_id, 0, 1, 2)), 1)
    everything = {
        "rebalance_timeout_ms": 30_000,
        "subscribed_topic_names": [topic],
        "topic_partitions": owned(topic_id, 0, 1, 2),
    }
    talk.ask(beat_request(group, "m", epoch, **everything), 1)
    for bad in (epoch - 1, epoch + 1, 99):
        talk.ask(beat_request(group, "m", bad), 1)
        talk.ask(beat_request(group, "m", bad, topic_partitions=owned(topic_id, 0)), 1)
        talk.ask(beat_request(group, "m", bad, topic_partitions=[]), 1)
    talk.ask(beat_request(group, "stranger", epoch), 1)
    talk.ask(beat_request(group, "stranger", -1), 1)
    talk.ask(beat_request(group, "m", epoch, instance_id="i"), 1)
    talk.ask(beat_request(group, "m", epoch, server_assignor="range"), 1)
    talk.ask(beat_request(group, "m", epoch, rack_id="r"), 1)
    # It begins anew without having left.
    again = talk.ask(joining_beat(group, "m", [topic]), 1)
    talk.ask(beat_request(group, "m", again.member_epoch), 1)
    talk.ask(beat_request(group, "m", again.member_epoch, subscribed_topic_names=[]), 1)
    talk.ask(beat_request(group, "m", again.member_epoch + 1, topic_partitions=[]), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(beat_request(group, "m", -1), 1)
    talk.ask(beat_request(group, "m", -1), 1)
    talk.ask(beat_request(group, "m", again.member_epoch), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(ConsumerGroupDescribeRequest([group, "nobody's", ""]), 0)
    talk.ask(DescribeGroupsRequest([group]), 6)
    talk.ask(DescribeGroupsRequest([group]), 5)


def ids_are_given_out_to_old_clients(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    joined = talk.ask_for_id(joining_beat(talk.group, "", [topic]), 0)
    talk.ask(beat_request(talk.group, joined.member_id, joined.member_epoch), 0)
    talk.ask(beat_request(talk.group, joined.member_id, -1), 0)


def two_members_come_to_share(talk: Talk) -> None:
    topic = talk.topic("t", 4)
    talk.coordinator()
    talk.without_waits()
    group, topic_id = talk.group, talk.topic_id(topic)
    one = talk.ask(joining_beat(group, "one", [topic]), 1)
    talk.ask(joining_beat(group, "two", [topic]), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    all_four = owned(topic_id, 0, 1, 2, 3)
    told = talk.ask(beat_request(group, "one", one.member_epoch, topic_partitions=all_four), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(beat_request(group, "two", told.member_epoch + 1, topic_partitions=[]), 1)
    (kept,) = told.assignment.topic_partitions
    mine = owned(topic_id, *kept.partitions)
    given = talk.ask(beat_request(group, "one", told.member_epoch, topic_partitions=mine), 1)
    # A response may be lost: the epoch before is good with nothing that is not its own.
    talk.ask(beat_request(group, "one", told.member_epoch, topic_partitions=mine), 1)
    talk.ask(beat_request(group, "one", told.member_epoch, topic_partitions=all_four), 1)
    two = talk.ask(beat_request(group, "two", given.member_epoch, topic_partitions=[]), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    theirs = two.assignment.topic_partitions
    talk.ask(beat_request(group, "two", two.member_epoch, topic_partitions=theirs), 1)
    # The other one goes, and its partitions follow.
    talk.ask(beat_request(group, "one", -1), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(beat_request(group, "two", two.member_epoch, topic_partitions=theirs), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)


def assignors_are_voted_on(talk: Talk) -> None:
    topics = [talk.topic("a", 3), talk.topic("b", 3)]
    talk.coordinator()
    for assignors in (("range", "range"), ("uniform", "range"), ("range", None)):
        group = f"{talk.group}-{'-'.join(map(str, assignors))}"
        for member, assignor in zip(("one", "two"), assignors, strict=True):
            talk.ask(joining_beat(group, member, topics, server_assignor=assignor), 1)
        talk.ask(ConsumerGroupDescribeRequest([group]), 1)


def static_members(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    group, topic_id = talk.group, talk.topic_id(topic)
    static = {"instance_id": "i"}
    one = talk.ask(joining_beat(group, "one", [topic], **static), 1)
    epoch = one.member_epoch
    # Somebody else with the same instance id, while the first is there.
    talk.ask(joining_beat(group, "two", [topic], **static), 1)
    talk.ask(beat_request(group, "two", epoch, **static), 1)
    talk.ask(beat_request(group, "two", -2, **static), 1)
    talk.ask(beat_request(group, "two", -1, **static), 1)
    talk.ask(beat_request(group, "one", epoch, instance_id="j"), 1)
    talk.ask(beat_request(group, "one", -2, instance_id="j"), 1)
    # It joins again without having left.
    talk.ask(joining_beat(group, "one", [topic], **static), 1)
    talk.ask(beat_request(group, "one", -2, **static), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(beat_request(group, "one", epoch, **static), 1)
    commit = {"member_id": "one", "generation_id_or_member_epoch": epoch}
    talk.ask(commit_request(group, {(topic, 0): 1}, group_instance_id="i", **commit), 9)
    back = talk.ask(joining_beat(group, "two", [topic], **static), 1)
    talk.ask(beat_request(group, "one", epoch, **static), 1)
    talk.ask(beat_request(group, "one", -2, **static), 1)
    talk.ask(commit_request(group, {(topic, 0): 1}, group_instance_id="i", **commit), 9)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    mine = owned(topic_id, 0, 1, 2)
    talk.ask(beat_request(group, "two", back.member_epoch, topic_partitions=mine, **static), 1)
    # With another subscription when it comes back.
    other = talk.topic("other")
    talk.ask(beat_request(group, "two", -2, **static), 1)
    talk.ask(joining_beat(group, "three", [other], **static), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(beat_request(group, "three", -1, **static), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)


def commits_and_fetches_with_epochs(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    group = talk.group
    ids = {topic: talk.topic_id(topic)}
    some = {(topic, 0): 5}
    joined = talk.ask(joining_beat(group, "m", [topic]), 1)
    epoch = joined.member_epoch
    for version in range(2, 11):
        for member, generation in (("m", epoch), ("m", epoch + 1), ("x", epoch), ("m", -1)):
            who = {"member_id": member, "generation_id_or_member_epoch": generation}
            talk.ask(commit_request(group, some, ids=ids, **who), version)
        old = {"member_id": "m", "generation_id_or_member_epoch": epoch - 1}
        talk.ask(commit_request(group, some, ids=ids, **old), version)
        talk.ask(commit_request(group, some, ids=ids), version)
        talk.ask(commit_request(group, {**some, ("absent", 0): 1}, ids=ids, **old), version)
    for version in (9, 10):
        for member, member_epoch in (
            ("m", epoch),
            ("m", epoch + 1),
            ("m", epoch - 1),
            ("m", -1),
            ("x", epoch),
            ("", epoch),
            ("", -1),
            (None, -1),
        ):
            named = [(group, member, member_epoch)]
            talk.ask(fetch_many(named, {topic: [0, 1]}, ids), version)
            talk.ask(fetch_many(named, None), version)
    talk.ask(delete_offsets(group, topic, 0), 0)
    talk.ask(DeleteGroupsRequest([group]), 2)
    talk.ask(beat_request(group, "m", -1), 1)
    for version in (8, 9, 10):
        talk.ask(commit_request(group, some, ids=ids), version)
        talk.ask(commit_request(group, some, ids=ids, member_id="m"), version)
        who = {"member_id": "m", "generation_id_or_member_epoch": epoch}
        talk.ask(commit_request(group, some, ids=ids, **who), version)
    for member, member_epoch in (("m", epoch), ("", -1), (None, -1), ("m", -1)):
        talk.ask(fetch_many([(group, member, member_epoch)], {topic: [0]}, ids), 9)
    talk.ask(delete_offsets(group, topic, 0), 0)
    talk.ask(DeleteGroupsRequest([group]), 2)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)


def subscriptions_change(talk: Talk) -> None:
    one, two = talk.topic("one"), talk.topic("two")
    talk.coordinator()
    talk.without_waits()
    group = talk.group
    joined = talk.ask(joining_beat(group, "m", [one]), 1)
    epoch = joined.member_epoch
    first = owned(talk.topic_id(one), 0, 1, 2)
    changed = {"subscribed_topic_names": [two], "topic_partitions": first}
    talk.ask(beat_request(group, "m", epoch, **changed), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    moved = talk.ask(beat_request(group, "m", epoch, topic_partitions=[]), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    both = {"subscribed_topic_names": [one, two, "absent", two]}
    talk.ask(beat_request(group, "m", moved.member_epoch, **both), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)


def a_topic_is_deleted_under_a_group(talk: Talk) -> None:
    one, two = talk.topic("one"), talk.topic("two")
    talk.coordinator()
    group = talk.group
    joined = talk.ask(joining_beat(group, "m", [one, two]), 1)
    talk.delete_topic(one)
    look = ConsumerGroupDescribeRequest([group])
    talk.ask_until(look, 1, lambda answer: one not in str(answer.groups[0].members[0].assignment))
    talk.pause(1.1)
    beat = beat_request(group, "m", joined.member_epoch)
    talk.ask_until(beat, 1, lambda answer: answer.assignment is not None)
    talk.ask(look, 1)


def classic_requests_to_a_consumer_group(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    group = talk.group
    talk.ask(joining_beat(group, "m", [topic]), 1)
    for version in range(10):
        talk.ask(join_request(group, protocol_type="connect"), version)
        talk.ask(join_request(group, protocols={}), version)
        talk.ask(join_request(group, session_timeout_ms=1), version)
    for version in range(6):
        talk.ask(sync_request(group, "m", 1), version)
        talk.ask(sync_request(group, "x", 1), version)
    for version in range(5):
        talk.ask(HeartbeatRequest(group, 1, "m"), version)
        talk.ask(HeartbeatRequest(group, 1, "x"), version)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity("x"), MemberIdentity("", "i")]), 5)
    talk.ask(DescribeGroupsRequest([group]), 6)
    # A classic request removes a member of the new protocol too.
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity("m")]), 5)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(sync_request(group, "m", 1), 5)
    talk.ask(HeartbeatRequest(group, 1, "m"), 4)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity("m")]), 5)
    # Nobody is left: it becomes a classic group for whoever comes.
    settle(talk, group, topic)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(DescribeGroupsRequest([group]), 6)


def classic_groups_that_cannot_move(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    beat = joining_beat(talk.group, "m", [topic])

    def attempt(group: str) -> None:
        beat.group_id = group
        talk.ask(beat, 1)
        talk.ask(beat_request(group, "m", 1), 1)
        talk.ask(beat_request(group, "m", -1), 1)
        talk.ask(ConsumerGroupDescribeRequest([group]), 1)

    connect = f"{talk.group}-connect"
    settle(talk, connect, protocol_type="connect")
    attempt(connect)
    broken = f"{talk.group}-broken"
    settle(talk, broken, protocols={"range": b"?"})
    attempt(broken)
    custom = f"{talk.group}-custom"
    joined = enter(talk, custom, protocols={"range": subscription(topic)})
    share = assignment(topic, 0, user_data=b"mine")
    talk.ask(sync_request(custom, joined.member_id, 1, {joined.member_id: share}), 5)
    attempt(custom)
    talk.ask(DescribeGroupsRequest([custom]), 6)


def a_classic_group_moves_and_comes_back(talk: Talk) -> None:
    topic = talk.topic("t", 4)
    talk.coordinator()
    group = talk.group
    ids = {topic: talk.topic_id(topic)}
    protocols = {"range": subscription(topic)}
    joined = enter(talk, group, protocols=protocols)
    classic = joined.member_id
    share = {classic: assignment(topic, 0, 1, 2, 3)}
    talk.ask(sync_request(group, classic, 1, share), 5)
    talk.ask(commit_request(group, {(topic, 0): 5}, ids=ids), 9)
    new = talk.ask(joining_beat(group, "new", [topic]), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(DescribeGroupsRequest([group]), 6)
    listed = talk.connect().send(ListGroupsRequest(), 5).groups
    talk.lines.append(str([each for each in listed if each.group_id == group]))
    # The classic member is told to rejoin, and gives up half.
    talk.ask(HeartbeatRequest(group, 1, classic), 4)
    talk.ask(sync_request(group, classic, 1), 5)
    who: dict[str, Any] = {"member_id": classic, "generation_id_or_member_epoch": 1}
    talk.ask(commit_request(group, {(topic, 0): 6}, ids=ids, **who), 9)
    talk.ask(commit_request(group, {(topic, 0): 6}, ids=ids, **who), 2)
    talk.ask(fetch_many([(group, classic, 1)], {topic: [0]}), 9)
    talk.ask(fetch_many([(group, classic, 2)], {topic: [0]}), 9)
    talk.ask(join_request(group, classic, protocols={"other": b""}), 9)
    talk.ask(join_request(group, classic, protocols=protocols, protocol_type="connect"), 9)
    talk.ask(join_request(group, classic, protocols=protocols, group_instance_id="i"), 9)
    again = talk.ask(join_request(group, classic, protocols=protocols), 9)
    talk.ask(HeartbeatRequest(group, again.generation_id, classic), 4)
    talk.ask(HeartbeatRequest(group, again.generation_id + 1, classic), 4)
    synced = sync_request(group, classic, again.generation_id)
    talk.ask(sync_request(group, classic, again.generation_id + 1), 5)
    talk.ask(sync_request(group, classic, again.generation_id, protocol_name="other"), 5)
    talk.ask(sync_request(group, classic, again.generation_id, protocol_type="connect"), 5)
    talk.ask(synced, 5)
    talk.ask(synced, 0)
    talk.ask(beat_request(group, "new", new.member_epoch, topic_partitions=[]), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    # The last one of the new protocol goes, and the group is classic again.
    talk.ask(beat_request(group, "new", -1), 1)
    look = DescribeGroupsRequest([group])
    talk.ask_until(look, 6, lambda answer: answer.groups[0].group_state == "PreparingRebalance")
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(HeartbeatRequest(group, again.generation_id, classic), 4)
    back = talk.ask(join_request(group, classic, protocols=protocols), 9)
    talk.ask(sync_request(group, classic, back.generation_id, share), 5)
    talk.ask(look, 6)
    talk.ask(fetch_many([(group, None, -1)], None), 9)


def a_classic_member_speaks_the_new_protocol(talk: Talk) -> None:
    """With the id that it has: it goes on as a member of the new kind."""
    topic = talk.topic("t", 4)
    talk.coordinator()
    group = talk.group
    joined = enter(talk, group, protocols={"range": subscription(topic)})
    classic = joined.member_id
    share = {classic: assignment(topic, 0, 1, 2, 3)}
    talk.ask(sync_request(group, classic, 1, share), 5)
    talk.ask(beat_request(group, classic, 1), 1)
    talk.ask(joining_beat(group, classic, [topic]), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(HeartbeatRequest(group, 1, classic), 4)
    talk.ask(HeartbeatRequest(group, 2, classic), 4)
    talk.ask(beat_request(group, classic, -1), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)


def static_members_change_their_protocol(talk: Talk) -> None:
    topic = talk.topic("t", 2)
    talk.coordinator()
    group = talk.group
    static = {"group_instance_id": "i", "protocols": {"range": subscription(topic)}}
    joined = enter(talk, group, **static)
    share = {joined.member_id: assignment(topic, 0, 1)}
    talk.ask(sync_request(group, joined.member_id, 1, share, group_instance_id="i"), 5)
    talk.ask(joining_beat(group, "new", [topic], instance_id="i"), 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(HeartbeatRequest(group, 1, joined.member_id, "i"), 4)
    talk.ask(beat_request(group, "new", 2, instance_id="i"), 1)
    # And back, without having left.
    again = talk.ask_for_id(join_request(group, **static), 9)
    look = DescribeGroupsRequest([group])
    talk.ask_until(look, 6, lambda answer: answer.groups[0].error_code == ErrorCode.NONE)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(beat_request(group, "new", 2, instance_id="i"), 1)
    generation = again.generation_id
    talk.ask(HeartbeatRequest(group, generation, again.member_id, "i"), 4)
    talk.ask(sync_request(group, again.member_id, generation, group_instance_id="i"), 5)


def a_classic_member_joins_a_consumer_group(talk: Talk) -> None:
    topic = talk.topic("t", 4)
    talk.coordinator()
    group, topic_id = talk.group, talk.topic_id(topic)
    new = talk.ask(joining_beat(group, "new", [topic]), 1)
    talk.pause(1.1)
    protocols = {"range": subscription(topic)}
    promised = talk.ask_for_id(join_request(group, protocols=protocols), 9)
    joined = talk.ask(join_request(group, promised.member_id, protocols=protocols), 9)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(sync_request(group, joined.member_id, joined.generation_id), 5)
    kept = beat_request(group, "new", new.member_epoch, topic_partitions=owned(topic_id, 0, 1))
    talk.ask(kept, 1)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)
    talk.ask(HeartbeatRequest(group, joined.generation_id, joined.member_id), 4)
    other = {"roundrobin": subscription(topic)}
    talk.ask(join_request(group, protocols=other), 9)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity(joined.member_id)]), 5)
    talk.ask(ConsumerGroupDescribeRequest([group]), 1)


def patterns(talk: Talk) -> None:
    first = talk.topic("river-a")
    talk.coordinator()
    group = talk.group
    suffix = first.rpartition("-")[2]
    wanted = joining_beat(group, "m", [], subscribed_topic_regex=f"river-.*-{suffix}")
    joined = talk.connect().send(wanted, 1)
    assert joined.error_code == 0
    look = ConsumerGroupDescribeRequest([group])
    talk.pause(1.1)
    beat = beat_request(group, "m", joined.member_epoch)
    deadline_beats = 600
    answer = joined
    while deadline_beats and not (answer.assignment and answer.assignment.topic_partitions):
        answer = talk.connect().send(beat, 1)
        beat = beat_request(group, "m", answer.member_epoch)
        deadline_beats -= 1
        talk.pause(0.2)
    settled = talk.connect().send(look, 1).groups[0]
    (member,) = settled.members
    talk.lines.append(f"{settled.group_state} {member.subscribed_topic_regex[:8]}")
    talk.lines.append(str([t.partitions for t in member.assignment.topic_partitions]))
    for broken in ("[", "a{2,1}", "(?P<x>", "\\Z", "(?=a)"):
        answer = talk.ask(beat_request(group, "m", member.member_epoch), 1)
        epoch = answer.member_epoch
        talk.ask(beat_request(group, "m", epoch, subscribed_topic_regex=broken), 1)


SCENARIOS: list[Scenario] = [
    heartbeats_that_make_no_sense,
    one_member_lives_and_leaves,
    ids_are_given_out_to_old_clients,
    two_members_come_to_share,
    assignors_are_voted_on,
    static_members,
    commits_and_fetches_with_epochs,
    subscriptions_change,
    a_topic_is_deleted_under_a_group,
    classic_requests_to_a_consumer_group,
    classic_groups_that_cannot_move,
    a_classic_group_moves_and_comes_back,
    a_classic_member_speaks_the_new_protocol,
    static_members_change_their_protocol,
    a_classic_member_joins_a_consumer_group,
    patterns,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_both_answer_the_same(scenario: Scenario, group_brokers: list[int]) -> None:
    theirs, ours = transcripts(group_brokers, scenario)
    assert ours == theirs
