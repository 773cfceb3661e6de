"""A member of a classic group: joins, is given partitions by the member that leads, commits.

Rebalances are eager: whoever joins again has given up everything before.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from moldau.errors import ErrorCode
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from moldau.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.clients.member import HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS
from moldau.simulator.clients.progress import WRONG_COORDINATOR, GroupProgress
from moldau.simulator.world import US_PER_MS

# Less than the timeout of a request: who joins waits for the others.
_REBALANCE_TIMEOUT_MS: Final = 3_000
_VANISHES: Final = 0.02
_NOT_JOINED: Final = -1
_PROTOCOL_TYPE: Final = "simulated"
_PROTOCOL: Final = "round robin"
_EXPELLED: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)
_REBALANCE: Final = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION)


class ClassicMember(GroupProgress):
    """Works on the partitions of one topic, as far as the leader of the group gives them to it."""

    def __init__(
        self,
        client: ClusterClient,
        group_id: str,
        topic: str,
        pause_ms: int,
        partitions: Sequence[int],
    ) -> None:
        super().__init__(client, group_id, topic, pause_ms)
        self._partitions = partitions
        self._epoch = _NOT_JOINED

    async def _work(self) -> None:
        client = self._client
        committing = client.loop.create_task(self._commit_on())
        while not client.is_stopping:
            if self._rng.random() < _VANISHES:
                # Like a process that is killed: its place is free when its session has expired.
                self._give_up()
                self._member_id = ""
            try:
                if self._epoch == _NOT_JOINED:
                    await self._join()
                else:
                    await self._heartbeat()
            except Disconnected:
                self._alive_us = None
                client.forget_coordinator(self._group_id)
            await asyncio.sleep(HEARTBEAT_INTERVAL_MS / 1000)
        await committing

    # --- joining ---

    async def _join(self) -> None:
        client = self._client
        self._give_up()
        request = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=_REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            protocol_type=_PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(_PROTOCOL, b"")],
        )
        coordinator = await client.coordinator(self._group_id)
        answer = await client.send(coordinator, request, JoinGroupResponse)
        code = ErrorCode(answer.error_code)
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
        elif code == ErrorCode.NONE:
            self._member_id = answer.member_id
            await self._sync(answer)
        else:
            self._refused_membership(code)

    async def _sync(self, joined: JoinGroupResponse) -> None:
        client = self._client
        assignments: list[SyncGroupRequestAssignment] = []
        if joined.leader == self._member_id:
            members = sorted(each.member_id for each in joined.members)
            assignments = [
                SyncGroupRequestAssignment(member, bytes(self._partitions[number :: len(members)]))
                for number, member in enumerate(members)
            ]
        request = SyncGroupRequest(
            group_id=self._group_id,
            generation_id=joined.generation_id,
            member_id=self._member_id,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=_PROTOCOL,
            assignments=assignments,
        )
        sent_us = client.world.now_us
        coordinator = await client.coordinator(self._group_id)
        answer = await client.send(coordinator, request, SyncGroupResponse)
        code = ErrorCode(answer.error_code)
        if code != ErrorCode.NONE:
            self._refused_membership(code)
            return
        self._epoch = joined.generation_id
        self._alive_us = sent_us
        self._positions = dict.fromkeys(answer.assignment)
        for partition in self._positions:
            self._history.owns(self._key(partition), self._epoch, self._member_id)

    # --- membership ---

    async def _heartbeat(self) -> None:
        client = self._client
        sent_us = client.world.now_us
        request = HeartbeatRequest(self._group_id, self._epoch, self._member_id)
        coordinator = await client.coordinator(self._group_id)
        answer = await client.send(coordinator, request, HeartbeatResponse)
        code = ErrorCode(answer.error_code)
        if code == ErrorCode.NONE:
            self._alive_us = sent_us
        else:
            self._refused_membership(code)

    def _refused_membership(self, code: ErrorCode) -> None:
        client = self._client
        if code in WRONG_COORDINATOR:
            client.forget_coordinator(self._group_id)
        elif code in _EXPELLED:
            self._check_expulsion(code)
            self._give_up()
            self._member_id = ""
        elif code in _REBALANCE:
            self._give_up()
        elif not code.retriable:
            client.world.surprise(client.name, f"{code.name} for a member of {self._group_id}")

    def _check_expulsion(self, code: ErrorCode) -> None:
        client = self._client
        if self._alive_us is None or self._epoch == _NOT_JOINED or self.may_be_misled:
            return
        silent_ms = (client.world.now_us - self._alive_us) // US_PER_MS
        # Who does not join again in time is expelled too, and may have missed that it should.
        if silent_ms < _REBALANCE_TIMEOUT_MS * 9 // 10:
            client.world.surprise(
                client.name, f"{code.name}, though a heartbeat was answered {silent_ms} ms ago"
            )

    def _give_up(self) -> None:
        self._epoch = _NOT_JOINED
        self._positions.clear()
        self._alive_us = None

    def _reader(self, epoch: int) -> tuple[str | None, int]:
        return None, -1
