"""Classic groups and offsets: asked the same, the broker and Apache Kafka answer the same."""

import time

import pytest

from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
)
from tests.compat.group_requests import (
    commit_request,
    delete_offsets,
    enter,
    fetch_many,
    fetch_one,
    join_request,
    leave_request,
    settle,
    subscription,
    sync_request,
)
from tests.compat.group_talk import Scenario, Talk, transcripts


def a_group_without_a_name(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator("")
    for version in (0, 3, 6):
        keys = {"key": ""} if version < 4 else {"coordinator_keys": ["", "x"]}
        found = talk.connect().send(FindCoordinatorRequest(**keys), version)
        talk.lines.append(str([c.error_code for c in found.coordinators] or found.error_code))
    for version in range(10):
        talk.ask(join_request(""), version)
    for version in range(6):
        talk.ask(sync_request("", "m", 1), version)
        talk.ask(leave_request("", "m", version=version), version)
    for version in range(5):
        talk.ask(HeartbeatRequest("", 1, "m"), version)
    ids = {topic: talk.topic_id(topic)}
    for version in range(2, 11):
        talk.ask(commit_request("", {(topic, 0): version}, ids=ids), version)
    for version in range(1, 8):
        talk.ask(fetch_one("", topic, 0, 1), version)
    for version in range(8, 11):
        talk.ask(fetch_many([("", None, -1)], {topic: [0, 1]}, ids), version)
    for version in range(7):
        talk.ask(DescribeGroupsRequest([""]), version)
    talk.ask(delete_offsets("", topic, 0), 0)
    for version in range(3):
        talk.ask(DeleteGroupsRequest([""]), version)


def joins_that_are_refused(talk: Talk) -> None:
    talk.coordinator()
    group = talk.group
    for version in range(10):
        talk.ask(join_request(group, session_timeout_ms=999), version)
        talk.ask(join_request(group, session_timeout_ms=1_800_001), version)
        talk.ask(join_request(group, protocols={}), version)
        talk.ask(join_request(group, protocol_type=""), version)
        talk.ask(join_request(group, "stranger"), version)
        if version >= 5:
            talk.ask(join_request(group, "stranger", group_instance_id="i"), version)
    joined = settle(talk, group)
    for version in range(10):
        talk.ask(join_request(group, protocols={"other": b""}), version)
        talk.ask(join_request(group, protocol_type="connect"), version)
        talk.ask(join_request(group, "stranger"), version)
        talk.ask(join_request(group, joined.member_id, protocols={"other": b""}), version)
        if version >= 5:
            talk.ask(join_request(group, joined.member_id, group_instance_id="i"), version)
    talk.ask(DescribeGroupsRequest([group]), 6)


def an_id_that_was_promised(talk: Talk) -> None:
    talk.coordinator()
    group = talk.group
    promised = talk.ask(join_request(group), 9)
    look = DescribeGroupsRequest([group])
    talk.ask_until(look, 6, lambda answer: answer.groups[0].group_state == "Empty")
    talk.ask(HeartbeatRequest(group, 0, promised.member_id), 4)
    talk.ask(HeartbeatRequest(group, -1, promised.member_id), 4)
    talk.ask(sync_request(group, promised.member_id, 0), 5)
    talk.ask(commit_request(group, {("t", 0): 1}, member_id=promised.member_id), 9)
    talk.ask(join_request(group, promised.member_id, group_instance_id="i"), 9)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity(promised.member_id)]), 5)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity(promised.member_id)]), 5)
    talk.ask(join_request(group, promised.member_id), 9)
    talk.ask(DescribeGroupsRequest([group]), 6)


def members_in_every_version(talk: Talk) -> None:
    talk.coordinator()
    for version in range(10):
        group = f"{talk.group}-{version}"
        joined = enter(talk, group, version)
        shares = {joined.member_id: b"share"}
        sync = sync_request(group, joined.member_id, joined.generation_id, shares)
        sync_version = min(version, 5)
        talk.ask(sync, sync_version)
        talk.ask(sync, sync_version)
        beat = HeartbeatRequest(group, joined.generation_id, joined.member_id)
        talk.ask(beat, min(version, 4))
        talk.ask(join_request(group, joined.member_id), version)
        talk.ask(beat, min(version, 4))
        talk.ask(DescribeGroupsRequest([group], version > 2), min(version, 6))
        talk.ask(sync, sync_version)
        leave_version = min(version, 5)
        leave = leave_request(group, joined.member_id, version=leave_version)
        talk.ask(leave, leave_version)
        talk.ask(leave, leave_version)
        talk.ask(beat, min(version, 4))
        talk.ask(DescribeGroupsRequest([group]), min(version, 6))


