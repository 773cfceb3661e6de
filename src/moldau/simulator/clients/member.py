"""A member of a consumer group (KIP-848): owns partitions, and commits how far it has come."""

import asyncio
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition, new_uuid, uuid_to_str
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from moldau.simulator.clients.progress import WRONG_COORDINATOR, GroupProgress
from moldau.simulator.world import US_PER_MS

SESSION_TIMEOUT_MS: Final = 6_000
HEARTBEAT_INTERVAL_MS: Final = 1_000
_REBALANCE_TIMEOUT_MS: Final = 10_000
_VANISHES: Final = 0.02
_JOIN: Final = 0
_EXPELLED: Final = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
)


class GroupMember(GroupProgress):
    """Works on the partitions of one topic, as far as the group gives them to it."""

    # Whether the last heartbeat was refused: it may have been carried out all the same.
    _was_refused = False

    async def _work(self) -> None:
        client = self._client
        # The ids of topics, which assignments name.
        await client.leader(TopicPartition(self._topic, 0))
        committing = self._client.loop.create_task(self._commit_on())
        while not client.is_stopping:
            await self._heartbeat()
            await asyncio.sleep(HEARTBEAT_INTERVAL_MS / 1000)
        await committing

    # --- membership ---

    async def _heartbeat(self) -> None:
        client = self._client
        if self._rng.random() < _VANISHES:
            # Like a process that is killed: its place is free when its session has expired.
            self._forget()
        if self._epoch == _JOIN:
            self._member_id = uuid_to_str(new_uuid(self._rng))
        sent_us = client.world.now_us
        try:
            coordinator = await client.coordinator(self._group_id)
            answer = await client.send(
                coordinator, self._request(), ConsumerGroupHeartbeatResponse, 1
            )
        except Disconnected:
            self._alive_us = None
            client.forget_coordinator(self._group_id)
            return
        code = ErrorCode(answer.error_code)
        self._was_refused = code != ErrorCode.NONE
        if code == ErrorCode.NONE:
            self._alive_us = sent_us
            self._follow(answer)
        elif code in _EXPELLED:
            self._on_expelled(code)
        elif code in WRONG_COORDINATOR:
            client.forget_coordinator(self._group_id)
        elif not code.retriable:
            client.world.surprise(client.name, f"{code.name}: {answer.error_message}")

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        # Who has missed an answer may have missed an assignment, and asks for it by saying all. A
        # coordinator that is replaced refuses what its successor may find carried out.
        says_all = self._epoch == _JOIN or self._alive_us is None or self._was_refused
        owned = TopicPartitions(self._client.topic_ids[self._topic], sorted(self._positions))
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            member_epoch=self._epoch,
            rebalance_timeout_ms=_REBALANCE_TIMEOUT_MS,
            subscribed_topic_names=[self._topic] if says_all else None,
            topic_partitions=[owned] if owned.partitions else [],
        )

    def _follow(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        """Take the assignment; what is missing in it is given up, which the next request says."""
        is_new_epoch = answer.member_epoch != self._epoch
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            mine = [
                partition
                for each in answer.assignment.topic_partitions
                for partition in each.partitions
            ]
            self._positions = {each: self._positions.get(each) for each in sorted(mine)}
        if is_new_epoch or answer.assignment is not None:
            for partition in self._positions:
                self._history.owns(self._key(partition), self._epoch, self._member_id)

    def _on_expelled(self, code: ErrorCode) -> None:
        client = self._client
        if self._alive_us is not None and self._epoch != _JOIN and not self.may_be_misled:
            silent_ms = (client.world.now_us - self._alive_us) // US_PER_MS
            if silent_ms < SESSION_TIMEOUT_MS * 9 // 10:
                client.world.surprise(
                    client.name,
                    f"{code.name}, though its last heartbeat was answered {silent_ms} ms ago",
                )
        self._forget()

    def _forget(self) -> None:
        self._epoch = _JOIN
        self._positions.clear()
        self._alive_us = None
