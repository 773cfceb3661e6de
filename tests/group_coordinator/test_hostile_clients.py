"""Clients that send anything: unknown ids, impossible timeouts, malformed subscriptions.

Whatever they send:

* no request fails in the coordinator, and every record can be written: otherwise all groups of the
  shard would be loaded again;
* every request is answered once, at the latest when the shard is unloaded;
* time passes: nothing is due again and again;
* the groups and offsets that are loaded from the log are those of the running shard.
"""

import random
from collections.abc import Callable

import pytest

from moldau.coordinator.outcome import Outcome
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.metadata.delta import MetadataDelta
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.protocol.records.metadata import PartitionRecord, TopicRecord
from tests.group_coordinator.conversation import GROUP, Client, Conversation, subscription

TOPIC_ID = b"r" * 16
EXTREMES = (-(2**63), -1, 0, 1, 2**63 - 1)
STEPS = 250
MOST_TICKS = 100


class HostileClients:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.talk = Conversation(
            group_min_session_timeout_ms="1", group_max_size="4", group_consumer_max_size="4"
        )
        delta = MetadataDelta(self.talk.image)
        delta.replay(TopicRecord("rivers", TOPIC_ID))
        delta.replay(PartitionRecord(topic_id=TOPIC_ID, replicas=[0], isr=[0], leader=0))
        self.talk.change_metadata(delta.build(1, 1, 0), delta)
        self.members = ["", "k-1", "k-2"]
        self.asked: list[int] = []

    def step(self) -> None:
        requests = (self.join, self.join, self.sync, self.beat, self.beat, self.leave, self.commit)
        act = self.rng.choice((*requests, self.pass_time))
        act()

    def join(self) -> None:
        pick = self.rng.choice
        protocols = [
            JoinGroupRequestProtocol(
                pick(("range", "range", "other")),
                pick((subscription("rivers"), subscription("rivers"), b"", b"\xff\xff")),
            )
            for _ in range(pick((0, 1, 1, 1, 2)))
        ]
        request = JoinGroupRequest(
            GROUP,
            pick((1, 1000, 30_000)),
            pick((-5, 0, 1000, 60_000)),
            self.member(),
            self.instance(),
            pick(("consumer",) * 8 + ("connect", "")),
            protocols,
        )
        self.ask(self.talk.shard.handle_join_group, request, self.rng.randrange(10))

    def sync(self) -> None:
        pick = self.rng.choice
        brought = [
            SyncGroupRequestAssignment(self.member(), pick((b"", b"x")))
            for _ in range(pick((0, 2)))
        ]
        generation = self.rng.randrange(-1, 6)
        request = SyncGroupRequest(
            GROUP, generation, self.member(), self.instance(), "consumer", "range", brought
        )
        self.ask(self.talk.shard.handle_sync_group, request, 5)

    def beat(self) -> None:
        pick = self.rng.choice
        request = ConsumerGroupHeartbeatRequest(
            GROUP,
            self.member(),
            pick((0, 0, 0, -1, -2, -3, 1, 2, 3, 4)),
            self.instance(),
            None,
            pick((-7, -1, 100, 5000)),
            pick((None, [], ["rivers"])),
            pick((None, None, "r.*", "(")),
            None,
            pick((None, [], [], [TopicPartitions(TOPIC_ID, [0, 0, 7])])),
        )
        self.ask(self.talk.shard.handle_consumer_group_heartbeat, request, 1)

    def leave(self) -> None:
        identity = MemberIdentity(self.member(), self.instance())
        request = LeaveGroupRequest(GROUP, members=[identity])
        self.ask(self.talk.shard.handle_leave_group, request, 5)

    def commit(self) -> None:
        pick = self.rng.choice
        partition = OffsetCommitRequestPartition(0, pick(EXTREMES), -1, pick((None, "x" * 5000)))
        topics = [OffsetCommitRequestTopic("rivers", partitions=[partition])]
        request = OffsetCommitRequest(
            GROUP, pick((-1, 1, 2)), self.member(), self.instance(), pick(EXTREMES), topics
        )
        self.ask(self.talk.shard.handle_offset_commit, request, self.rng.randrange(2, 10))

    def pass_time(self) -> None:
        talk = self.talk
        talk.now_ms += self.rng.choice((1, 100, 5000, 40_000))
        for _ in range(MOST_TICKS):
            deadline_ms = talk.shard.next_deadline_ms()
            if deadline_ms is None or deadline_ms > talk.now_ms:
                return
            talk.apply(talk.shard.tick(talk.now))
        raise AssertionError("something is due for ever")

    def ask(self, handle: Callable[..., Outcome], request: object, version: int) -> None:
        token = self.talk.token(Client("c"))
        self.asked.append(token)
        self.talk.apply(
            handle(token, request, GroupRequestContext(version, "c", "/h"), self.talk.now)
        )
        member_id = getattr(self.talk.replies.get(token), "member_id", "")
        if member_id:
            self.members.append(member_id)

    def member(self) -> str:
        return self.rng.choice(self.members[:3] + self.members[-5:] * 2)

    def instance(self) -> str | None:
        return self.rng.choice((None, None, None, "i", "j"))

    def check_reload(self) -> None:
        before = self.talk.shard
        self.end()
        self.talk.reload()
        after = self.talk.shard
        assert {each.group_id: each.group_type for each in after.list_groups([], [])} == {
            each.group_id: each.group_type for each in before.list_groups([], [])
        }
        assert self.offsets(after) == self.offsets(before)

    def end(self) -> None:
        """Everybody who still waits is sent away."""
        left = [reply.token for reply in self.talk.shard.unload()]
        answered = [*self.talk.replies, *left]
        assert sorted(answered) == sorted(set(answered))
        assert set(self.asked) <= set(answered)
        self.asked.clear()

    @staticmethod
    def offsets(shard: object) -> list[int]:
        found = shard._offsets.of_group(GROUP)  # type: ignore[attr-defined]
        return [value.offset for _, _, value in found]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_clients_send(seed: int) -> None:
    clients = HostileClients(seed)
    for step in range(STEPS):
        clients.step()
        if step == STEPS // 2:
            clients.check_reload()
    clients.end()