def syncs_and_heartbeats_that_are_refused(talk: Talk) -> None:
    talk.coordinator()
    group = talk.group
    for version in range(6):
        talk.ask(sync_request("nobody's", "m", 1), version)
        talk.ask(HeartbeatRequest("nobody's", 1, "m"), min(version, 4))
    talk.ask(sync_request(group, "m", 1, protocol_type=None), 5)
    talk.ask(sync_request(group, "m", 1, protocol_name=None), 5)
    joined = enter(talk, group)
    member, generation = joined.member_id, joined.generation_id
    talk.ask(HeartbeatRequest(group, generation, member), 4)
    talk.ask(sync_request(group, "stranger", generation), 5)
    talk.ask(sync_request(group, member, generation + 1), 5)
    talk.ask(sync_request(group, member, generation, protocol_type="connect"), 5)
    talk.ask(sync_request(group, member, generation, protocol_name="other"), 5)
    talk.ask(sync_request(group, member, generation, group_instance_id="i"), 5)
    shares = {member: b"mine", "stranger": b"theirs"}
    talk.ask(sync_request(group, member, generation, shares), 5)
    for bad in (generation - 1, generation + 1, -1):
        talk.ask(HeartbeatRequest(group, bad, member), 4)
        talk.ask(sync_request(group, member, bad), 5)
    talk.ask(HeartbeatRequest(group, generation, "stranger"), 4)
    talk.ask(HeartbeatRequest(group, generation, member, "i"), 4)
    talk.ask(LeaveGroupRequest(group, members=[]), 5)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity("stranger")]), 5)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity("", "i")]), 5)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity(member, "i")]), 5)
    twice = [MemberIdentity(member), MemberIdentity("stranger"), MemberIdentity(member)]
    talk.ask(LeaveGroupRequest(group, members=twice), 5)
    talk.ask(LeaveGroupRequest("nobody's", members=[MemberIdentity(member)]), 5)
    talk.ask(LeaveGroupRequest("nobody's", "m"), 2)
    talk.ask(sync_request(group, member, generation + 1), 5)


def a_static_member_comes_back(talk: Talk) -> None:
    talk.coordinator()
    for version in (5, 8, 9):
        group = f"{talk.group}-{version}"
        static = {"group_instance_id": "i", "version": version}
        old = enter(talk, group, **static)
        talk.ask(
            sync_request(group, old.member_id, 1, {old.member_id: b"s"}, group_instance_id="i"), 5
        )
        new = talk.ask(join_request(group, group_instance_id="i"), version)
        talk.ask(sync_request(group, new.member_id, 1, group_instance_id="i"), 5)
        # Whoever used the old id is fenced.
        talk.ask(HeartbeatRequest(group, 1, old.member_id, "i"), 4)
        talk.ask(HeartbeatRequest(group, 1, old.member_id), 4)
        talk.ask(sync_request(group, old.member_id, 1, group_instance_id="i"), 5)
        talk.ask(join_request(group, old.member_id, group_instance_id="i"), version)
        commit = {"member_id": old.member_id, "generation_id_or_member_epoch": 1}
        talk.ask(commit_request(group, {("t", 0): 1}, group_instance_id="i", **commit), 9)
        talk.ask(LeaveGroupRequest(group, members=[MemberIdentity(old.member_id, "i")]), 5)
        talk.ask(HeartbeatRequest(group, 1, new.member_id, "i"), 4)
        talk.ask(DescribeGroupsRequest([group]), 6)
        # It comes back with another subscription, and then as somebody who knows its id.
        other = {"range": subscription("u")}
        third = talk.ask(join_request(group, group_instance_id="i", protocols=other), version)
        talk.ask(DescribeGroupsRequest([group]), 6)
        again = join_request(group, third.member_id, group_instance_id="i", protocols=other)
        talk.ask(again, version)
        talk.ask(LeaveGroupRequest(group, members=[MemberIdentity("", "i")]), 5)
        talk.ask(DescribeGroupsRequest([group]), 6)


