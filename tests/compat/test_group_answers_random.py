"""Random lives of a group of KIP-848 go the same way on the broker and on Apache Kafka.

Members join, live, forget what they own, are behind or ahead of their epoch, share an instance id,
leave and commit, right and wrong. The range assignor has no memory and no choice, so that every
answer is determined: epochs, assignments, codes and messages are compared.
"""

import random
from typing import Any

import pytest

from moldau.protocol.messages.consumer_group_heartbeat import TopicPartitions
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.compat.group_requests import (
    beat_request,
    commit_request,
    delete_offsets,
    fetch_many,
    joining_beat,
)
from tests.compat.group_talk import Talk, transcripts

STEPS = 80
# Two of them are one static member: only one can be there at a time.
INSTANCES = {"a": None, "b": None, "c": "i", "d": "i"}


class Life:
    """One group, and what each member was told last."""

    def __init__(self, talk: Talk, seed: int) -> None:
        self.talk = talk
        self.rng = random.Random(seed)
        self.topics = [talk.topic("t", 11), talk.topic("u", 2)]
        self.epochs = dict.fromkeys(INSTANCES, 0)
        self.told: dict[str, list[TopicPartitions]] = {name: [] for name in INSTANCES}

    def begin(self) -> None:
        self.talk.coordinator()
        self.talk.without_waits()

    def step(self) -> None:
        name = self.rng.choice(sorted(INSTANCES))
        happens = self.rng.choices(
            [self.join, self.beat, self.subscribe, self.leave, self.commit, self.look],
            weights=[15, 45, 10, 12, 12, 6],
        )
        happens[0](name)

    def join(self, name: str) -> None:
        fields = {"instance_id": INSTANCES[name], "server_assignor": "range"}
        # Not with an empty subscription: Apache Kafka 4.3.1 takes that for no change, assigns as
        # if everybody wanted the same, and leaves the newcomer's share to nobody.
        wanted = self.rng.choice([self.topics[:1], self.topics])
        self.heard(name, joining_beat(self.talk.group, name, wanted, **fields))

    def beat(self, name: str, **fields: Any) -> None:
        manners: list[list[TopicPartitions] | None] = [None, [], self.told[name][:1]]
        owned = self.rng.choice([self.told[name]] * 3 + manners)
        epoch = max(self.epochs[name] + self.rng.choice([0, 0, 0, 0, 0, 1, -1, -2]), 1)
        request = beat_request(
            self.talk.group,
            name,
            epoch,
            instance_id=INSTANCES[name],
            topic_partitions=owned,
            **fields,
        )
        self.heard(name, request)

    def subscribe(self, name: str) -> None:
        wanted = self.rng.choice([self.topics[:1], self.topics[:1], self.topics, []])
        self.beat(name, subscribed_topic_names=wanted)

    def leave(self, name: str) -> None:
        instance_id = INSTANCES[name]
        epoch = self.rng.choice([-1, -2, 0])
        if epoch == 0:
            members = [MemberIdentity(name, instance_id)]
            self.talk.ask(LeaveGroupRequest(self.talk.group, members=members), 5)
        else:
            request = beat_request(self.talk.group, name, epoch, instance_id=instance_id)
            self.heard(name, request)

    def commit(self, name: str) -> None:
        topic = self.rng.choice(self.topics)
        request = commit_request(
            self.talk.group,
            {(topic, self.rng.randrange(11)): self.rng.randrange(100)},
            ids={topic: self.talk.topic_id(topic)},
            member_id=name,
            group_instance_id=INSTANCES[name],
            generation_id_or_member_epoch=self.epochs[name] + self.rng.choice([0, 0, 0, 1, -1]),
        )
        self.talk.ask(request, self.rng.choice([8, 9, 10]))

    def look(self, name: str) -> None:
        topic = self.rng.choice(self.topics)
        if self.rng.random() < 0.3:
            self.talk.ask(delete_offsets(self.talk.group, topic, 0, 1), 0)
            return
        epoch = self.epochs[name] + self.rng.choice([0, 0, 1, -1])
        self.talk.ask(fetch_many([(self.talk.group, name, epoch)], {topic: [0, 1]}), 9)

    def heard(self, name: str, request: Any) -> None:
        response = self.talk.ask(request, 1)
        if response.error_code:
            return
        if response.member_epoch > 0:
            self.epochs[name] = response.member_epoch
        else:
            self.told[name] = []
        if response.assignment is not None:
            assigned = response.assignment.topic_partitions
            first = self.talk.topic_id(self.topics[0])
            self.told[name] = sorted(assigned, key=lambda each: each.topic_id != first)


@pytest.mark.parametrize("seed", range(8))
def test_both_answer_the_same(seed: int, group_brokers: list[int]) -> None:
    def scenario(talk: Talk) -> None:
        life = Life(talk, seed)
        life.begin()
        for _ in range(STEPS):
            life.step()

    theirs, ours = transcripts(group_brokers, scenario)
    assert ours == theirs