def two_members_and_their_leader(talk: Talk) -> None:
    talk.coordinator()
    group = talk.group
    first = enter(talk, group)
    one = first.member_id
    talk.ask(sync_request(group, one, 1, {one: b"all"}), 5)
    connection = talk.connect()
    promised = talk.ask(join_request(group), 9)
    join = join_request(group, promised.member_id)
    talk.post(connection, join, 9)
    beat = HeartbeatRequest(group, 1, one)
    talk.ask_until(beat, 4, lambda answer: answer.error_code != 0)
    talk.ask(DescribeGroupsRequest([group]), 6)
    talk.ask(sync_request(group, one, 1), 5)
    commit = {"member_id": one, "generation_id_or_member_epoch": 1}
    talk.ask(join_request(group, one), 9)
    second = talk.hear(connection, join, 9)
    two = second.member_id
    talk.ask(commit_request(group, {("t", 0): 1}, **commit), 9)
    talk.ask(DescribeGroupsRequest([group]), 6)
    sync = sync_request(group, two, 2)
    talk.post(connection, sync, 5)
    # A follower waits for its leader, who does not know the new member's share.
    talk.ask(sync_request(group, one, 2, {one: b"everything"}), 5)
    talk.hear(connection, sync, 5)
    talk.ask(DescribeGroupsRequest([group]), 6)
    # A follower that joins again with the same subscription gets the same answer.
    talk.ask(join_request(group, two), 9)
    talk.ask(HeartbeatRequest(group, 2, two), 4)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity(one)]), 5)
    talk.ask(HeartbeatRequest(group, 2, two), 4)
    talk.ask(join_request(group, two), 9)
    talk.ask(DescribeGroupsRequest([group]), 6)


def protocols_are_voted_on(talk: Talk) -> None:
    talk.coordinator()
    group = talk.group
    both = {"a": b"1", "b": b"2"}
    first = enter(talk, group, protocols=both)
    connection = talk.connect()
    promised = talk.ask(join_request(group, protocols={"b": b"3", "c": b"4"}), 9)
    join = join_request(group, promised.member_id, protocols={"b": b"3", "c": b"4"})
    talk.post(connection, join, 9)
    beat = HeartbeatRequest(group, 1, first.member_id)
    talk.ask_until(beat, 4, lambda answer: answer.error_code != 0)
    talk.ask(join_request(group, first.member_id, protocols=both), 9)
    talk.hear(connection, join, 9)
    talk.ask(join_request(group, protocols={"a": b"1"}), 9)
    talk.ask(DescribeGroupsRequest([group]), 6)


def commits_by_strangers_and_members(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    group = talk.group
    ids = {topic: talk.topic_id(topic)}
    some = {(topic, 0): 5, (topic, 2): 7}
    for version in range(2, 11):
        name = f"{group}-{version}"
        talk.ask(commit_request(name, some, ids=ids, metadata="note"), version)
        talk.ask(commit_request(name, {(topic, 1): 1}, ids=ids, metadata=None), version)
        talk.ask(commit_request(name, {(topic, 9): 1, (topic, 0): 6}, ids=ids), version)
        talk.ask(commit_request(name, {("absent", 0): 1}), version)
        talk.ask(commit_request(name, {(topic, 0): -1}, ids=ids), version)
        talk.ask(commit_request(name, {(topic, 0): 1}, ids=ids, metadata="x" * 4097), version)
        talk.ask(commit_request(name, {}), version)
        stranger = {"member_id": "m", "generation_id_or_member_epoch": 1}
        talk.ask(commit_request(name, some, ids=ids, **stranger), version)
        talk.ask(commit_request(name, some, ids=ids, member_id="m"), version)
        absent = f"{group}-absent-{version}"
        talk.ask(commit_request(absent, some, ids=ids, **stranger), version)
        talk.ask(commit_request(absent, some, ids=ids, member_id="m"), version)
        if version >= 7:
            talk.ask(commit_request(absent, some, ids=ids, group_instance_id="i"), version)
        talk.ask(fetch_many([(name, None, -1), (absent, None, -1)], None), 9)
    joined = settle(talk, group, topic)
    for version in range(2, 11):
        good = {"member_id": joined.member_id, "generation_id_or_member_epoch": 1}
        talk.ask(commit_request(group, some, ids=ids, **good), version)
        talk.ask(commit_request(group, some, ids=ids, **{**good, "member_id": "m"}), version)
        for generation in (0, 2, -1):
            bad = {**good, "generation_id_or_member_epoch": generation}
            talk.ask(commit_request(group, some, ids=ids, **bad), version)
        talk.ask(commit_request(group, some, ids=ids), version)
        if version >= 7:
            talk.ask(commit_request(group, some, ids=ids, group_instance_id="i", **good), version)


def topics_in_a_commit(talk: Talk) -> None:
    """Which are there, which are not, and in which order they are answered."""
    one, two = talk.topic("one"), talk.topic("two")
    talk.coordinator()
    ids = {one: talk.topic_id(one), two: talk.topic_id(two)}
    places = {(two, 1): 1, ("absent", 3): 2, (one, 0): 3, (one, 7): 4, (two, 0): 5}
    for version in (8, 9, 10):
        talk.ask(commit_request(talk.group, places, ids=ids), version)
    for version in (8, 9, 10):
        wanted = {two: [1, 9], "absent": [0], one: [0, 2]}
        talk.ask(fetch_many([(talk.group, None, -1)], wanted, ids), version)


def offsets_that_are_asked_for(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    group = talk.group
    ids = {topic: talk.topic_id(topic)}
    talk.ask(commit_request(group, {(topic, 0): 5, (topic, 1): 6}, metadata="note"), 9)
    for version in range(1, 8):
        for name in (group, "nobody's"):
            talk.ask(fetch_one(name, topic, 0, 1, 2, 9), version)
            talk.ask(fetch_one(name, "absent", 0), version)
            if version >= 2:
                talk.ask(fetch_one(name, None), version)
        if version >= 7:
            talk.ask(fetch_one(group, topic, 0, require_stable=True), version)
    for version in (8, 9, 10):
        groups = [(group, None, -1), ("nobody's", None, -1)]
        wanted = {topic: [0, 1, 2, 9], "absent": [0]}
        talk.ask(fetch_many(groups, wanted, ids), version)
        talk.ask(fetch_many(groups, wanted, ids, require_stable=True), version)
        talk.ask(fetch_many(groups, {}, ids), version)
        talk.ask(fetch_many(groups, None), version)
        talk.ask(fetch_many([], None), version)
    for version in (9, 10):
        # Members of classic groups say who they are, and nobody minds.
        for member in (("m", -1), ("m", 3), ("", -1), (None, 7)):
            named = [(group, *member), ("nobody's", *member)]
            talk.ask(fetch_many(named, {topic: [0]}, ids), version)
            talk.ask(fetch_many(named, None), version)


def offsets_that_are_deleted(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    group = talk.group
    talk.ask(delete_offsets("nobody's", topic, 0), 0)
    talk.ask(commit_request(group, {(topic, 0): 5, (topic, 1): 6}), 9)
    talk.ask(delete_offsets(group, topic, 0, 2, 9), 0)
    talk.ask(delete_offsets(group, "absent", 0), 0)
    talk.ask(OffsetDeleteRequest(group, []), 0)
    talk.ask(fetch_many([(group, None, -1)], None), 9)
    joined = settle(talk, group, topic, protocols={"range": subscription(topic)})
    talk.ask(delete_offsets(group, topic, 1), 0)
    talk.ask(delete_offsets(group, "absent", 0), 0)
    talk.ask(LeaveGroupRequest(group, members=[MemberIdentity(joined.member_id)]), 5)
    talk.ask(delete_offsets(group, topic, 1), 0)
    talk.ask(fetch_many([(group, None, -1)], None), 9)
    # Who can tell what a group that is not of consumers reads?
    other = f"{group}-connect"
    settle(talk, other, protocol_type="connect")
    talk.ask(delete_offsets(other, topic, 1), 0)
    talk.ask(DeleteGroupsRequest([other]), 2)
    unreadable = f"{group}-unreadable"
    settle(talk, unreadable, protocols={"range": b"?"})
    talk.ask(delete_offsets(unreadable, topic, 1), 0)


def offsets_of_a_deleted_topic(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    talk.ask(commit_request(talk.group, {(topic, 0): 5}), 9)
    talk.delete_topic(topic)
    gone = fetch_many([(talk.group, None, -1)], None)
    talk.ask_until(gone, 9, lambda answer: not answer.groups[0].topics)
    talk.ask(DescribeGroupsRequest([talk.group]), 6)
    talk.ask(DeleteGroupsRequest([talk.group]), 2)


def groups_that_are_looked_at_and_deleted(talk: Talk) -> None:
    topic = talk.topic("t")
    talk.coordinator()
    simple, stable, empty = (f"{talk.group}-{kind}" for kind in ("simple", "stable", "empty"))
    talk.ask(commit_request(simple, {(topic, 0): 5}), 9)
    settle(talk, stable, topic)
    joined = settle(talk, empty, topic)
    talk.ask(LeaveGroupRequest(empty, members=[MemberIdentity(joined.member_id)]), 5)
    for version in range(7):
        for name in (simple, stable, empty, "nobody's"):
            talk.ask(DescribeGroupsRequest([name], version >= 3), version)
    filters: list[tuple[list[str], list[str]]] = [
        ([], []),
        (["Stable"], []),
        (["stable", "empty"], []),
        (["Nonsense"], []),
        ([""], []),
        ([], ["classic"]),
        ([], ["Classic", "consumer"]),
        ([], ["nonsense"]),
        (["Empty"], ["CLASSIC"]),
        ([], ["share"]),
    ]
    for version in range(6):
        for states, types in filters:
            if (version < 4 and states) or (version < 5 and types):
                continue
            listed = talk.connect().send(ListGroupsRequest(states, types), version)
            mine = sorted(str(g) for g in listed.groups if g.group_id.startswith(talk.group))
            talk.lines.append(f"{version} {states} {types} {listed.error_code} {mine}")
    for version in range(3):
        for names in ([stable], ["nobody's"], ["nobody's", "nobody's"], [stable, "nobody's"], []):
            talk.ask(DeleteGroupsRequest(names), version)
    talk.ask(DeleteGroupsRequest([simple]), 2)
    talk.ask(DeleteGroupsRequest([empty]), 1)
    talk.ask(DeleteGroupsRequest([empty]), 0)
    talk.ask(fetch_many([(simple, None, -1)], None), 9)


def a_session_that_ends(talk: Talk) -> None:
    talk.coordinator()
    joined = settle(talk, talk.group, session_timeout_ms=1000, rebalance_timeout_ms=1000)
    look = DescribeGroupsRequest([talk.group])
    talk.ask_until(look, 6, lambda answer: answer.groups[0].group_state == "Empty")
    talk.ask(HeartbeatRequest(talk.group, 1, joined.member_id), 4)
    talk.ask(join_request(talk.group, joined.member_id), 9)
    again = settle(talk, talk.group)
    talk.ask(HeartbeatRequest(talk.group, again.generation_id, again.member_id), 4)


def a_member_that_does_not_come_back(talk: Talk) -> None:
    """A rebalance waits as long as the slowest member may take, and goes on without the lost."""
    talk.coordinator()
    group = talk.group
    times = {"session_timeout_ms": 120_000, "rebalance_timeout_ms": 1000}
    lost = settle(talk, group, **times)
    connection = talk.connect()
    promised = talk.ask(join_request(group, **times), 9)
    join = join_request(group, promised.member_id, **times)
    began = time.monotonic()
    talk.post(connection, join, 9)
    talk.hear(connection, join, 9)
    # Long before its session would end.
    assert 0.8 < time.monotonic() - began < 60
    talk.ask(HeartbeatRequest(group, 1, lost.member_id), 4)
    talk.ask(DescribeGroupsRequest([group]), 6)


SCENARIOS: list[Scenario] = [
    a_group_without_a_name,
    joins_that_are_refused,
    an_id_that_was_promised,
    members_in_every_version,
    syncs_and_heartbeats_that_are_refused,
    a_static_member_comes_back,
    two_members_and_their_leader,
    protocols_are_voted_on,
    commits_by_strangers_and_members,
    topics_in_a_commit,
    offsets_that_are_asked_for,
    offsets_that_are_deleted,
    offsets_of_a_deleted_topic,
    groups_that_are_looked_at_and_deleted,
    a_session_that_ends,
    a_member_that_does_not_come_back,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_both_answer_the_same(scenario: Scenario, group_brokers: list[int]) -> None:
    theirs, ours = transcripts(group_brokers, scenario)
    assert ours == theirs
